package install_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
	"collet/platform/faultfs"
)

// ordeal is an update of an install in two folders; the upper one stops and loses its power.
type ordeal struct {
	t           *testing.T
	base        *faultfs.Disk
	first, next set // the live set, and the set of the update
}

func (o ordeal) open(own platform.FS) (*install.Dir, error) {
	return install.Open(context.Background(), install.Config{
		FS: own, Base: o.base.Open(faultfs.Options{}), Log: zerolog.Nop(), Trust: install.TrustFNV,
		Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
		Now:   func() time.Time { return time.Now().Add(time.Hour) },
	})
}

// run is one start that updates and confirms.
func (o ordeal) run(own platform.FS, s set) error {
	d, err := o.open(own)
	if err != nil {
		return err
	}
	ctx := context.Background()
	plan, err := d.Plan(ctx, update.Binaries, s.offer(o.t), func(string, int64, int64) {})
	if err != nil {
		return errors.Join(err, d.Close())
	}
	for i, want := range plan.Wants {
		if err := errors.Join(d.Write(i, []byte(s[want.File.Path][want.Offset():])), d.Finish(ctx, i)); err != nil {
			return errors.Join(err, d.Close())
		}
	}
	if err = d.Commit(ctx); err == nil {
		err = d.Promote(ctx)
	}
	if err == nil {
		err = d.Confirm()
	}
	return errors.Join(err, d.Close())
}

// counts is the effective set: for each name the upper file, or else the lower one if it is valid.
func (o ordeal) counts(disk *faultfs.Disk, own platform.FS) (set, error) {
	d, err := o.open(own)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	name, err := d.PacksList()
	if err != nil {
		return nil, err
	}
	upper, s := disk.Files(), set{}
	listed := func(pack string) bool { return true }
	if name != "" {
		_, rel, _ := strings.Cut(filepath.ToSlash(name), install.StateDir)
		text := upper[install.StateDir+rel]
		listed = func(pack string) bool { return strings.Contains("\n"+text, "\n"+pack+"\n") }
	}
	take := func(files map[string]string, counts func(string) bool) {
		for file, content := range files {
			pack, isPack := strings.CutPrefix(file, "Resources/")
			if file == "Lathe.so" || isPack && pack != "" && !strings.HasPrefix(pack, "~") && counts(pack) {
				s[pack] = content
			}
		}
	}
	take(o.base.Files(), listed)
	take(upper, func(string) bool { return true })
	return s, nil
}

func (s set) String() string { return fmt.Sprint(map[string]string(s)) }

// after checks the promise after a stop.
func (o ordeal) after(point string, disk *faultfs.Disk) {
	o.t.Helper()
	got, err := o.counts(disk, disk.Open(faultfs.Options{}))
	if err != nil || got.String() != o.first.String() && got.String() != o.next.String() {
		o.t.Errorf("%s: %v, %v; want %v or %v", point, got, err, o.first, o.next)
		return
	}
	if err := o.run(disk.Open(faultfs.Options{}), o.next); err != nil {
		o.t.Errorf("%s: the next update: %v", point, err)
	}
	if got, err := o.counts(disk, disk.Open(faultfs.Options{})); err != nil || got.String() != o.next.String() {
		o.t.Errorf("%s: in the end %v, %v; want %v", point, got, err, o.next)
	}
}

// TestBaseCrash stops an update at every operation: before, inside and after it.
func TestBaseCrash(t *testing.T) {
	delivered := map[string]string{"Lathe.so": "m3", "Resources/Core.zip": "core3", "Resources/Art.zip": "art1", "Resources/Old.zip": "old"}
	whole := set{"Lathe.so": "m3", "Core.zip": "core3", "Art.zip": "art1", "Old.zip": "old"}
	tests := []struct {
		name        string
		first, next set
	}{
		{"first patch", whole, set{"Lathe.so": "m4", "Core.zip": "core4", "Art.zip": "art1"}},
		{"only a drop", whole, set{"Lathe.so": "m3", "Core.zip": "core3", "Art.zip": "art1"}},
		{"another patch", set{"Lathe.so": "m1", "Core.zip": "core1", "Art.zip": "art1"}, set{"Lathe.so": "m2", "Core.zip": "core2", "Old.zip": "old"}},
		{"back to what was delivered", set{"Lathe.so": "m1", "Core.zip": "core1", "New.zip": "new"}, whole},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := ordeal{t: t, base: faultfs.New(faultfs.Config{Path: "/delivered"}), first: test.first, next: test.next}
			for name, content := range delivered {
				if err := o.base.Plant(name, content); err != nil {
					t.Fatal(err)
				}
			}
			before := faultfs.New(faultfs.Config{})
			if err := o.run(before.Open(faultfs.Options{}), test.first); err != nil {
				t.Fatal(err)
			}
			before.Settle()
			trial := before.Clone().Open(faultfs.Options{})
			if err := o.run(trial, test.next); err != nil {
				t.Fatal(err)
			}
			if trial.Count() < 5 {
				t.Fatalf("the update is %d operations", trial.Count())
			}
			for k := 1; k <= trial.Count(); k += install.Stride() {
				for i, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter} {
					own := before.Clone().Open(faultfs.Options{})
					stop(own, k)
					if err := o.run(own, test.next); !errors.Is(err, faultfs.ErrStopped) {
						t.Fatalf("stop %d of operation %d: %v", i, k, err)
					}
					for _, percent := range []int{0, 50, 100} {
						o.after(fmt.Sprintf("stop %d of operation %d (%s), %d %% kept", i, k, trial.Ops()[k-1].Label(), percent),
							own.Disk().Crash(faultfs.Keep(percent, uint64(k))))
					}
				}
			}
			t.Logf("%d operations", trial.Count())
		})
	}
}
