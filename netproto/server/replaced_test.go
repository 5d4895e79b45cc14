package server_test

import (
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// TestGreetedWhileReplaced: a client that comes between the moment in which the operator knows a new catalogue and the one in which
// it is offered is judged by the old one alone. A mixture of both would tell a client that its module is outdated and offer the same
// one: such a client ends with exit code 16, the server's data is inconsistent.
func TestGreetedWhileReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *config.Settings){
		"a version of the game's own": func(s *config.Settings) { s.CompatibilityVersion = "spring-2026" },
		"another build":               func(s *config.Settings) { s.Compat.Supported, s.Compat.Logic = "5-9", "9" },
		"a developer's server":        func(s *config.Settings) { s.Compat.Development = true },
		"other packs":                 func(s *config.Settings) { s.Compat.Content = "packs" },
	} {
		t.Run(name, func(t *testing.T) {
			set := servertest.VersionedSettings(t)
			h, _ := servertest.StartWithToken(t, set)
			m := servertest.VersionHandshake(7, "Linux-x64")
			_, before := h.Ask(t, m)
			if before.Verdict != compat.Accept {
				t.Fatalf("%+v", before)
			}
			change(&set)
			next, err := h.HalfReload(t.Context(), set)
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			if _, got := h.Ask(t, m); got != before {
				t.Errorf("judged as %+v, want %+v", got, before)
			}
		})
	}
}
