package server_test

import (
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/servertest"
)

// TestT9RaisedWhilePlaying: a floor that is raised beyond a client which plays ends its session and no other, and it comes back to a
// PINNED; a floor that it has already, and a developer's, end nothing.
func TestT9RaisedWhilePlaying(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Developers = []string{"dev"} })
	for name, row := range map[string]struct {
		logic int32
		ends  bool
	}{"ann": {6, true}, "bob": {7, false}, "dev": {6, false}} {
		p := h.Expect(t, servertest.VersionHandshake(row.logic, "Linux-x64", servertest.WithAccount(name)), compat.Accept, compat.RuleAccept)
		other := h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("other")), compat.Accept, compat.RuleAccept)
		if _, err := o.Floors.Set(servertest.Editor(), name, 7, "", false); err != nil {
			t.Fatal(err)
		}
		stay := []*servertest.Peer{other}
		if row.ends {
			said := p.ReadToEnd()
			if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseGoingDown {
				t.Errorf("%s: the last words were %+v", name, said)
			}
			if _, j := h.Ask(t, servertest.VersionHandshake(row.logic, "Linux-x64", servertest.WithAccount(name))); !j.Pinned() || j.Floor != 7 {
				t.Errorf("%s comes back: %+v", name, j)
			}
		} else {
			stay = append(stay, p)
		}
		for _, p := range stay {
			servertest.Next[*netproto.FileList](p)
			servertest.Next[*netproto.Ping](p)
			p.Send(&netproto.Ping{})
			servertest.Next[*netproto.Ping](p)
		}
	}
}
