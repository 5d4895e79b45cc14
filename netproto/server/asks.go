package server

// wantsTags reports whether a client's build tags matter here. Where only compatibility versions are compared, asking for the
// tags would cost the client a round trip for nothing.
func (s *Server) wantsTags() bool {
	snapshot := s.snapshotFor(s.Catalogue())
	return snapshot.Versioned || snapshot.Content != "" || snapshot.Maintenance && len(snapshot.Developers) > 0
}
