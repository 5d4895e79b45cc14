package install_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
	"collet/platform/faultfs"
)

// TestFoldersOnOtherVolumes mounts the folders of state or packs on other volumes: names can't be exchanged between them,
// and files are copied instead of renamed.
func TestFoldersOnOtherVolumes(t *testing.T) {
	for _, s := range stories() {
		for _, mounted := range []string{".collet", "Resources", "Recycler"} {
			t.Run(s.name+", "+mounted, func(t *testing.T) {
				d := s.volume(t, faultfs.Config{})
				open := func() platform.FS {
					return otherVolume{d.Open(faultfs.Options{}), mounted}
				}
				if _, err := s.then.on(t, open()); err != nil {
					t.Fatal(err)
				}
				if err := s.last(d.Files()); err != nil {
					t.Error(err)
				}
				for name := range d.Files() {
					if strings.HasSuffix(name, ".copy") {
						t.Errorf("left %s", name)
					}
				}
			})
		}
	}
}

// TestCopyToOtherVolumeIsSynced checks that a file stays in its old place until its copy on another volume is synced.
func TestCopyToOtherVolumeIsSynced(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("Core.zip", "core 1"), confirm: true}.must(f)
	_, err := start{blobs: packs("Core.zip", "core 2")}.on(t, unsynced{otherVolume{f.open(), ".collet"}, ".copy"})
	wantFault(t, "copy", err, update.DiskFault)
	// After an exchange the old file has the new one's name; without one it still has its own.
	if files := f.files(); files["Resources/~Core.zip"] != "core 1" && files["Resources/Core.zip"] != "core 1" {
		t.Errorf("the old one is gone: %q", files)
	}
	start{blobs: packs("Core.zip", "core 2")}.must(f)
	if got := f.files()["Resources/Core.zip"]; got != "core 2" {
		t.Errorf("then it is %q", got)
	}
}

// otherVolume is a folder in which another one is a separate volume.
type otherVolume struct {
	platform.FS
	mounted string
}

func (o otherVolume) crosses(a, b string) bool {
	inside := func(name string) bool { return strings.HasPrefix(name, o.mounted+"/") }
	return inside(a) != inside(b)
}

func (o otherVolume) Rename(from, to string) error {
	if o.crosses(from, to) {
		return faultfs.EXDEV
	}
	return o.FS.Rename(from, to)
}

func (o otherVolume) Exchange(a, b string) error {
	if o.crosses(a, b) {
		return faultfs.EXDEV
	}
	return o.FS.Exchange(a, b)
}

// TestOtherSpelling renames files and folders by case only, on systems that ignore case.
func TestOtherSpelling(t *testing.T) {
	old := packs("maps/a.zip", "a1", "b.zip", "b1", "Gone.zip", "g")
	for name, test := range map[string]struct {
		blobs []blob
		want  string
	}{
		"file":               {packs("maps/a.zip", "a1", "B.zip", "b1"), "Resources/B.zip=b1 Resources/maps/a.zip=a1"},
		"folder":             {packs("Maps/a.zip", "a1", "b.zip", "b1"), "Resources/Maps/a.zip=a1 Resources/b.zip=b1"},
		"folder and file":    {packs("MAPS/A.zip", "a1", "b.zip", "b1"), "Resources/MAPS/A.zip=a1 Resources/b.zip=b1"},
		"and new content":    {packs("Maps/A.zip", "a2", "B.zip", "b2"), "Resources/B.zip=b2 Resources/Maps/A.zip=a2"},
		"one of two, gone":   {packs("B.zip", "b1"), "Resources/B.zip=b1"},
		"and back, in parts": {packs("Maps/a.zip", "a2", "b.zip", "b1"), "Resources/Maps/a.zip=a2 Resources/b.zip=b1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := faultfs.New(faultfs.Config{FoldCase: true})
			run := func(s start) {
				t.Helper()
				if _, err := s.on(t, d.Open(faultfs.Options{})); err != nil {
					t.Fatal(err)
				}
			}
			run(start{blobs: old}.confirmed())
			for _, s := range []start{{blobs: test.blobs}, {blobs: test.blobs}, start{blobs: test.blobs}.confirmed()} {
				run(s)
				if got := setOf(d.Files()); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			}
			run(start{blobs: old}.confirmed())
			if got, want := setOf(d.Files()), "Resources/Gone.zip=g Resources/b.zip=b1 Resources/maps/a.zip=a1"; got != want {
				t.Errorf("back: %s", got)
			}
		})
	}
}

// TestOtherSpellingOverAnUnprovenSet checks that a rollback works after a change of case.
func TestOtherSpellingOverAnUnprovenSet(t *testing.T) {
	d := faultfs.New(faultfs.Config{FoldCase: true})
	for _, s := range []start{
		start{blobs: packs("a.zip", "one")}.confirmed(), {blobs: packs("a.zip", "two")}, {blobs: packs("A.zip", "three")}, {idle: true, fails: 2},
	} {
		if _, err := s.on(t, d.Open(faultfs.Options{})); err != nil {
			t.Fatal(err)
		}
	}
	if got := setOf(d.Files()); strings.ToLower(got) != "resources/a.zip=one" {
		t.Errorf("back to %s", got)
	}
}

// TestTwoSpellingsAreTwoFiles covers systems that distinguish case.
func TestTwoSpellingsAreTwoFiles(t *testing.T) {
	d := faultfs.New(faultfs.Config{})
	for _, s := range []start{start{blobs: packs("a.zip", "one")}.confirmed(), start{blobs: packs("A.zip", "one")}.confirmed()} {
		if _, err := s.on(t, d.Open(faultfs.Options{})); err != nil {
			t.Fatal(err)
		}
	}
	if got := setOf(d.Files()); got != "Resources/A.zip=one" || !strings.Contains(fmt.Sprint(slices.Collect(maps.Keys(d.Files()))), "Recycler/2/Resources/a.zip") {
		t.Errorf("%s, %v", got, d.Files())
	}
}

// TestNoWayBack removes the backup: the set stays, the install opens, and only a request for a rollback fails.
func TestNoWayBack(t *testing.T) {
	ctx := context.Background()
	f := proven(t, "one")
	all(binaries("Lathe.so", "two"), packs("A.zip", "a")).must(f)
	f.remove("Lathe.so.bak")
	d := f.mustOpen()
	for n := range 3 {
		back, err := d.FailedStart(ctx, "signal: killed")
		if back || (n > 0) != errors.Is(err, install.ErrNoWayBack) {
			t.Errorf("failure %d: %v, %v", n+1, back, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = f.mustOpen() // Open succeeds although a rollback is due
	wantState(t, d, install.Swapped, true)
	f.want("stays", "Lathe.so=two Resources/A.zip=a")
	d.Close()
	f.remove("Lathe.so")
	d = f.mustOpen() // the built-in client is used
	f.want("nothing to restore", "Resources/A.zip=a")
	d.Close()
	all(binaries("Lathe.so", "two"), packs("A.zip", "a")).must(f)
	f.want("mended", "Lathe.so=two Resources/A.zip=a")
}

// TestSilentStarts checks the rollback of a set after too many starts without a result.
func TestSilentStarts(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	for n := range 5 {
		d := f.mustOpen()
		f.want(fmt.Sprint("start ", n+1), "Lathe.so=two Lathe.so.bak=one")
		if d.Unresolved() != (n > 0) {
			t.Errorf("start %d: nothing is known of the one before: %t", n+1, d.Unresolved())
		}
		if d.FirstTry() != (n <= 1) {
			t.Errorf("start %d: the one before is the first: %t", n+1, d.FirstTry())
		}
		if err := errors.Join(d.Starting(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	d := f.mustOpen()
	f.want("given up", "Lathe.so=one")
	wantState(t, d, install.RolledBack, false)
	if tries := d.BlockedSets(); d.Unresolved() || len(tries) != 1 || tries[0].Begun != 0 || !tries[0].Blocked {
		t.Errorf("blocked: %+v", tries)
	}
}

// TestStoppedIsNotSilent checks that a request for another start counts as a result.
func TestStoppedIsNotSilent(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	for range 12 {
		d := f.mustOpen()
		if err := errors.Join(d.Starting(), d.Stopped(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	f.want("still there", "Lathe.so=two Lathe.so.bak=one")
}

// TestBlockedUntilAsked checks that a failed set is blocked, also in another process. A newer set is accepted, and the
// failed one again after Unblock.
func TestBlockedUntilAsked(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	start{idle: true, fails: 2}.must(f)
	f.want("back", "Lathe.so=one")
	if g := Module("two").must(f); !g.plan.Blocked || len(g.plan.Wants) != 0 {
		t.Errorf("not blocked: %+v", g.plan)
	}
	Module("three").must(f)
	f.want("newer", "Lathe.so=three Lathe.so.bak=one")
	Module("one").must(f)
	if g := Module("two").must(f); !g.plan.Blocked {
		t.Error("forgotten")
	}
	d := f.mustOpen()
	if blocked := d.BlockedSets(); len(blocked) != 1 || blocked[0].Cause != "signal: killed" || blocked[0].Failed != 2 {
		t.Errorf("blocked %+v", blocked)
	}
	if err := errors.Join(d.Unblock(), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = f.mustOpen()
	if len(d.BlockedSets()) != 0 {
		t.Errorf("unblocked only for a moment: %+v", d.BlockedSets())
	}
	d.Close()
	Module("two").confirmed().must(f)
	f.want("taken again", "Lathe.so=two")
}

// TestBlockedOfferIsTheOffered checks that of several failed sets the offered one is reported, with its own reason. There is a
// reason even if no set was blocked.
func TestBlockedOfferIsTheOffered(t *testing.T) {
	f := proven(t, "one")
	for _, name := range []string{"two", "three"} {
		Module(name).must(f)
		d := f.mustOpen()
		for range 2 {
			if _, err := d.FailedStart(t.Context(), name+" crashed"); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d := f.mustOpen()
	if blocked := d.BlockedOffer(); blocked.Cause != "" || blocked.Reason() == "" {
		t.Errorf("before any plan: %+v, %q", blocked, blocked.Reason())
	}
	for _, name := range []string{"three", "two"} {
		if g, err := Module(name).update(t, d); err != nil || !g.plan.Blocked || d.BlockedOffer().Reason() != name+" crashed" {
			t.Errorf("%s is blocked because %q: %v, %v", name, d.BlockedOffer().Reason(), g, err)
		}
	}
	if g, err := Module("four").update(t, d); err != nil || g.plan.Blocked || d.BlockedOffer() != (install.Try{}) {
		t.Errorf("a newer one: %v, %v, blocked %+v", g, err, d.BlockedOffer())
	}
}

// TestProofWipesTheSlate checks that failures before the proof of a set do not count afterwards.
func TestProofWipesTheSlate(t *testing.T) {
	f := proven(t, "one")
	for range 5 {
		Module("two").must(f)
		start{idle: true, fails: 1, confirm: true}.must(f)
		Module("one").confirmed().must(f)
	}
	if blocked := f.mustOpen().BlockedSets(); len(blocked) != 0 {
		t.Errorf("blocked %+v", blocked)
	}
}

// TestBackupThatCouldNotGo fails to remove a backup after the proof; the next set can be rolled back all the same.
func TestBackupThatCouldNotGo(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	held := refuse("remove", "*.bak", errStopped)
	w := watch(f.open(), held)
	if _, err := (start{idle: true, confirm: true}).on(t, w); err == nil {
		t.Fatal("the backup went")
	}
	if _, err := Module("three").on(t, watch(f.open(), held)); err != nil {
		t.Fatal(err)
	}
	start{idle: true, fails: 2}.must(f)
	if got := setOf(f.files()); got != "Lathe.so=two" {
		t.Errorf("back to %s", got)
	}
}

// TestPlayersFileComesBack checks that a rollback restores a file of the player, which still counts as the player's.
func TestPlayersFileComesBack(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("A.zip", "a1")}.confirmed().must(f)
	f.write("Resources/B.zip", "player's")
	start{blobs: packs("A.zip", "a1", "B.zip", "b2")}.must(f)
	start{idle: true, fails: 2}.must(f)
	f.want("back", "Resources/A.zip=a1 Resources/B.zip=player's")
	start{blobs: packs("A.zip", "a3")}.confirmed().must(f)
	f.want("not dropped", "Resources/A.zip=a3 Resources/B.zip=player's")
}

// TestPartsOfASetThatWasTakenBack checks that the next plan removes these parts if it does not need them, and reuses them
// otherwise.
func TestPartsOfASetThatWasTakenBack(t *testing.T) {
	f := proven(t, "one")
	two := all(binaries("Lathe.so", "two"), packs("A.zip", "a2"))
	two.must(f)
	d := f.mustOpen()
	if err := errors.Join(d.RollBack(context.Background()), d.Unblock(), d.Close()); err != nil {
		t.Fatal(err)
	}
	two.must(f).want(t, "again", "2 wanted, 5 bytes, 5 resumed, 1 matched, 0 written")
	start{idle: true, fails: 2}.must(f)
	all(binaries("Lathe.so", "three"), packs("A.zip", "a3")).must(f)
	for name := range f.files() {
		if strings.HasPrefix(name, ".collet/parts/") {
			t.Errorf("left %s", name)
		}
	}
}

// TestUncleanEnd checks that an unclean end is reported until a start has verified every file.
func TestUncleanEnd(t *testing.T) {
	f := proven(t, "one")
	d := f.mustOpen()
	if d.Unclean() {
		t.Error("the end was clean")
	}
	w := watch(f.open())
	d.Close()
	if _, err := open(w, false); err != nil {
		t.Fatal(err)
	}
	w.die()
	for range 2 {
		d = f.mustOpen()
		if !d.Unclean() {
			t.Error("an unclean end went unnoticed")
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f.write("Lathe.so", "onX")
	start{blobs: binaries("Lathe.so", "one")}.must(f).want(t, "checked", "1 wanted, 3 bytes, 0 resumed, 0 matched, 3 written")
	f.want("mended", "Lathe.so=one")
	if f.mustOpen().Unclean() {
		t.Error("checked, and still unclean")
	}
}

// TestFullDiskOpens checks that a missing mark of an open install does not prevent Open.
func TestFullDiskOpens(t *testing.T) {
	f := proven(t, "one")
	d, err := open(watch(f.open(), refuse("create", ".collet/open", faultfs.ENOSPC)), false)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// TestDamagedLists: without a pending set damaged lists only lose the record of the set; with one they lose the newest
// transaction. No file is lost either way.
func TestDamagedLists(t *testing.T) {
	f := newFolder(t)
	f.write("Resources/mine.txt", "mine")
	one := all(binaries("Lathe.so", "one"), packs("A.zip", "a", "B.zip", "b"))
	one.confirmed().must(f)
	f.write(".collet/lists.0", "{}")
	all(binaries("Lathe.so", "two"), packs("A.zip", "a")).confirmed().must(f)
	f.want("unknown", "Lathe.so=two Resources/A.zip=a Resources/B.zip=b Resources/mine.txt=mine")
	all(binaries("Lathe.so", "three"), packs("A.zip", "a3")).must(f)
	f.write(".collet/lists.0", strings.Repeat("\x00", 200))
	d := f.mustOpen()
	wantState(t, d, install.Confirmed, false)
	d.Close()
	all(binaries("Lathe.so", "three"), packs("A.zip", "a3")).confirmed().must(f)
	if err := (story{allowed: []string{"Lathe.so=three Resources/A.zip=a3 Resources/B.zip=b"}}).last(f.files()); err != nil {
		t.Error(err)
	}
}

// TestReaderHoldsTheSwap checks that a set in use does not change, and that the swap waits for its end.
func TestReaderHoldsTheSwap(t *testing.T) {
	f := proven(t, "one")
	s := Module("two")
	s.stay = true
	s.must(f)
	reader, err := f.open().LockShared(".collet/readers")
	if err != nil {
		t.Fatal(err)
	}
	d := f.mustOpen()
	f.want("used", "Lathe.so=one Lathe.so-staging=two")
	wantState(t, d, install.Prepared, false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Promote(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("promote beside a reader: %v", err)
	}
	f.want("waits", "Lathe.so=one Lathe.so-staging=two")
	if err := errors.Join(reader.Close(), d.Promote(context.Background())); err != nil {
		t.Fatal(err)
	}
	f.want("let go", "Lathe.so=two Lathe.so.bak=one")
}

// TestRecyclerIsBounded checks that dropped files of the last releases and all files of the player are kept.
func TestRecyclerIsBounded(t *testing.T) {
	f := newFolder(t)
	f.write("Recycler/yours-0/x", "player's")
	f.write("Recycler/notes.txt", "player's, too")
	for n := range 7 {
		start{blobs: packs("A.zip", "a", fmt.Sprint(n, ".zip"), "x")}.confirmed().must(f)
	}
	f.want("three are kept", "Recycler/5/Resources/3.zip=x Recycler/6/Resources/4.zip=x Recycler/7/Resources/5.zip=x "+
		"Recycler/notes.txt=player's, too Recycler/yours-0/x=player's Resources/6.zip=x Resources/A.zip=a")
}

var _ update.Destination = (*install.Dir)(nil)
