package faultfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/platform"
	"collet/platform/faultfs"
)

// TestFoldCase is a volume on which names that differ in case are one, as it was written first.
func TestFoldCase(t *testing.T) {
	m := start(t, faultfs.Config{FoldCase: true})
	m.plant("Core.zip", "1", "Dir/a", "2", "Straße", "3", "λόγος", "4")
	for _, name := range []string{"core.zip", "CORE.ZIP", "dir/A", "DIR/../Core.zip", "STRAßE", "ΛΌΓΟΣ", "λόγοσ"} {
		if _, err := m.Stat(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := m.OpenFile("CORE.zip", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	wantFault(t, "made a second one", err, fs.ErrExist)
	m.write("CORE.ZIP", "new")
	if got := tell(m.disk); got != "Core.zip=new Dir/ Dir/a=2 Straße=3 λόγος=4" {
		t.Errorf("holds %s", got)
	}
	m.must(m.Rename("core.zip", "CORE.zip"), m.Rename("dir", "DIR"))
	if got := tell(m.disk); got != "CORE.zip=new DIR/ DIR/a=2 Straße=3 λόγος=4" {
		t.Errorf("after renames that change the case only: %s", got)
	}
	wantOutcomes(t, outcomes(m.disk, 0, false, func(d *faultfs.Disk) string { return strings.Fields(tell(d))[0] }), "Core.zip=1")
	plain := start(t, faultfs.Config{})
	plain.plant("a", "1", "A", "2")
	if got := tell(plain.disk); got != "A=2 a=1" {
		t.Errorf("an ordinary volume holds %s", got)
	}
}

// TestNoExchange says that it can't and changes nothing.
func TestNoExchange(t *testing.T) {
	m := start(t, faultfs.Config{NoExchange: true})
	m.plant("a", "A", "b", "B")
	wantFault(t, "exchange", m.Exchange("a", "b"), errors.ErrUnsupported)
	for _, d := range []*faultfs.Disk{m.disk, m.disk.Clone(), m.disk.Crash(faultfs.Keep(0, 1))} {
		wantFault(t, "exchange", d.Open(faultfs.Options{}).Exchange("a", "b"), errors.ErrUnsupported)
		if got := tell(d); got != "a=A b=B" {
			t.Errorf("left %s", got)
		}
	}
}

// TestNoInodes hides a change of content behind an old time; only inodes show it.
func TestNoInodes(t *testing.T) {
	for _, none := range []bool{false, true} {
		m := start(t, faultfs.Config{NoInodes: none})
		m.plant("a", "one")
		before := identityOf(t, m, "a")
		m.overwrite("a", 0, "two")
		m.must(m.disk.Chtimes("a", before.Modified))
		after := identityOf(t, m, "a")
		if (after == before) != none || (after.Inode == 0) != none || after.Changed.IsZero() != none {
			t.Errorf("no inodes %v: %+v, then %+v", none, before, after)
		}
		f := m.open("a", os.O_RDONLY)
		info, err := f.Stat()
		m.must(err)
		if platform.IdentityOf(info) != after {
			t.Errorf("an open file is %+v", platform.IdentityOf(info))
		}
	}
}

func identityOf(t *testing.T, fsys platform.FS, name string) platform.Identity {
	t.Helper()
	info, err := fsys.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return platform.IdentityOf(info)
}

// TestClock stamps by a clock of the test's own, which may be wrong by years.
func TestClock(t *testing.T) {
	now := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	m := start(t, faultfs.Config{Now: func() time.Time { return now }})
	m.write("a", "x")
	now = time.Date(2070, 1, 1, 0, 0, 0, 0, time.UTC)
	m.write("b", "x")
	if a, b := identityOf(t, m, "a").Modified.Year(), identityOf(t, m, "b").Modified.Year(); a != 1970 || b != 2070 {
		t.Errorf("written in %d and %d", a, b)
	}
	own := start(t, faultfs.Config{})
	own.write("a", "x")
	own.write("b", "x")
	first, then := identityOf(t, own, "a").Modified, identityOf(t, own, "b").Modified
	if !then.After(first) || first.Year() != 2020 {
		t.Errorf("the disk's own clock: %v and %v", first, then)
	}
}

func TestPath(t *testing.T) {
	m := start(t, faultfs.Config{Path: filepath.Join(os.TempDir(), "with spaces")})
	if got, want := m.Path("d/a"), filepath.Join(os.TempDir(), "with spaces", "d", "a"); got != want {
		t.Errorf("got %q", got)
	}
	if got := start(t, faultfs.Config{}).Path("."); !filepath.IsAbs(got) {
		t.Errorf("made up %q", got)
	}
}

// TestPermissions: permissions are those of an ordinary user, even if root runs the test.
func TestPermissions(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/a", "A", "d/b", "B", "c", "C")
	m.must(m.Chmod("d", 0o555), m.Chmod("c", 0o444))
	before := tell(m.disk)
	for what, err := range map[string]error{
		"write":     second(m.OpenFile("c", os.O_WRONLY, 0)),
		"both ways": second(m.OpenFile("c", os.O_RDWR, 0)),
		"empty":     second(m.OpenFile("c", os.O_WRONLY|os.O_TRUNC, 0)),
		"create":    second(m.OpenFile("d/x", os.O_WRONLY|os.O_CREATE, 0o644)),
		"remove":    m.Remove("d/a"),
		"rename in": m.Rename("c", "d/c"), "rename out": m.Rename("d/a", "x"),
		"exchange": m.Exchange("d/a", "c"), "mkdir": m.MkdirAll("d/x", 0o755),
	} {
		wantFault(t, what, err, fs.ErrPermission)
	}
	if got := tell(m.disk); got != before {
		t.Errorf("left %s", got)
	}
	f := m.open("d/a", os.O_WRONLY) // the file itself may be written
	m.must(f.Close(), m.Chmod("d", 0o755), m.Remove("d/a"), m.Remove("c"))
}

// TestNamesOfPaths is the table of names that lead nowhere.
func TestNamesOfPaths(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/a", "A")
	m.must(m.disk.Symlink("loop", "loop"), m.disk.Symlink("/etc", "abs"), m.disk.Symlink("d", "link"))
	for name, want := range map[string]error{
		"no": fs.ErrNotExist, "no/a": fs.ErrNotExist, "d/no": fs.ErrNotExist, "d/a/x": nil, "d/a/": nil, "": nil, "/d": nil, "/d/a": nil,
		"..": nil, "../d": nil, "d/../../d": nil, "abs": nil, "abs/passwd": nil, "loop": nil, "loop/x": nil, "d\x00a": nil,
		strings.Repeat("x", 256): nil,
	} {
		_, err := m.Stat(name)
		if err == nil || want != nil && !errors.Is(err, want) || want == nil && errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	for _, name := range []string{"d/a", "./d/a", "d/../d/a", "d//a", "link/a", "link/../d/a", "d/.", "link/", "."} {
		if _, err := m.Stat(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
