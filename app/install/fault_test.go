package install_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"collet/app/diskfault"
	"collet/app/install"
	"collet/app/update"
	"collet/platform"
	"collet/platform/faultfs"
)

// TestHeldFile checks that a locked file is retried for a moment, and then reported with its holders.
func TestHeldFile(t *testing.T) {
	s := start{blobs: packs("A.zip", "a1")}
	for _, err := range []*faultfs.Errno{faultfs.EBUSY, faultfs.ErrorSharingViolation, faultfs.ErrorUserMappedFile} {
		synctest.Test(t, func(t *testing.T) {
			fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
			fsys.Inject(faultfs.Rule{Verb: faultfs.Rename, Name: "Resources/A.zip", Times: 3, Err: err})
			if _, err := s.on(t, fsys); err != nil {
				t.Errorf("a scanner that lets go: %v", err)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
			fsys.Inject(faultfs.Rule{Verb: faultfs.Rename, Name: "Resources/A.zip", Err: err})
			_, got := s.on(t, fsys)
			fault := wantFault(t, err.Name, got, update.LockedFile)
			var inUse *diskfault.InUseError
			if !fault.Transient || fault.Subject != fsys.Path("Resources/A.zip") || !errors.As(got, &inUse) {
				t.Errorf("%s: %+v", err.Name, fault)
			}
			fsys.Heal()
			if _, err := s.on(t, fsys); err != nil {
				t.Errorf("later: %v", err)
			}
		})
	}
}

// TestVanishedFile checks that a file removed by a virus scanner is reported as such at every stage, and is fetched again.
func TestVanishedFile(t *testing.T) {
	both := start{mode: update.Binaries, blobs: append(packs("A.zip", "a1"), binaries("Lathe.so", "one")...)}
	for _, c := range []struct {
		name, taken string
		promote     bool
	}{
		{"before the commit", "~Lathe.so", false}, {"a pack before the swap", "Resources/~A.zip", true},
		{"the staged module", "Lathe.so-staging", true},
	} {
		f := newFolder(t)
		d := f.mustOpen()
		if !c.promote {
			f.stopShortOfCommit(both, d)
			f.remove(c.taken)
			f.wantVanished(c.name, d.Commit(t.Context()))
		} else {
			if _, err := both.update(t, d); err != nil {
				t.Fatal(err)
			}
			f.remove(c.taken)
			f.wantVanished(c.name, d.Promote(t.Context()))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		both.must(f)
		f.want(c.name, "Lathe.so=one Resources/A.zip=a1")
	}
}

// stopShortOfCommit fetches everything without a commit.
func (f folder) stopShortOfCommit(s start, d *install.Dir) {
	f.t.Helper()
	plan, err := d.Plan(f.t.Context(), s.mode, offer(f.t, 1, s.blobs), func(string, int64, int64) {})
	if err != nil {
		f.t.Fatal(err)
	}
	for i, want := range plan.Wants {
		if err := d.Write(i, []byte(s.blobs[want.File.Index].content)); err != nil {
			f.t.Fatal(err)
		}
		if err := d.Finish(f.t.Context(), i); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f folder) wantVanished(when string, err error) {
	f.t.Helper()
	fault := wantFault(f.t, when, err, update.DiskFault)
	var vanished *diskfault.VanishedError
	if !errors.As(err, &vanished) || fault.Transient || !strings.Contains(err.Error(), "virus scanner") {
		f.t.Errorf("%s: %v", when, err)
	}
}

// TestFullAtEveryByte fills the volume during the transfer: the fault names the missing space and the volume, and the next
// run resumes.
func TestFullAtEveryByte(t *testing.T) {
	const size = 40
	old := start{blobs: packs("A.zip", "a1"), confirm: true}
	s := start{blobs: packs("A.zip", strings.Repeat("x", size)), confirm: true}
	for room := range size {
		disk := faultfs.New(faultfs.Config{})
		if _, err := old.on(t, disk.Open(faultfs.Options{})); err != nil {
			t.Fatal(err)
		}
		fsys := disk.Open(faultfs.Options{})
		fsys.Inject(faultfs.Rule{Verb: faultfs.Write, Name: "Resources/~A.zip", Bytes: int64(room), Err: faultfs.ENOSPC})
		_, err := s.on(t, fsys)
		when := fmt.Sprintf("room for %d bytes", room)
		fault := wantFault(t, when, err, update.DiskFull)
		var space *diskfault.SpaceError
		if !errors.As(err, &space) || space.Need <= 0 || space.Volume == "" || fault.Transient {
			t.Errorf("%s: %+v", when, fault)
		}
		if data, err := platform.ReadFile(fsys, "Resources/A.zip", 100); err != nil || string(data) != "a1" {
			t.Errorf("%s: live is %q, %v", when, data, err)
		}
		fsys.Kill()
		g, err := s.on(t, disk.Open(faultfs.Options{}))
		if err != nil || g.plan.Resumed != int64(room) {
			t.Errorf("%s: next: %s, %v", when, g, err)
		}
	}
}
