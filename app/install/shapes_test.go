package install_test

import (
	"errors"
	"io/fs"
	"testing"

	"collet/app/install"
	"collet/app/update"
)

// This file tells what earlier sets leave where a later one needs the name for something else: parts, backups, files where
// a folder will be, and folders where a file will be.

// takenBack makes a set live and takes it back, so that its new files are parts again, aside.
func takenBack(t *testing.T, f folder, s start) {
	t.Helper()
	s.must(f)
	d := f.mustOpen()
	if err := errors.Join(d.RollBack(t.Context()), d.Unblock(), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// wantFiles wants contents under names of the install's own folders; an empty one means that nothing is there.
func wantFiles(t *testing.T, when string, f folder, pairs ...string) {
	t.Helper()
	files := f.files()
	for i := 0; i < len(pairs); i += 2 {
		if got := files[pairs[i]]; got != pairs[i+1] {
			t.Errorf("%s: %s is %q, want %q", when, pairs[i], got, pairs[i+1])
		}
	}
}

// TestPartAsideOfAnotherDigest: a part that lies aside and is meant to become something else goes before the journal
// forgets it. Otherwise its bytes would be taken for those of a later set that has its part there.
func TestPartAsideOfAnotherDigest(t *testing.T) {
	const aside = ".collet/parts/Resources/A.zip"
	f := newFolder(t)
	start{blobs: packs("A.zip", "a1")}.confirmed().must(f)
	takenBack(t, f, start{blobs: packs("A.zip", "a2")})
	wantFiles(t, "taken back", f, aside, "a2", "Resources/A.zip", "a1")
	begin(t, f, start{blobs: packs("A.zip", "a333")}, 2)
	wantFiles(t, "another one begun", f, aside, "", "Resources/~A.zip", "a3")
	start{blobs: packs("A.zip", "a333")}.must(f)
	f.want("complete", "Resources/A.zip=a333")
}

// TestPartWhereTheJournalDoesNotSay: a process stops between a part's move from aside and the record that says so. The next
// offer, which lacks the file, removes it all the same.
func TestPartWhereTheJournalDoesNotSay(t *testing.T) {
	for name, test := range map[string]struct {
		file, aside, part string
		next              start
		tree              string
	}{
		"dropped": {"B.zip", ".collet/parts/Resources/B.zip", "Resources/~B.zip",
			start{blobs: packs("A.zip", "a3")}, "Resources/A.zip=a3"},
		"its folder becomes a file": {"Deep/D.zip", ".collet/parts/Resources/Deep/D.zip", "Resources/Deep/~D.zip",
			start{blobs: packs("A.zip", "a3", "Deep", "d3")}, "Resources/A.zip=a3 Resources/Deep=d3"},
	} {
		t.Run(name, func(t *testing.T) {
			f, set := newFolder(t), start{blobs: packs("A.zip", "a1", test.file, "content")}
			start{blobs: packs("A.zip", "a1")}.confirmed().must(f)
			takenBack(t, f, set)
			wantFiles(t, "taken back", f, test.aside, "content")
			refused := watch(f.open(), refuse("create", ".collet/lists.*", errStopped))
			if _, err := set.on(t, refused); err == nil {
				t.Fatal("began a transaction")
			}
			wantFiles(t, "moved", f, test.aside, "", test.part, "content")
			test.next.must(f)
			f.want("without it", test.tree)
			wantFiles(t, "without it", f, test.aside, "", test.part, "")
		})
	}
}

// TestPartInAFolderThatBecomesAFile: what an interrupted download left in it is ours and in nobody's way; a file of the
// player is, although it is called like a part.
func TestPartInAFolderThatBecomesAFile(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("A.zip", "a1")}.confirmed().must(f)
	begin(t, f, start{blobs: packs("A.zip", "a1", "Deep/D.zip", "content")}, 3)
	f.want("begun", "Resources/A.zip=a1 Resources/Deep/~D.zip=con")
	next := start{blobs: packs("A.zip", "a1", "Deep", "d2")}
	f.write("Resources/Deep/~Mine.zip", "mine")
	if _, err := next.on(t, f.open()); err == nil {
		t.Error("cleared a folder with a file of the player")
	}
	f.remove("Resources/Deep/~Mine.zip")
	next.must(f)
	f.want("a file", "Resources/A.zip=a1 Resources/Deep=d2")
}

// TestOurFoldersOfAnotherShape: where a backup or a part goes, an earlier set left a file in the place of its folder, or a
// folder in the place of the file. Nobody knows whose the backup is: it is only moved. Parts can be fetched again.
func TestOurFoldersOfAnotherShape(t *testing.T) {
	previous, parts := ".collet/previous/Resources/", ".collet/parts/Resources/"
	for name, test := range map[string]struct {
		stands, content string // before
		recycled        string // where it is afterwards; empty: gone
	}{
		"a backup where its folder will be": {previous + "Deep", "x", "Recycler/yours-2/" + previous + "Deep"},
		"a folder where the backup will be": {previous + "Deep/D.zip/deeper/y", "x", "Recycler/yours-2/" + previous + "Deep/D.zip/deeper/y"},
		"a part where its folder will be":   {parts + "Deep", "x", ""},
		"a folder where the part will be":   {parts + "Deep/D.zip/deeper/y", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, next := newFolder(t), start{blobs: packs("Deep/D.zip", "d2")}
			start{blobs: packs("Deep/D.zip", "d1")}.confirmed().must(f)
			f.write(test.stands, test.content)
			next.must(f)
			wantFiles(t, "swapped", f, "Resources/Deep/D.zip", "d2", previous+"Deep/D.zip", "d1")
			d := f.mustOpen()
			if err := errors.Join(d.RollBack(t.Context()), d.Close()); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, "taken back", f, "Resources/Deep/D.zip", "d1", parts+"Deep/D.zip", "d2", test.stands, "")
			if test.recycled != "" {
				wantFiles(t, "taken back", f, test.recycled, test.content)
			}
		})
	}
}

// TestWayBackFromTheMiddle: prepared bytes vanish when the swap has begun. Where names were exchanged, what they gave way to
// still waits where the new files had been, and the way back finds it there.
func TestWayBackFromTheMiddle(t *testing.T) {
	set := func(version string, more ...string) start {
		return all(binaries("Lathe.so", "module "+version, "Lathe.so.pdb", "symbols "+version), packs("A.zip", "a"+version), packs(more...))
	}
	exchanged := []string{"Lathe.so", "module 2", "Lathe.so-staging", "module 1", "Resources/A.zip", "a2", "Resources/~A.zip", "a1"}
	moved := []string{"Lathe.so", "module 2", "Lathe.so.bak", "module 1", "Resources/A.zip", "a2", ".collet/previous/Resources/A.zip", "a1"}
	stop := refuse("rename", "* Resources/B.zip", errStopped)
	for name, test := range map[string]struct {
		byHand  string
		rules   []rule
		stopped []string
	}{
		"exchange/no backup by hand": {"", []rule{stop}, exchanged}, "exchange/over a backup made by hand": {"by hand", []rule{stop}, exchanged},
		"two moves/no backup by hand":          {"", []rule{stop, noExchange()}, moved},
		"two moves/over a backup made by hand": {"by hand", []rule{stop, noExchange()}, moved},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			set("1").confirmed().must(f)
			if test.byHand != "" {
				f.write("Lathe.so.bak", test.byHand)
			}
			if _, err := set("2", "B.zip", "b").on(t, watch(f.open(), test.rules...)); err == nil {
				t.Fatal("swapped")
			}
			wantFiles(t, "stopped", f, test.stopped...)
			f.remove("Resources/~B.zip")
			d := f.mustOpen()
			wantState(t, d, install.RolledBack, false)
			wantFiles(t, "back", f, "Lathe.so", "module 1", "Lathe.so.pdb", "symbols 1", "Resources/A.zip", "a1", "Lathe.so-staging", "",
				"Recycler/yours-2/Lathe.so.bak", test.byHand)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			set("2", "B.zip", "b").confirmed().must(f)
			start{mode: update.Binaries, blobs: append(binaries("Lathe.so", "module 3"), packs("A.zip", "a2")...)}.confirmed().must(f)
			wantFiles(t, "a release without symbols", f, "Lathe.so", "module 3", "Lathe.so.pdb", "", "Resources/B.zip", "")
		})
	}
}

// TestNoWayBackFromTheMiddle: a swap can go neither forward nor back. What is live of it belongs to the set, so that the next
// release, which lacks it, drops it.
func TestNoWayBackFromTheMiddle(t *testing.T) {
	for name, test := range map[string]struct {
		lose string // beside the backup
		stop rule   // what stops the swap
		back rule   // what stops the way back
		live int    // files of the set that are there then
	}{
		"a part vanished": {"Resources/~C.zip", refuse("rename", "* Resources/C.zip", errStopped), nil, 3},
		"on the way back": {"", nil, refuse("rename", "* .collet/parts/*", errStopped), 4},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			all(binaries("Lathe.so", "m1"), packs("A.zip", "a1")).confirmed().must(f)
			next := all(binaries("Lathe.so", "m2"), packs("A.zip", "a2", "B.zip", "b2", "C.zip", "c2"))
			rules := []rule{noExchange()}
			if test.stop != nil {
				rules = append(rules, test.stop)
			}
			if _, err := next.on(t, watch(f.open(), rules...)); (err == nil) != (test.stop == nil) {
				t.Fatal(err)
			}
			if test.lose != "" {
				f.remove(test.lose)
			}
			if test.back != nil {
				d := f.mustOpen(noExchange(), test.back)
				if err := d.RollBack(t.Context()); err == nil {
					t.Error("not stopped on its way back")
				}
				d.Close()
			}
			f.write(".collet/previous/Resources/A.zip", "broken")
			d := f.mustOpen()
			wantState(t, d, install.RolledBack, false)
			wantFiles(t, "stuck", f, "Resources/A.zip", "a2", "Resources/B.zip", "b2")
			_, files, err := d.Set()
			if err = errors.Join(err, d.Unblock(), d.Close()); err != nil || files != test.live {
				t.Fatalf("%v, %d files, want %d", err, files, test.live)
			}
			all(binaries("Lathe.so", "m3"), packs("A.zip", "a3")).confirmed().must(f)
			wantFiles(t, "the next release", f, "Lathe.so", "m3", "Resources/A.zip", "a3", "Resources/B.zip", "", "Resources/C.zip", "")
		})
	}
}

// heldSymbols is a system on which somebody holds the module's symbols.
func heldSymbols() []rule {
	return []rule{refuse("rename", "* Lathe.so.pdb", fs.ErrPermission), refuse("rename", "Lathe.so.pdb *", fs.ErrPermission),
		refuse("exchange", "* Lathe.so.pdb", fs.ErrPermission), refuse("remove", "Lathe.so.pdb", fs.ErrPermission)}
}

// TestMissedCompanionIsStillOurs: symbols that stayed what they were belong to the set they came with, so that a release
// without symbols drops them.
func TestMissedCompanionIsStillOurs(t *testing.T) {
	for name, unproven := range map[string]bool{"proven": false, "unproven": true} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			module("one").confirmed().must(f)
			start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "symbols"), confirm: !unproven}.must(f)
			if _, err := module("three").on(t, watch(f.open(), heldSymbols()...)); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, "held when they were dropped", f, "Lathe.so", "three", "Lathe.so.pdb", "symbols")
			replaced := start{mode: update.Binaries, blobs: binaries("Lathe.so", "four", "Lathe.so.pdb", "others")}
			if _, err := replaced.on(t, watch(f.open(), heldSymbols()...)); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, "held when they were replaced", f, "Lathe.so", "four", "Lathe.so.pdb", "symbols")
			module("five").confirmed().must(f)
			wantFiles(t, "let go", f, "Lathe.so", "five", "Lathe.so.pdb", "")
		})
	}
}

// TestCompanionHeldForGood: the set is not held back because of symbols that never get through.
func TestCompanionHeldForGood(t *testing.T) {
	f := newFolder(t)
	module("one").confirmed().must(f)
	s := start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "symbols")}.confirmed()
	for range 6 {
		g, err := s.on(t, watch(f.open(), heldSymbols()...))
		if err != nil || g.plan.HeldBack || len(g.plan.Wants) == 0 {
			t.Fatalf("%v, held back %v, %s", err, g.plan.HeldBack, g)
		}
	}
	s.must(f)
	wantFiles(t, "let go", f, "Lathe.so", "two", "Lathe.so.pdb", "symbols")
}
