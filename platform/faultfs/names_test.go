package faultfs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// TestNamesSurvive is the table of what is done to names: what of it a cut leaves before the folders are synced, and
// after. Content is synced in every row, so that only the names are in question.
func TestNamesSurvive(t *testing.T) {
	for name, c := range map[string]struct {
		before []string // durable files
		do     func(m *machine)
		may    []string // what 50 % leave
		folder []string // to be synced for certainty
	}{
		"made": {nil, func(m *machine) { m.write("a", ""); m.sync("a") }, []string{"", "a="}, []string{"."}},
		"removed": {[]string{"a", "1"}, func(m *machine) { m.must(m.Remove("a")) },
			[]string{"", "a=1"}, []string{"."}},
		"renamed": {[]string{"a", "1"}, func(m *machine) { m.must(m.Rename("a", "b")) },
			[]string{"a=1", "b=1"}, []string{"."}},
		"replaced": {[]string{"a", "1", "b", "2"}, func(m *machine) { m.must(m.Rename("a", "b")) },
			[]string{"a=1 b=2", "b=1"}, []string{"."}},
		"exchanged": {[]string{"a", "1", "b", "2"}, func(m *machine) { m.must(m.Exchange("a", "b")) },
			[]string{"a=1 b=2", "a=2 b=1"}, []string{"."}},
		"exchanged twice": {[]string{"a", "1", "b", "2"}, func(m *machine) { m.must(m.Exchange("a", "b"), m.Exchange("a", "b")) },
			[]string{"a=1 b=2", "a=2 b=1"}, []string{"."}},
		"made a folder": {nil, func(m *machine) { m.must(m.MkdirAll("d", 0o755)) }, []string{"", "d/"}, []string{"."}},
		"made folders": {nil, func(m *machine) { m.must(m.MkdirAll("d/e", 0o755)) },
			[]string{"", "d/", "d/ d/e/"}, []string{".", "d"}},
		"moved": {[]string{"d/a", "1", "e/x", ""}, func(m *machine) { m.must(m.Rename("d/a", "e/a")) },
			[]string{"d/ d/a=1 e/ e/x=", "d/ e/ e/a=1 e/x="}, []string{"d", "e"}},
		"moved the other way": {[]string{"d/a", "1", "e/x", ""}, func(m *machine) { m.must(m.Rename("d/a", "e/a")) },
			[]string{"d/ d/a=1 e/ e/x=", "d/ e/ e/a=1 e/x="}, []string{"e", "d"}},
		"exchanged between folders": {[]string{"d/a", "1", "e/a", "2"}, func(m *machine) { m.must(m.Exchange("d/a", "e/a")) },
			[]string{"d/ d/a=1 e/ e/a=2", "d/ d/a=2 e/ e/a=1"}, []string{"d", "e"}},
		"linked": {[]string{"d/a", "1", "e/x", ""}, func(m *machine) { m.must(m.Link("d/a", "e/a")) },
			[]string{"d/ d/a=1 e/ e/x=", "d/ d/a=1 e/ e/a=1 e/x="}, []string{"e"}},
		"linked and removed": {[]string{"a", "1"}, func(m *machine) { m.must(m.Link("a", "b"), m.Remove("a")) },
			[]string{"a=1", "a=1 b=1", "b=1"}, []string{"."}},
		"two steps in order": {[]string{"a", "1"}, func(m *machine) { m.must(m.Rename("a", "b"), m.Rename("b", "c")) },
			[]string{"a=1", "b=1", "c=1"}, []string{"."}},
		"two names in order": {[]string{"a", "1", "b", "2"}, func(m *machine) { m.must(m.Remove("a"), m.Remove("b")) },
			[]string{"", "a=1 b=2", "b=2"}, []string{"."}},
		"folder renamed": {[]string{"d/a", "1"}, func(m *machine) { m.must(m.Rename("d", "e")) },
			[]string{"d/ d/a=1", "e/ e/a=1"}, []string{"."}},
		"folder emptied and removed": {[]string{"d/a", "1"}, func(m *machine) { m.must(m.Remove("d/a"), m.Remove("d")) },
			[]string{"", "d/", "d/ d/a=1"}, []string{"."}},
		"aside and in": {[]string{"a", "1", "b", "2"}, func(m *machine) { m.must(m.Rename("a", "c"), m.Rename("b", "a")) },
			[]string{"a=1 b=2", "a=2 c=1", "b=2 c=1"}, []string{"."}},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, faultfs.Config{})
			m.plant(c.before...)
			before := tell(m.disk)
			c.do(m)
			wantOutcomes(t, outcomes(m.disk, 0, false, tell), before)
			wantOutcomes(t, outcomes(m.disk, 50, false, tell), c.may...)
			wantOutcomes(t, outcomes(m.disk, 100, false, tell), tell(m.disk))
			for i, folder := range c.folder {
				if kept := outcomes(m.disk, 50, false, tell); len(kept) < 2 {
					t.Errorf("certain after %d of %d folders: %v", i, len(c.folder), kept)
				}
				m.must(m.SyncDir(folder))
			}
			wantOutcomes(t, outcomes(m.disk, 0, false, tell), tell(m.disk))
			wantOutcomes(t, outcomes(m.disk, 50, true, tell), tell(m.disk))
		})
	}
}

// TestNamesInAnyOrder compares a volume with a journal to one without: only there a later change survives an earlier one.
func TestNamesInAnyOrder(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1", "b", "2", "c", "3")
	m.must(m.Remove("a"), m.Remove("b"), m.Remove("c"))
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "", "a=1 b=2 c=3", "b=2 c=3", "c=3")
	wantOutcomes(t, outcomes(m.disk, 50, true, tell),
		"", "a=1", "b=2", "c=3", "a=1 b=2", "a=1 c=3", "b=2 c=3", "a=1 b=2 c=3")
}

// TestSameNameInOrder: even without a journal, changes of one name survive in order.
func TestSameNameInOrder(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1")
	m.must(m.Rename("a", "b"), m.Rename("b", "c"), m.Rename("c", "a"))
	wantOutcomes(t, outcomes(m.disk, 50, true, tell), "a=1", "b=1", "c=1")
}

// TestFoldersByThemselves has two folders with two changes each: in some cuts one is ahead, in some the other.
func TestFoldersByThemselves(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/a", "1", "e/b", "2")
	m.must(m.Remove("d/a"), m.Remove("e/b"))
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "d/ e/", "d/ d/a=1 e/ e/b=2", "d/ e/ e/b=2", "d/ d/a=1 e/")
}

// TestOneJournal makes files in two folders in turn. In about half of all cuts what survives is what was made first, whichever
// folder it is in; in the others each folder is as of a moment of its own.
func TestOneJournal(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/x", "", "e/x", "")
	const files = 20
	for i := range files {
		m.write(fmt.Sprintf("%c/%02d", "de"[i%2], i))
	}
	together, cuts := 0, 400
	for seed := range cuts {
		left := m.disk.Crash(faultfs.Keep(50, uint64(seed))).Files()
		made, first := 0, true
		for i := range files {
			if _, there := left[fmt.Sprintf("%c/%02d", "de"[i%2], i)]; there {
				first = first && made == i
				made++
			}
		}
		if first {
			together++
		}
	}
	if together < cuts*4/10 || together > cuts*8/10 {
		t.Errorf("in %d of %d cuts both folders are as of one moment", together, cuts)
	}
}

// TestSyncTakesAlongWhatCameFirst: a sync of one folder makes durable, where there is a journal, also the move into it that
// came before, although the other folder was not synced.
func TestSyncTakesAlongWhatCameFirst(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/a", "1", "e/x", "")
	m.must(m.Rename("d/a", "e/a"))
	m.write("e/b")
	m.must(m.SyncDir("e"))
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "d/ e/ e/a=1 e/b= e/x=")
	wantOutcomes(t, outcomes(m.disk, 50, true, tell), "d/ e/ e/a=1 e/b= e/x=", "d/ d/a=1 e/ e/b= e/x=")
}

// TestNewFileWithoutItsFolder syncs the file only: its name is gone.
func TestNewFileWithoutItsFolder(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.write("a", "one")
	m.sync("a")
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "")
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "", "a=one")
	m.must(m.SyncDir("."))
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "a=one")
}

// TestFolderNeedsAPlace syncs a new folder, but not the one it is in.
func TestFolderNeedsAPlace(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.must(m.MkdirAll("d", 0o755))
	m.write("d/a", "one")
	m.sync("d/a")
	m.must(m.SyncDir("d"))
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "")
	m.must(m.SyncDir("."))
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "d/ d/a=one")
}

// TestMoveIntoANewFolder never loses the file: it is at its old place as long as the new one has none.
func TestMoveIntoANewFolder(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		m := start(t, faultfs.Config{})
		m.plant("a", "1")
		m.must(m.MkdirAll("d", 0o755), m.Rename("a", "d/a"), m.SyncDir("d"))
		for got := range outcomes(m.disk, 50, unordered, tell) {
			if strings.Count(got, "a=1") != 1 {
				t.Errorf("unordered %v: left %q", unordered, got)
			}
		}
	}
}

// TestPromisedByAnotherFolder keeps what a promise rests on: a move is promised, so what made room for it is kept, too.
func TestPromisedByAnotherFolder(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/a", "new", "a", "old")
	m.must(m.Rename("a", "a.bak"), m.Rename("d/a", "a"), m.SyncDir("d"), m.SyncDir("."))
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "a=new a.bak=old d/")
}

// TestRemovedFolderIsEmpty moves the last file out of a folder and removes that: it is never removed with the file in it.
func TestRemovedFolderIsEmpty(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		m := start(t, faultfs.Config{})
		m.plant("d/a", "1", "x", "")
		m.must(m.Rename("d/a", "b"), m.Remove("d"))
		for got := range outcomes(m.disk, 50, unordered, tell) {
			if strings.Count(got, "=1") != 1 {
				t.Errorf("unordered %v: left %q", unordered, got)
			}
		}
		m.must(m.SyncDir("."))
		wantOutcomes(t, outcomes(m.disk, 0, unordered, tell), "b=1 x=")
	}
}

// TestInodesSurvive and are not used twice.
func TestInodesSurvive(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1", "b", "2")
	a, b := inode(t, m, "a"), inode(t, m, "b")
	m.must(m.Exchange("a", "b"), m.SyncDir("."))
	after := m.disk.Crash(faultfs.Keep(0, 1)).Open(faultfs.Options{})
	if got := [2]uint64{inode(t, after, "a"), inode(t, after, "b")}; got != [2]uint64{b, a} {
		t.Errorf("got %v, had %v", got, [2]uint64{a, b})
	}
	fstestPut(t, after, "c")
	if c := inode(t, after, "c"); c == a || c == b {
		t.Errorf("inode %d is used again", c)
	}
}

func fstestPut(t *testing.T, fsys platform.FS, name string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLinksSurvive like files.
func TestLinksSurvive(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1")
	m.must(m.disk.Symlink("a", "link"), m.disk.Symlink("../../outside", "out"))
	want := "a=1 link=-> a out=-> ../../outside"
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), want)
	m.must(m.Remove("link"))
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), want, "a=1 out=-> ../../outside")
	if err := m.disk.Symlink("b", "a"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a link took a name: %v", err)
	}
}

// TestPlant makes things as if they had been there for long.
func TestPlant(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/e/a", "one", "d/e/a", "two", "b", "")
	wantOutcomes(t, outcomes(m.disk, 0, true, tell), "b= d/ d/e/ d/e/a=two")
	if n := m.Count(); n != 0 {
		t.Errorf("counted %d operations that were not made", n)
	}
	for _, name := range []string{"b/c", "d", "../x", ""} {
		if err := m.disk.Plant(name, "x"); err == nil {
			t.Errorf("planted %q", name)
		}
	}
}

// TestCutsAreIndependent makes a cut, changes the result, and checks both disks.
func TestCutsAreIndependent(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", strings.Repeat("o", 10000), "d/b", "x")
	m.overwrite("a", 5000, "new")
	before := tell(m.disk)
	after := m.disk.Crash(faultfs.Keep(100, 1))
	other := &machine{FS: after.Open(faultfs.Options{}), t: t, disk: after}
	other.overwrite("a", 0, "other")
	other.must(other.Rename("d", "e"), other.Remove("e/b"))
	m.overwrite("a", 9000, "mine")
	if got := tell(m.disk); got == before || strings.Contains(got, "other") || !strings.Contains(got, "d/b=x") {
		t.Errorf("the disk was changed by its own cut: %.100s", got)
	}
	if got := tell(after); strings.Contains(got, "mine") || !strings.Contains(got, "e/") {
		t.Errorf("the cut was changed by its disk: %.100s", got)
	}
}

// TestCloneKeepsWhatIsUnsynced: the same cut of a disk and of its clone leaves the same.
func TestCloneKeepsWhatIsUnsynced(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1", "d/b", "2")
	m.must(m.MkdirAll("e", 0o755), m.Rename("d/b", "e/b"), m.SyncDir("e"), m.Exchange("a", "e/b"))
	m.write("c", "one", "two")
	m.overwrite("a", 0, "9")
	clone := m.disk.Clone()
	for seed := range uint64(200) {
		for _, unordered := range []bool{false, true} {
			c := faultfs.Cut{Names: 50, Data: 50, Seed: seed, Unordered: unordered}
			if got, want := tell(clone.Crash(c)), tell(m.disk.Crash(c)); got != want {
				t.Errorf("%v: the clone left %s, the disk %s", c, got, want)
			}
		}
	}
	m.write("c", "three")
	if got := clone.Files()["c"]; got != "onetwo" {
		t.Errorf("the clone follows its disk: %s", got)
	}
	process := clone.Open(faultfs.Options{})
	m.must(process.SyncDir("d"), process.SyncDir("."))
	for got := range outcomes(clone, 50, false, tell) {
		if strings.Contains(got, "d/b") {
			t.Errorf("synced all folders of the clone, and yet %s", got)
		}
	}
}

// TestCloneAfterHalfASync clones while a change waits for one folder and what it rests on is durable already.
func TestCloneAfterHalfASync(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1")
	m.must(m.MkdirAll("d", 0o755), m.Rename("a", "d/a"), m.SyncDir("."))
	clone := m.disk.Clone()
	for _, disk := range []*faultfs.Disk{m.disk, clone} {
		wantOutcomes(t, outcomes(disk, 50, false, tell), "a=1 d/", "d/ d/a=1")
		m.must(disk.Open(faultfs.Options{}).SyncDir("d"))
		wantOutcomes(t, outcomes(disk, 50, true, tell), "d/ d/a=1")
	}
}

// TestManyNames has more changes of names waiting than are kept: the oldest are durable then.
func TestManyNames(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("0", "x")
	const changes = 1<<16 + 10
	for i := range changes {
		m.must(m.Rename(fmt.Sprint(i), fmt.Sprint(i+1)))
	}
	name, _, _ := strings.Cut(tell(m.disk.Crash(faultfs.Keep(0, 1))), "=")
	var at int
	if _, err := fmt.Sscan(name, &at); err != nil || at == 0 || at >= changes {
		t.Errorf("the oldest durable name is %q", name)
	}
}

// TestOpenFileOfALostName goes on after its name is gone, and is gone after a cut.
func TestOpenFileOfALostName(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "1")
	f := m.open("a", os.O_RDWR)
	m.must(m.Remove("a"), m.SyncDir("."))
	_, err := io.WriteString(f, "2")
	m.must(err, f.Sync())
	if got := tell(m.disk) + tell(m.disk.Crash(faultfs.Keep(100, 1))) + tell(m.disk.Clone()); got != "" {
		t.Errorf("left %s", got)
	}
	if used := m.disk.Clone().Used(); used != 0 {
		t.Errorf("the clone has %d bytes of a file that it has not", used)
	}
}

func TestCutSaysWhatItIs(t *testing.T) {
	c := faultfs.Cut{Names: 10, Data: 90, Seed: 7, Unordered: true}
	if got, want := c.String(), "10 % of names and 90 % of data kept, seed 7, names in any order"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := faultfs.Keep(50, 3), (faultfs.Cut{Names: 50, Data: 50, Seed: 3}); got != want {
		t.Errorf("got %v", got)
	}
}

// TestTwoNamesOfOneFile writes over one name, renames it over the other, and takes both away: it is one file in a clone and after a
// power cut, too, and takes its room once.
func TestTwoNamesOfOneFile(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "one")
	m.must(m.Link("a", "b"), m.SyncDir("."))
	for what, disk := range map[string]*faultfs.Disk{"the disk": m.disk, "a clone": m.disk.Clone(), "after a cut": m.disk.Crash(faultfs.Keep(50, 1))} {
		next := &machine{FS: disk.Open(faultfs.Options{}), t: t, disk: disk}
		if inode(t, next, "a") != inode(t, next, "b") || disk.Used() != 3 {
			t.Errorf("%s: %d bytes are taken", what, disk.Used())
		}
		next.overwrite("a", 0, "two")
		next.must(next.Rename("a", "b"))
		if got := tell(disk); got != "a=two b=two" {
			t.Errorf("%s: %s", what, got)
		}
		next.must(next.Remove("a"))
		if got := tell(disk); got != "b=two" || disk.Used() != 3 {
			t.Errorf("%s: %s, %d bytes are taken", what, got, disk.Used())
		}
		if next.must(next.Remove("b")); disk.Used() != 0 {
			t.Errorf("%s: %d bytes are left", what, disk.Used())
		}
	}
}
