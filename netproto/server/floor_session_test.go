package server_test

import (
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

// TestT9RaisedWhilePlaying: a floor that is raised beyond a client which plays ends its session and no other, and it comes back to a
// PINNED; a floor that it has already, and a developer's, end nothing.
func TestT9RaisedWhilePlaying(t *testing.T) {
	t.Parallel()
	h, o := govern(t, versioned(t))
	change(t, o, func(s *compat.Settings) { s.Developers = []string{"dev"} })
	for name, row := range map[string]struct {
		logic int32
		ends  bool
	}{"ann": {6, true}, "bob": {7, false}, "dev": {6, false}} {
		p := h.expect(t, client(row.logic, "Linux-x64", account(name)), compat.Accept, compat.RuleAccept)
		other := h.expect(t, client(6, "Linux-x64", account("other")), compat.Accept, compat.RuleAccept)
		if _, err := o.Floors.Set(editor(), name, 7, "", false); err != nil {
			t.Fatal(err)
		}
		stay := []*peer{other}
		if row.ends {
			said := p.gone()
			if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseGoingDown {
				t.Errorf("%s: the last words were %+v", name, said)
			}
			if _, j := h.ask(t, client(row.logic, "Linux-x64", account(name))); !j.Pinned() || j.Floor != 7 {
				t.Errorf("%s comes back: %+v", name, j)
			}
		} else {
			stay = append(stay, p)
		}
		for _, p := range stay {
			next[*netproto.FileList](p)
			next[*netproto.Ping](p)
			p.send(&netproto.Ping{})
			next[*netproto.Ping](p)
		}
	}
}
