package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"collet/app/update"
)

// mend updates the open install to a set, range by range, and returns the plan and the number of fetched bytes.
func (l layers) mend(verify bool, s set) (update.Plan, int64) {
	l.t.Helper()
	ctx, fetched := context.Background(), int64(0)
	d := l.opened(verify)
	plan, err := d.Plan(ctx, update.Resources, s.offer(l.t), func(string, int64, int64) {})
	if err != nil {
		l.t.Fatal(err)
	}
	for i, want := range plan.Wants {
		for _, r := range want.Missing {
			if err := errors.Join(d.Advance(ctx, i), d.Write(i, []byte(s[want.File.Path][r.Start:r.End]))); err != nil {
				l.t.Fatal(err)
			}
			fetched += r.End - r.Start
		}
		if err := d.Finish(ctx, i); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := errors.Join(d.Commit(ctx), d.Promote(ctx), d.Confirm(), d.Close()); err != nil {
		l.t.Fatal(err)
	}
	return plan, fetched
}

// TestDamagedBaseIsSalvaged: a file of the base can't be repaired in place, but its intact blocks need not be fetched for
// the copy in the own folder. Its checksums survive another update and its proof.
func TestDamagedBaseIsSalvaged(t *testing.T) {
	good := noise(1, 3*mib)
	l := newLayers(t, map[string]string{"Resources/Core.zip": good, "Resources/Maps.zip": "maps"})
	if plan, _ := l.mend(false, set{"Core.zip": good, "Maps.zip": "maps"}); len(plan.Wants) != 0 {
		t.Fatalf("as installed: %+v", plan)
	}
	if _, fetched := l.mend(false, set{"Core.zip": good, "Maps.zip": "new maps"}); fetched != 8 {
		t.Fatalf("update: %d bytes", fetched)
	}
	l.put(l.base, "Resources/Core.zip", flip(good, 2*mib+1))
	plan, fetched := l.mend(true, set{"Core.zip": good, "Maps.zip": "new maps"})
	if fetched != mib || plan.Damage == nil || ranges(plan.Damage.Files[0].Ranges) != "2-3" {
		t.Errorf("%d bytes fetched, damage %+v", fetched, plan.Damage)
	}
	if data, err := os.ReadFile(filepath.Join(l.own, "Resources", "Core.zip")); err != nil || string(data) != good {
		t.Errorf("the copy is not what was offered: %v", err)
	}
	if plan, _ := l.mend(true, set{"Core.zip": good, "Maps.zip": "new maps"}); len(plan.Wants) != 0 || plan.Damage != nil {
		t.Errorf("once more: %+v", plan)
	}
}
