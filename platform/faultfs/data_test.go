package faultfs_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/platform/faultfs"
)

// TestShareOfData keeps nothing, all, and the same part for one seed.
func TestShareOfData(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "old")
	m.write("a", "newer")
	for percent, want := range map[int]string{0: "a=old", 100: "a=newer"} {
		for seed := range uint64(50) {
			if got := tell(m.disk.Crash(faultfs.Keep(percent, seed))); got != want {
				t.Errorf("%d %%, seed %d: %s", percent, seed, got)
			}
		}
	}
	for seed := range uint64(50) {
		c := faultfs.Keep(50, seed)
		if first, again := tell(m.disk.Crash(c)), tell(m.disk.Crash(c)); first != again {
			t.Errorf("seed %d: %s, then %s", seed, first, again)
		}
	}
	if got := tell(m.disk); got != "a=newer" {
		t.Errorf("the disk itself holds %s", got)
	}
}

// TestSyncedDataSurvives syncs, and cuts with every share.
func TestSyncedDataSurvives(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "old")
	m.write("a", "new", "er")
	m.sync("a")
	for percent := range 101 {
		if got := tell(m.disk.Crash(faultfs.Keep(percent, uint64(percent)))); got != "a=newer" {
			t.Errorf("%d %%: %s", percent, got)
		}
	}
}

// TestShareCounts looks whether more survives of more.
func TestShareCounts(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "")
	f := m.open("a", os.O_WRONLY)
	const portions, portion = 20, 5000
	for range portions {
		_, err := io.WriteString(f, strings.Repeat("n", portion))
		m.must(err)
	}
	last := -1.0
	for _, percent := range []int{0, 20, 50, 80, 100} {
		var sum int
		for seed := range uint64(300) {
			sum += strings.Count(m.disk.Crash(faultfs.Keep(percent, seed)).Files()["a"], "n")
		}
		mean := float64(sum) / 300 / portions / portion * 100
		if mean <= last || percent == 0 && mean != 0 || percent == 100 && mean != 100 {
			t.Errorf("of %d %% survive %.1f %%, before %.1f %%", percent, mean, last)
		}
		last = mean
	}
}

// TestWaysOfLoss wants each kind of damage that doc.go names to come up: a torn write, reordered writes, a hole, zeros
// with the new length, and half a sector never.
func TestWaysOfLoss(t *testing.T) {
	const page, sector = 4096, 512
	m := start(t, faultfs.Config{})
	m.plant("a", strings.Repeat("o", 3*page))
	m.overwrite("a", 0, strings.Repeat("1", page))
	m.overwrite("a", page, strings.Repeat("2", page))
	m.overwrite("a", 2*page, strings.Repeat("3", page))
	m.overwrite("a", 3*page, strings.Repeat("4", page))
	ways := map[string]bool{}
	for seed := range uint64(2000) {
		got := m.disk.Crash(faultfs.Keep(50, seed)).Files()["a"]
		for _, c := range "o1234\x00" {
			if n := strings.Count(got, string(c)); n%page != 0 && n%sector == 0 {
				ways["sectors"] = true
			} else if n%sector != 0 {
				ways["torn"] = true
			}
		}
		switch first, second := strings.HasPrefix(got, "1"), strings.Contains(got, "2"); {
		case !first && second:
			ways["reordered"] = true
		case got == strings.Repeat("o", 3*page)+strings.Repeat("\x00", page):
			ways["zeros"] = true
		case got == strings.Repeat("o", 3*page):
			ways["nothing"] = true
		case len(got) == 4*page && !strings.ContainsAny(got, "o\x00"):
			ways["all"] = true
		}
		if len(got) > 4*page || strings.Trim(got, "o1234\x00") != "" {
			t.Fatalf("seed %d: %d bytes, some of no write", seed, len(got))
		}
	}
	want := []string{"all", "nothing", "reordered", "sectors", "torn", "zeros"}
	if got := slices.Sorted(maps.Keys(ways)); !slices.Equal(got, want) {
		t.Errorf("came up: %v", got)
	}
}

// TestOneWriteTorn has one short write, which survives up to any byte.
func TestOneWriteTorn(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "")
	m.overwrite("a", 0, "12345678")
	seen := outcomes(m.disk, 50, false, func(d *faultfs.Disk) string { return strings.TrimRight(d.Files()["a"], "\x00") })
	wantOutcomes(t, seen, "", "1", "12", "123", "1234", "12345", "123456", "1234567", "12345678")
}

// TestEachWriteOrNone has two writes in one sector: each may survive without the other.
func TestEachWriteOrNone(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "oooo")
	m.overwrite("a", 0, "1")
	m.overwrite("a", 2, "2")
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "a=oooo", "a=1ooo", "a=oo2o", "a=1o2o")
}

// TestTruncation is lost or survives like a write, and brings back what it cut off.
func TestTruncation(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "123456")
	f := m.open("a", os.O_WRONLY)
	m.must(f.Truncate(2))
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "a=12", "a=123456")
	m.must(f.Truncate(4))
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "a=12", "a=123456", "a=12\x00\x00")
	m.must(f.Sync())
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "a=12\x00\x00")
}

// TestEmptied is the classic: a file is emptied and written anew, and the cut leaves an empty one.
func TestEmptied(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "old and longer")
	m.write("a", "new")
	seen := outcomes(m.disk, 50, false, tell)
	for _, want := range []string{"a=old and longer", "a=", "a=new", "a=\x00\x00\x00"} {
		if seen[want] == 0 {
			t.Errorf("%q never came up", want)
		}
	}
	for got := range seen {
		if strings.ContainsAny(got, "old") && got != "a=old and longer" {
			t.Errorf("%q mixes old and new", got)
		}
	}
}

// TestAppendKeepsThePrefix appends to a synced file, as a journal does: the synced bytes are complete in every cut.
func TestAppendKeepsThePrefix(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("log", "one\n")
	f := m.open("log", os.O_WRONLY|os.O_APPEND)
	for _, record := range []string{"two\n", "three\n"} {
		_, err := io.WriteString(f, record)
		m.must(err)
	}
	seen := outcomes(m.disk, 50, false, tell)
	if len(seen) < 5 {
		t.Errorf("only %v came up", seen)
	}
	for got := range seen {
		if !strings.HasPrefix(got, "log=one\n") {
			t.Errorf("lost what was synced: %q", got)
		}
	}
}

// TestFailedSync: data of a failed sync stays uncertain even after a later sync; later writes are safe.
func TestFailedSync(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", strings.Repeat("o", 8192))
	m.overwrite("a", 0, "lost?")
	m.Inject(faultfs.Rule{Verb: faultfs.Sync, Times: 1, Err: faultfs.EIO})
	f := m.open("a", os.O_RDWR)
	wantFault(t, "the first sync", f.Sync(), faultfs.EIO)
	m.must(f.Sync())
	m.overwrite("a", 4096, "kept!")
	m.sync("a")
	seen := outcomes(m.disk, 50, false, func(d *faultfs.Disk) string {
		content := d.Files()["a"]
		if content[4096:4101] != "kept!" {
			t.Errorf("a later sync kept %q", content[4096:4101])
		}
		return content[:5]
	})
	if seen["ooooo"] == 0 || seen["lost?"] == 0 {
		t.Errorf("of the uncertain came %v", seen)
	}
	if got := m.disk.Files()["a"][:5]; got != "lost?" {
		t.Errorf("readers see %q", got)
	}
	m.must(f.Close())
}

// TestSyncAfterAFailedOne makes a file longer: it is that long in every cut, although what came before is uncertain.
func TestSyncAfterAFailedOne(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", strings.Repeat("o", 8192))
	m.overwrite("a", 0, "lost?")
	m.FailAt(m.Count()+1, faultfs.EIO)
	f := m.open("a", os.O_RDWR|os.O_APPEND)
	wantFault(t, "the first sync", f.Sync(), faultfs.EIO)
	_, err := io.WriteString(f, "tail")
	m.must(err, f.Sync())
	for got := range outcomes(m.disk, 50, false, tell) {
		if len(got) != len("a=")+8192+4 || !strings.HasSuffix(got, "otail") {
			t.Errorf("left %d bytes that end in %q", len(got)-2, got[max(0, len(got)-10):])
		}
	}
}

// TestSyncedWrites opens with O_SYNC: each write is durable when it returns.
func TestSyncedWrites(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "")
	f := m.open("a", os.O_WRONLY|os.O_SYNC)
	_, err := io.WriteString(f, "x")
	m.must(err)
	if got := tell(m.disk.Crash(faultfs.Keep(0, 1))); got != "a=x" {
		t.Errorf("left %s", got)
	}
}

// TestContentFollowsItsFile syncs under one name and renames: the content is as durable as before.
func TestContentFollowsItsFile(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.write("a", "one")
	m.sync("a")
	m.must(m.SyncDir("."), m.Rename("a", "b"))
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "a=one", "b=one")
	m.must(m.SyncDir("."))
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), "b=one")
}

// TestNameWithoutContent renames a file that was never synced, and syncs the folder: the name is there, the bytes are not.
func TestNameWithoutContent(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "old")
	m.write("a.new", "new")
	m.must(m.Rename("a.new", "a"), m.SyncDir("."))
	if got := tell(m.disk.Crash(faultfs.Keep(0, 1))); got != "a=" {
		t.Errorf("left %s", got)
	}
}

// TestAttributesAreUncertain changes mode and time, which a sync of the file makes durable.
func TestAttributesAreUncertain(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "x")
	long := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	m.must(m.Chmod("a", 0o444), m.disk.Chtimes("a", long))
	look := func(d *faultfs.Disk) string {
		info, err := d.Open(faultfs.Options{}).Stat("a")
		m.must(err)
		if info.ModTime().Equal(long) != (info.Mode().Perm() == 0o444) {
			t.Errorf("mode and time parted: %v", info)
		}
		return info.Mode().Perm().String()
	}
	wantOutcomes(t, outcomes(m.disk, 0, false, look), "-rw-r--r--")
	wantOutcomes(t, outcomes(m.disk, 50, false, look), "-rw-r--r--", "-r--r--r--")
	m.must(m.SyncDir("a"))
	wantOutcomes(t, outcomes(m.disk, 0, false, look), "-r--r--r--")
	if err := m.disk.Chtimes("no", long); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("time of what is missing: %v", err)
	}
}

// TestManyChanges writes more often than changes are told apart. What readers see, and what nothing and all leave, stays
// right.
func TestManyChanges(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", strings.Repeat("o", 700))
	want := []byte(strings.Repeat("o", 700))
	f := m.open("a", os.O_RDWR)
	for i := range 3000 {
		at := i * 37 % 700
		want[at] = byte('a' + i%13)
		_, err := f.Seek(int64(at), io.SeekStart)
		m.must(err)
		_, err = f.Write(want[at : at+1])
		m.must(err)
		if i%1000 == 500 {
			m.must(f.Truncate(600))
			m.must(f.Truncate(700))
			copy(want[600:], make([]byte, 100))
		}
	}
	for percent, want := range map[int]string{0: strings.Repeat("o", 700), 100: string(want)} {
		if got := m.disk.Crash(faultfs.Keep(percent, 1)).Files()["a"]; got != want {
			t.Errorf("%d %%: %q", percent, got)
		}
	}
	if len(outcomes(m.disk, 50, false, tell)) < 100 {
		t.Error("hardly anything came up")
	}
	m.must(f.Sync())
	wantOutcomes(t, outcomes(m.disk, 50, false, tell), "a="+string(want))
}

// TestSettle makes all durable.
func TestSettle(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "old", "d/gone", "x")
	m.write("a", "new")
	m.write("d/made", "y")
	m.must(m.MkdirAll("e/f", 0o755), m.Remove("d/gone"), m.Chmod("a", 0o400))
	before := tell(m.disk)
	m.disk.Settle()
	wantOutcomes(t, outcomes(m.disk, 0, false, tell), before)
	if info, err := m.disk.Crash(faultfs.Keep(0, 1)).Open(faultfs.Options{}).Stat("a"); err != nil || info.Mode() != 0o400 {
		t.Errorf("mode: %v, %v", info, err)
	}
}
