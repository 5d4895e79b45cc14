package operator_test

import (
	"fmt"
	"sync"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestEverythingAtOnce changes, reloads, asks, pins and connects at the same time. Every handshake is judged by one set of settings,
// and the log of all changes is whole.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.VersionedSettings(t)
	set.Limits.ConnectionsPerSecond = 100_000
	h, o := servertest.StartWithoutToken(t, set)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	var all sync.WaitGroup
	const rounds = 25
	all.Go(func() {
		for i := range rounds {
			s := o.Settings()
			s.ActiveMin, s.ActiveMax = 6+int32(i%2), 7+int32(i%2) // 6-7 or 7-8: 7 always plays
			if _, err := o.Change(t.Context(), servertest.Editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "x", Confirm: true}); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		for range rounds {
			if err := h.Reload(t.Context(), set); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		for i := range rounds {
			if _, err := o.Floors.Set(servertest.Editor(), fmt.Sprint("account-", i), 7, "", false); err != nil {
				t.Error(err)
			}
			o.Show()
			if _, err := o.DryRun(o.Settings()); err != nil {
				t.Error(err)
			}
			if _, err := o.Audit.Verify(); err != nil {
				t.Error(err)
			}
		}
	})
	for worker := range 4 {
		all.Go(func() {
			for i := range rounds {
				p, j := h.Ask(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount(fmt.Sprint("account-", worker, "-", i))))
				if !j.Plays() {
					t.Errorf("7 is judged %+v", j)
				}
				p.Raw.Close()
				p, j = h.Ask(t, servertest.VersionHandshake(5, "Linux-x64"))
				if j.Verdict != compat.UpdateBinaries || j.Rule != compat.RuleTooOld {
					t.Errorf("5 is judged %+v", j)
				}
				p.Raw.Close()
			}
		})
	}
	all.Wait()
	if n, err := o.Audit.Verify(); n != int(o.Settings().Revision)+rounds || err != nil {
		t.Errorf("%d records of %d revisions and %d floors, %v", n, o.Settings().Revision, rounds, err)
	}
	floors := 0
	for _, f := range o.Show().Floors {
		floors += f.Count
	}
	if want := rounds + 4*rounds; floors != want {
		t.Errorf("%d floors, want %d", floors, want)
	}
}
