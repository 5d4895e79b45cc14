package install_test

import (
	"errors"
	"io/fs"
	"testing"

	"collet/app/install"
	"collet/app/update"
)

// This file covers leftovers of earlier sets at names that a later set needs otherwise: parts, backups, files in place of
// folders, and folders in place of files.

// takenBack makes a set live and rolls it back, so that its new files are parts again, in their aside place.
func takenBack(t *testing.T, f folder, s start) {
	t.Helper()
	s.must(f)
	d := f.mustOpen()
	if err := errors.Join(d.RollBack(t.Context()), d.Unblock(), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// wantFiles checks contents of the install's own files; an empty one means that the file is missing.
func wantFiles(t *testing.T, when string, f folder, pairs ...string) {
	t.Helper()
	files := f.files()
	for i := 0; i < len(pairs); i += 2 {
		if got := files[pairs[i]]; got != pairs[i+1] {
			t.Errorf("%s: %s is %q, want %q", when, pairs[i], got, pairs[i+1])
		}
	}
}

// TestPartAsideOfAnotherDigest checks that an aside part of another digest is removed before the journal drops its entry.
// Otherwise its bytes would count for a later set with the same part.
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

// TestPartWhereTheJournalDoesNotSay stops a process between the move of a part and the record of it. The next offer, which
// lacks the file, removes the part all the same.
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

// TestPartInAFolderThatBecomesAFile: a part of an interrupted download in the folder is removed. A file of the player with
// the name of a part blocks the update.
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

// TestOurFoldersOfAnotherShape: at the place of a backup or part, an earlier set left a file instead of a folder, or a
// folder instead of a file. Backups of unknown origin are moved to the recycler. Parts are removed.
func TestOurFoldersOfAnotherShape(t *testing.T) {
	previous, parts := ".collet/previous/Resources/", ".collet/parts/Resources/"
	for name, test := range map[string]struct {
		stands, content string // before
		recycled        string // its name afterwards; empty: removed
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

// TestWayBackFromTheMiddle loses prepared bytes after the swap has begun. After exchanges the replaced files are still at
// the places of the new ones, and the rollback finds them there.
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

// TestNoWayBackFromTheMiddle has a swap that can go neither forward nor back. Its live files belong to the set, so that the
// next release, which lacks them, drops them.
func TestNoWayBackFromTheMiddle(t *testing.T) {
	for name, test := range map[string]struct {
		lose string // in addition to the backup
		stop rule   // what stops the swap
		back rule   // what stops the rollback
		live int    // number of live files of the set afterwards
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

// heldSymbols simulates a system on which a program has the module's symbols locked.
func heldSymbols() []rule {
	return []rule{refuse("rename", "* Lathe.so.pdb", fs.ErrPermission), refuse("rename", "Lathe.so.pdb *", fs.ErrPermission),
		refuse("exchange", "* Lathe.so.pdb", fs.ErrPermission), refuse("remove", "Lathe.so.pdb", fs.ErrPermission)}
}

// TestMissedCompanionIsStillOurs checks that symbols that were not replaced belong to the set they came with, so that a
// release without symbols drops them.
func TestMissedCompanionIsStillOurs(t *testing.T) {
	for name, unproven := range map[string]bool{"proven": false, "unproven": true} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			Module("one").confirmed().must(f)
			start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "symbols"), confirm: !unproven}.must(f)
			if _, err := Module("three").on(t, watch(f.open(), heldSymbols()...)); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, "held when they were dropped", f, "Lathe.so", "three", "Lathe.so.pdb", "symbols")
			replaced := start{mode: update.Binaries, blobs: binaries("Lathe.so", "four", "Lathe.so.pdb", "others")}
			if _, err := replaced.on(t, watch(f.open(), heldSymbols()...)); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, "held when they were replaced", f, "Lathe.so", "four", "Lathe.so.pdb", "symbols")
			Module("five").confirmed().must(f)
			wantFiles(t, "let go", f, "Lathe.so", "five", "Lathe.so.pdb", "")
		})
	}
}

// TestCompanionHeldForGood checks that a set is not blocked because its symbols can never be replaced.
func TestCompanionHeldForGood(t *testing.T) {
	f := newFolder(t)
	Module("one").confirmed().must(f)
	s := start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "symbols")}.confirmed()
	for range 6 {
		g, err := s.on(t, watch(f.open(), heldSymbols()...))
		if err != nil || g.plan.Blocked || len(g.plan.Wants) == 0 {
			t.Fatalf("%v, blocked %v, %s", err, g.plan.Blocked, g)
		}
	}
	s.must(f)
	wantFiles(t, "let go", f, "Lathe.so", "two", "Lathe.so.pdb", "symbols")
}
