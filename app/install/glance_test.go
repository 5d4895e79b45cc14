package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
)

// glancing opens an install on a disk that implements platform.Glancer, like the host's.
func (f folder) glancing() *install.Dir {
	f.t.Helper()
	d, err := open(f.open(), false)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { d.Close() })
	return d
}

// TestGlanceChangesNothing compares a plan after a glance with one without.
func TestGlanceChangesNothing(t *testing.T) {
	first := append(packs("Core.zip", "core", "A/B.zip", "b", "Same.zip", "same"), binaries("Lathe.so", "module 1")...)
	next := append(packs("Core.zip", "core 2", "Same.zip", "same", "A/b.zip", "b", "New.zip", "new"), binaries("Lathe.so", "module 2")...)
	cases := []struct {
		name   string
		expect []blob // argument of Glance
		offer  []blob // argument of Plan
		mode   update.Mode
		before func(f folder)       // happens before the glance
		later  func(d *install.Dir) // between the two
	}{
		{name: "nothing to do", expect: first, offer: first, mode: update.Resources},
		{name: "nothing to do, with the module", expect: first, offer: first, mode: update.Binaries},
		{name: "another release", expect: first, offer: next, mode: update.Resources},
		{name: "another release with its module", expect: first, offer: next, mode: update.Binaries},
		{name: "the release that is offered was expected", expect: next, offer: next, mode: update.Binaries},
		{name: "less is offered", expect: first, offer: first[:1], mode: update.Resources},
		{name: "nothing is offered", expect: first, offer: nil, mode: update.Resources},
		{name: "nothing was expected", expect: nil, offer: first, mode: update.Resources},
		{name: "a file is missing", expect: first, offer: first, mode: update.Resources, before: func(f folder) { f.remove("Resources/Core.zip") }},
		{name: "a file is damaged", expect: first, offer: first, mode: update.Resources, before: func(f folder) { f.write("Resources/Core.zip", "C0RE") }},
		{name: "a folder is in the way", expect: first, offer: first, mode: update.Resources,
			before: func(f folder) { f.remove("Resources/Core.zip"); f.write("Resources/Core.zip/x", "") }},
		{name: "a file of ours was left", expect: first, offer: first, mode: update.Resources, before: func(f folder) { f.write("Resources/~Core.zip", "co") }},
		{name: "it is distrusted", expect: first, offer: first, mode: update.Resources, later: (*install.Dir).Distrust},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var plans [2]update.Plan
			var faults [2]update.Cause
			for i := range plans {
				f := newFolder(t)
				start{blobs: first, mode: update.Binaries}.must(f)
				start{blobs: first, mode: update.Resources, confirm: true}.must(f)
				if c.before != nil {
					c.before(f)
				}
				d := f.glancing()
				defer d.Close()
				if i == 1 {
					d.Glance(offer(t, release.SHA256, c.expect))
				}
				if c.later != nil {
					c.later(d)
				}
				plan, err := d.Plan(t.Context(), c.mode, offer(t, release.SHA256, c.offer), func(string, int64, int64) {})
				plans[i] = plan
				if fault := (*update.Fault)(nil); errors.As(err, &fault) {
					faults[i] = fault.Cause
				}
			}
			if !reflect.DeepEqual(plans[0], plans[1]) || faults[0] != faults[1] {
				t.Errorf("without a glance\n%+v %v\nwith it\n%+v %v", plans[0], faults[0], plans[1], faults[1])
			}
		})
	}
}

// TestGlanceIsOfThisMoment changes a file without changing its size, and plans after the glance has expired.
func TestGlanceIsOfThisMoment(t *testing.T) {
	f := newFolder(t)
	set := packs("Core.zip", "core")
	start{blobs: set, confirm: true}.must(f)
	synctest.Test(t, func(t *testing.T) {
		d := f.glancing()
		defer d.Close()
		files := offer(t, release.SHA256, set)
		d.Glance(files)
		f.write("Resources/Core.zip", "C0RE")
		time.Sleep(3 * time.Second)
		plan, err := d.Plan(t.Context(), update.Resources, files, func(string, int64, int64) {})
		if err != nil || len(plan.Wants) != 1 {
			t.Errorf("%+v, %v", plan, err)
		}
	})
}

// TestIdentity checks that the identity does not depend on a glance.
func TestIdentity(t *testing.T) {
	f := newFolder(t)
	d := f.glancing()
	defer d.Close()
	one, other := offer(t, release.SHA256, packs("A.zip", "a")), offer(t, release.SHA256, packs("A.zip", "b"))
	want, wantOther := d.Identity(one), d.Identity(other)
	d.Glance(one)
	if got, gotOther := d.Identity(one), d.Identity(other); got != want || gotOther != wantOther || want == wantOther {
		t.Errorf("%v and %v, want %v and %v", got, gotOther, want, wantOther)
	}
}

// TestGlance checks that a recent glance is used once and does not change the result.
func TestGlance(t *testing.T) {
	f := newFolder(t)
	set := packs("Core.zip", "core", "A/B.zip", "b")
	start{blobs: set, confirm: true}.must(f)
	d := f.glancing()
	defer d.Close()
	files := offer(t, release.SHA256, set)
	d.Glance(files)
	plan, err := d.Plan(t.Context(), update.Resources, files, func(string, int64, int64) {})
	if err != nil || len(plan.Wants) != 0 || plan.Matched != 2 {
		t.Errorf("%+v, %v", plan, err)
	}
	later := time.Now().Add(time.Second)
	f.write("Resources/Core.zip", "CORE")
	if err := os.Chtimes(filepath.Join(f.dir, "Resources", "Core.zip"), later, later); err != nil {
		t.Fatal(err)
	}
	plan, err = d.Plan(t.Context(), update.Resources, files, func(string, int64, int64) {})
	if err != nil || len(plan.Wants) != 1 {
		t.Errorf("a change behind the glance: %+v, %v", plan, err)
	}
}
