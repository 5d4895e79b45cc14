package install_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"collet/app/install"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// system is a kind of file system, and the effect of a stop on it.
type system struct {
	name  string
	rules []rule
	half  bool
}

func systems() []system {
	return []system{
		{"exchange", nil, false}, {"exchange, half writes", nil, true},
		{"two moves", []rule{noExchange()}, false},
	}
}

// template is the initial folder of a story.
func (s story) template(t *testing.T) folder {
	f := newFolder(t)
	f.write("Resources/mine.txt", "mine")
	for name, content := range s.plant {
		f.write(name, content)
	}
	for _, b := range s.before {
		b.must(f)
	}
	for name, content := range s.spoil {
		f.write(name, content)
	}
	return f
}

// copyOf returns a copy of the folder for one stop.
func copyOf(t *testing.T, f folder) folder {
	t.Helper()
	c := newFolder(t)
	if err := os.CopyFS(c.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

// strideOnDisk is the number of changes between two stops on the real disk, which is slow.
func strideOnDisk() int { return testlevel.Stride(7, 31) }

// TestStopsOnARealDisk stops the stories on a real disk, at some changes.
func TestStopsOnARealDisk(t *testing.T) {
	testlevel.Slow(t)
	for i, s := range stories() {
		for j, sys := range systems() {
			if (i+j)%len(systems()) != 0 {
				continue // one system for each story; TestPowerCuts covers all
			}
			t.Run(s.name+", "+sys.name, func(t *testing.T) {
				t.Parallel()
				template, stops, again := s.template(t), 0, 0
				for k := 1 + i%7; ; k += strideOnDisk() {
					f := copyOf(t, template)
					w := watch(f.open(), append(sys.rules, stopAt(k, sys.half))...)
					w.fast = true
					_, err := s.then.on(t, w)
					w.die()
					at, reached := w.stopped(k)
					if !reached {
						if err != nil {
							t.Fatal(err)
						}
						break
					}
					stops++
					if !s.holds(t, f, sys, at) {
						return
					}
					if stops == 3 {
						again += s.stopRecovery(t, f, sys)
					}
					s.next(t, f, at)
				}
				if stops == 0 {
					t.Errorf("only %d stops: the story tells nothing", stops)
				}
				t.Logf("%d stops, and %d in recovery", stops, again)
			})
		}
	}
}

// holds checks the state right after a stop, before any recovery: with an exchange the live module is never missing, and no
// file of the player is lost.
func (s story) holds(t *testing.T, f folder, sys system, at op) bool {
	t.Helper()
	files := f.files()
	err := s.keeps(files)
	had := strings.HasPrefix(s.allowed[0], "Lathe.so=") && strings.HasPrefix(s.allowed[len(s.allowed)-1], "Lathe.so=")
	if _, there := files["Lathe.so"]; had && !there && sys.rules == nil && !runsWithoutExchange() {
		err = errors.New("no live module")
	}
	if err != nil {
		t.Errorf("stopped at %s: %v", at, err)
	}
	return err == nil
}

// next starts the client after a stop, on the real disk: the set is one of the allowed ones, and one more run yields the
// last one.
func (s story) next(t *testing.T, f folder, at op) {
	t.Helper()
	d, err := open(f.open(), false)
	if err != nil {
		t.Fatalf("stopped at %s: does not open: %v", at, err)
	}
	if err := errors.Join(s.allows(f.files()), d.Close()); err != nil {
		t.Errorf("stopped at %s: %v", at, err)
	}
	if _, err := s.then.on(t, f.open()); err != nil {
		t.Fatalf("stopped at %s: one more run: %v", at, err)
	}
	if err := s.last(f.files()); err != nil {
		t.Errorf("stopped at %s: %v", at, err)
	}
}

// stopRecovery also stops the recovering start, before every change. It returns the number of stops.
func (s story) stopRecovery(t *testing.T, f folder, sys system) (stops int) {
	t.Helper()
	for ; ; stops++ {
		c := copyOf(t, f)
		w := watch(c.open(), append(sys.rules, stopAt(stops+1, sys.half))...)
		w.fast = true
		_, err := open(w, false)
		w.die()
		at, reached := w.stopped(stops + 1)
		if !reached {
			if err != nil {
				t.Fatal(err)
			}
			return stops
		}
		if s.holds(t, c, sys, at) {
			s.next(t, c, at)
		}
	}
}

// TestOrderOfSyncs checks every story against the requirements of a power cut: bytes are synced before names, names before
// the journal relies on them, and the journal before the next change.
func TestOrderOfSyncs(t *testing.T) {
	for _, s := range stories() {
		for _, sys := range systems() {
			if sys.half {
				continue
			}
			t.Run(s.name+", "+sys.name, func(t *testing.T) {
				t.Parallel()
				f, order := s.template(t), newDurability()
				w := watch(f.open(), append(sys.rules, order.rule)...)
				d, err := open(w, s.then.verify)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.then.update(t, d); err != nil {
					t.Fatal(err)
				}
				order.isSynced(t, "commit")
				if err := d.Promote(context.Background()); err != nil {
					t.Fatal(err)
				}
				order.isSynced(t, "promote")
				if err := d.Confirm(); err != nil {
					t.Fatal(err)
				}
				order.isSynced(t, "confirm")
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// isSynced checks that every change is synced.
func (d *durability) isSynced(t *testing.T, after string) {
	t.Helper()
	for _, fault := range d.faults {
		t.Errorf("%s: %s", after, fault)
	}
	if d.faults = nil; len(d.files)+len(d.folders) > 0 {
		t.Errorf("%s left unsynced: files %v, folders %v", after, d.files, d.folders)
	}
}

// TestOrderOfSyncsInRecovery does the same for a start that finishes the work of another one.
func TestOrderOfSyncsInRecovery(t *testing.T) {
	for _, sys := range systems() {
		f := proven(t, "one")
		start{blobs: packs("A.zip", "a1")}.must(f)
		s := start{verify: true, blobs: append(packs("A.zip", "a2"), binaries("Lathe.so", "two", "Lathe.so.pdb", "x")...)}
		w := watch(f.open(), append(sys.rules, refuse("rename", "* Resources/A.zip", errStopped), refuse("exchange", "* Resources/A.zip", errStopped))...)
		if _, err := s.on(t, w); err == nil {
			t.Fatal("not stopped")
		}
		order := newDurability()
		d := f.mustOpen(append(sys.rules, order.rule)...)
		order.isSynced(t, sys.name)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f.want(sys.name, "Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=x Resources/A.zip=a2")
	}
}

// TestEveryCallFailsOnce fails each call once, like a disk with a bad sector, and continues with the same folder: no error
// leads to a wrong set.
func TestEveryCallFailsOnce(t *testing.T) {
	for i, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			begin := s.volume(t, faultfs.Config{})
			for k := 1 + i%install.Stride(); ; k += install.Stride() {
				d := begin.Clone()
				fsys := d.Open(faultfs.Options{Reads: true})
				fsys.FailAt(k, faultfs.EIO)
				_, err := s.then.on(t, fsys)
				fsys.Kill()
				if fsys.Count() < k {
					break
				}
				if err2 := s.oneMoreRun(t, func() platform.FS { return d.Open(faultfs.Options{}) }); err2 != nil {
					t.Fatalf("failed at %s (%v): one more run: %v", fsys.Ops()[k-1], err, err2)
				}
				if err := s.withoutCompanions().last(withoutCompanions(d.Files())); err != nil {
					t.Fatalf("failed at %s: %v", fsys.Ops()[k-1], err)
				}
			}
		})
	}
}
