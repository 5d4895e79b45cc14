package install_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform/faultfs"
)

// pair is an install and that of its program in one folder.
type pair struct {
	t    *testing.T
	disk *faultfs.Disk
	fs   *faultfs.FS
	both *install.SetAndProgram
	set  *install.Dir
	own  *install.Program
}

func newPair(t *testing.T, disk *faultfs.Disk) *pair {
	t.Helper()
	p := &pair{t: t, disk: disk, fs: disk.Open(faultfs.Options{})}
	var err error
	if p.set, err = open(p.fs, false); err != nil {
		t.Fatal(err)
	}
	if p.own, err = openProgram(p.fs, ""); err != nil {
		t.Fatal(err)
	}
	p.both = install.WithProgram(p.set, p.own)
	return p
}

func (p *pair) close() {
	p.t.Helper()
	if err := errors.Join(p.own.Close(), p.set.Close()); err != nil {
		p.t.Error(err)
	}
	p.fs.Kill()
}

// run is one update of both.
func (p *pair) run(mode update.Mode, blobs []blob) (update.Plan, error) {
	p.t.Helper()
	ctx := context.Background()
	plan, err := p.both.Plan(ctx, mode, offer(p.t, release.SHA256, blobs), func(string, int64, int64) {})
	if err != nil || plan.Blocked {
		return plan, err
	}
	for i, w := range plan.Wants {
		if len(w.Missing) > 0 {
			if err := errors.Join(p.both.Advance(ctx, i), p.both.Write(i, []byte(blobs[w.File.Index].content[w.Offset():]))); err != nil {
				return plan, err
			}
		}
		if err := p.both.Finish(ctx, i); err != nil {
			return plan, err
		}
	}
	return plan, p.both.Commit(ctx)
}

func wanted(plan update.Plan) string {
	names := []string{}
	for _, w := range plan.Wants {
		names = append(names, w.File.Path)
	}
	return strings.Join(names, " ")
}

func release2() []blob {
	return append(binaries("Lathe.so", "module 2", "Lathe", "program 2"), packs("Core.zip", "core 2")...)
}

func planted(t *testing.T) *faultfs.Disk {
	t.Helper()
	d := faultfs.New(faultfs.Config{})
	for name, content := range map[string]string{"Lathe": "program 1", "Lathe.so": "module 1", "Resources/Core.zip": "core 1"} {
		if err := d.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// TestBoth updates set and program together: the program waits while the set becomes live.
func TestBoth(t *testing.T) {
	p := newPair(t, planted(t))
	plan, err := p.run(update.Binaries, release2())
	if err != nil || wanted(plan) != "Lathe.so Core.zip Lathe" || plan.Matched != 1 || plan.Bytes != 23 || !p.both.HasProgramWants() {
		t.Fatalf("%q, %+v, %v", wanted(plan), plan, err)
	}
	if !strings.HasSuffix(p.both.Waiting(), "Lathe-staging") || p.disk.Files()["Lathe"] != "program 1" {
		t.Fatalf("%q waits", p.both.Waiting())
	}
	if err := errors.Join(p.set.Promote(context.Background()), p.own.Prove(context.Background())); err != nil {
		t.Fatal(err)
	}
	p.close()
	p = newPair(t, p.disk)
	plan, err = p.run(update.Resources, release2())
	if err != nil || len(plan.Wants) != 0 || p.both.Waiting() != "" || p.both.HasProgramWants() {
		t.Errorf("%+v, %v", plan, err)
	}
	if files := p.disk.Files(); files["Lathe"] != "program 2" || files["Lathe.so"] != "module 2" || files["Resources/Core.zip"] != "core 2" {
		t.Errorf("%v", files)
	}
	p.close()
}

// TestBothWithoutProgram checks that an offer without the program updates only the set, whatever was wanted before.
func TestBothWithoutProgram(t *testing.T) {
	p := newPair(t, planted(t))
	defer p.close()
	plan, err := p.run(update.Binaries, append(binaries("Lathe.so", "module 2"), packs("Core.zip", "core 2")...))
	if err != nil || wanted(plan) != "Lathe.so Core.zip" || p.both.HasProgramWants() || p.both.Waiting() != "" {
		t.Errorf("%q, %v", wanted(plan), err)
	}
}

// TestProgramAlone checks that an offer of only the program leaves the set unchanged.
func TestProgramAlone(t *testing.T) {
	p := newPair(t, planted(t))
	defer p.close()
	plan, err := p.run(update.Resources, binaries("Lathe", "program 2"))
	if err != nil || wanted(plan) != "Lathe" || p.both.Waiting() == "" {
		t.Fatalf("%q, %v", wanted(plan), err)
	}
	if set, n, err := p.set.Set(); err != nil || !set.IsZero() || n != 0 || p.set.State() != install.None {
		t.Errorf("the set is %v, %d files, %v", set, n, err)
	}
}

// TestForgeableProgram checks that a program identified only by a checksum is rejected.
func TestForgeableProgram(t *testing.T) {
	p := newPair(t, planted(t))
	defer p.close()
	plan, err := p.both.Plan(context.Background(), update.Binaries, offer(t, release.FNV1a64, release2()), func(string, int64, int64) {})
	if err != nil || wanted(plan) != "Lathe.so Core.zip" {
		t.Errorf("%q, %v", wanted(plan), err)
	}
}

// TestProgramThatDidNotWork checks that such a program is left out, and that an offer of only this program ends in an
// error.
func TestProgramThatDidNotWork(t *testing.T) {
	p := newPair(t, planted(t))
	if _, err := p.run(update.Binaries, release2()); err != nil {
		t.Fatal(err)
	}
	if err := p.own.TrialFailed("it is for another processor", true); err != nil || p.both.Waiting() != "" {
		t.Fatalf("%q waits, %v", p.both.Waiting(), err)
	}
	p.close()
	p = newPair(t, p.disk)
	plan, err := p.run(update.Binaries, release2())
	if err != nil || len(plan.Wants) != 0 || p.both.Renewable() || p.both.Waiting() != "" {
		t.Errorf("%q, %v", wanted(plan), err)
	}
	p.close()
	p = newPair(t, p.disk)
	defer p.close()
	_, err = p.run(update.Resources, binaries("Lathe", "program 2"))
	if fault := wantFault(t, "alone", err, update.Interrupted); !fault.Transient || p.both.Renewable() {
		t.Errorf("%v", err)
	}
	if err := p.own.Unblock(); err != nil {
		t.Fatal(err)
	}
	again := install.WithProgram(p.set, p.own)
	if plan, err = again.Plan(context.Background(), update.Resources, offer(t, release.SHA256, binaries("Lathe", "program 2")), func(string, int64, int64) {}); err != nil || wanted(plan) != "Lathe" {
		t.Errorf("unblocked: %q, %v", wanted(plan), err)
	}
}

// TestBothFailsForTheSetOnly fails every call of the program's disk in turn. The set is updated all the same, or Wanted
// reports that an update without the program is worth a try.
func TestBothFailsForTheSetOnly(t *testing.T) {
	t.Parallel()
	for k := 1; ; k += install.Stride() {
		d := planted(t)
		fsys := d.Open(faultfs.Options{})
		set, err := open(fsys, false)
		if err != nil {
			t.Fatal(err)
		}
		weak := d.Open(faultfs.Options{})
		weak.FailAt(k, faultfs.EACCES)
		own, err := openProgram(weak, "")
		if err != nil {
			fsys.Kill()
			continue // the program is not updated then
		}
		p := &pair{t: t, disk: d, fs: fsys, both: install.WithProgram(set, own), set: set, own: own}
		_, err = p.run(update.Binaries, release2())
		reached := weak.Count() >= k
		if err != nil && !p.both.HasProgramWants() {
			t.Fatalf("operation %d: %v", k, err)
		}
		if err == nil {
			if err := set.Promote(context.Background()); err != nil {
				t.Fatal(err)
			}
			if files := d.Files(); files["Lathe.so"] != "module 2" || files["Lathe"] != "program 1" {
				t.Fatalf("operation %d: %v", k, files)
			}
		}
		_ = own.Close()
		if err := set.Close(); err != nil {
			t.Fatal(err)
		}
		if !reached {
			break
		}
	}
}
