package faultfs_test

import (
	"errors"
	"os"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// TestLocksBetweenProcesses is the table of locks that may be held at once.
func TestLocksBetweenProcesses(t *testing.T) {
	take := map[string]func(*faultfs.FS) error{
		"exclusive": func(f *faultfs.FS) error { return second(f.Lock("lock")) },
		"shared":    func(f *faultfs.FS) error { return second(f.LockShared("lock")) },
	}
	for _, c := range []struct {
		first, then string
		refused     bool
	}{
		{"exclusive", "exclusive", true}, {"exclusive", "shared", true}, {"shared", "exclusive", true}, {"shared", "shared", false},
	} {
		disk := faultfs.New(faultfs.Config{})
		first, then := disk.Open(faultfs.Options{}), disk.Open(faultfs.Options{})
		if err := take[c.first](first); err != nil {
			t.Fatal(err)
		}
		if err := take[c.then](then); errors.Is(err, platform.ErrLocked) != c.refused {
			t.Errorf("%s beside %s: %v", c.then, c.first, err)
		}
		first.Kill()
		then.Kill()
		if err := take["exclusive"](disk.Open(faultfs.Options{})); err != nil {
			t.Errorf("locks outlive their processes: %v", err)
		}
	}
}

// TestLastReader: the lock is free when the last of many is gone, whichever way.
func TestLastReader(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	one, two, waiting := disk.Open(faultfs.Options{}), disk.Open(faultfs.Options{}), disk.Open(faultfs.Options{})
	first, err := one.LockShared("readers")
	if err != nil {
		t.Fatal(err)
	}
	if err := second(two.LockShared("readers")); err != nil {
		t.Fatal(err)
	}
	wantLocked := func(when string) {
		t.Helper()
		if err := second(waiting.Lock("readers")); !errors.Is(err, platform.ErrLocked) {
			t.Errorf("%s: %v", when, err)
		}
	}
	wantLocked("two readers")
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	wantLocked("one reader")
	two.StopBefore(1)
	if err := two.Remove("x"); !errors.Is(err, faultfs.ErrStopped) {
		t.Fatal(err)
	}
	if err := second(waiting.Lock("readers")); err != nil {
		t.Errorf("no reader: %v", err)
	}
}

// TestLocksAreOfTheFile, not of its name, and of no copy of the disk.
func TestLocksAreOfTheFile(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.must(second(m.Lock("lock")), m.Rename("lock", "moved"))
	if err := second(m.Lock("lock")); err != nil {
		t.Errorf("another file of that name: %v", err)
	}
	if err := second(m.Lock("moved")); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("the file under another name: %v", err)
	}
	for what, disk := range map[string]*faultfs.Disk{"clone": m.disk.Clone(), "cut": m.disk.Crash(faultfs.Keep(100, 1))} {
		if err := second(disk.Open(faultfs.Options{}).Lock("moved")); err != nil {
			t.Errorf("the %s knows the lock: %v", what, err)
		}
	}
}

// TestLockWantsPermission only where it makes its file.
func TestLockWantsPermission(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("d/lock", "")
	m.must(m.Chmod("d", 0o555), m.Chmod("d/lock", 0o444))
	for what, take := range map[string]func(string) error{
		"lock":  func(name string) error { return closed(m.Lock(name)) },
		"share": func(name string) error { return closed(m.LockShared(name)) },
	} {
		if err := take("d/lock"); err != nil {
			t.Errorf("%s of what is there: %v", what, err)
		}
		wantFault(t, what+" of what is missing", take("d/other"), os.ErrPermission)
	}
	if n := m.Count(); n != 4 { // two changes of mode, and two that would have made a file
		t.Errorf("counted %d: %v", n, m.Ops())
	}
}

// TestLockFaults fails locks by rules.
func TestLockFaults(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.Inject(faultfs.Rule{Verb: faultfs.LockShared, Err: faultfs.EACCES}, faultfs.Rule{Verb: faultfs.Lock, Err: faultfs.EROFS})
	wantFault(t, "share", second(m.LockShared("a")), faultfs.EACCES)
	wantFault(t, "lock", second(m.Lock("a")), faultfs.EROFS)
	if got := tell(m.disk); got != "" {
		t.Errorf("left %s", got)
	}
	m.Heal()
	m.Inject(faultfs.Rule{Err: platform.ErrLocked, Times: 1})
	if err := second(m.Lock("a")); err != platform.ErrLocked {
		t.Errorf("callers compare with ErrLocked, and got %v", err)
	}
}
