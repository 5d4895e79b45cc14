package server

// wantsTags reports whether what a client says of its build makes a difference here. Where nothing but compatibility versions is
// compared, asking a client for more would cost it a round trip for nothing.
func (s *Server) wantsTags() bool {
	snapshot := s.snapshotFor(s.Catalogue())
	return snapshot.Versioned || snapshot.Content != "" || snapshot.Maintenance && len(snapshot.Developers) > 0
}
