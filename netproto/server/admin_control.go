package server

import (
	"context"
	"net"
	"net/http"

	"github.com/rs/zerolog"
)

// ServeLocal is ServeControl with the admin API of s beside it, at the same paths as over HTTP. Whoever may connect to the socket may do
// everything there, without a token: the user that the server runs as, and root. So the first token can be made, and one that was
// lost replaced, wherever the HTTP port is.
func ServeLocal(ctx context.Context, listener net.Listener, s *Server, reload func(context.Context) error, log zerolog.Logger) error {
	mux := controls(ctx, reload, log)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if o := s.Operator(); o == nil {
			answerError(w, http.StatusNotFound, noStore())
		} else {
			o.LocalHandler(Actor{Name: localActor, Role: RoleEdit, Source: sourceOf(r)}).ServeHTTP(w, r)
		}
	})
	return serveHTTP(ctx, listener, mux)
}

// noStore says that this server decides nothing live.
func noStore() APIError {
	return APIError{Code: "unknown", Error: "this server has no compatibility store: set Compat.Store"}
}
