package platform_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"collet/platform"
	"collet/platform/testlevel"
)

// lockFolder names the folder in which a child process takes the lock, and lockShared says whether it shares it; they are
// set for the child only.
const (
	lockFolder = "COLLET_TEST_LOCK_FOLDER"
	lockShared = "COLLET_TEST_LOCK_SHARED"
)

// TestLockHolder is the child of TestLockOfAnotherProcess: it takes the lock, says so and waits for the end of its input.
func TestLockHolder(t *testing.T) {
	folder := os.Getenv(lockFolder)
	if folder == "" {
		t.Skip("runs as a child process")
	}
	d, err := platform.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	take := d.Lock
	if os.Getenv(lockShared) != "" {
		take = d.LockShared
	}
	if _, err := take("lock"); err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
}

// holdLock starts a process that holds the lock.
func holdLock(t *testing.T, folder string, env ...string) (child *exec.Cmd, input io.Closer) {
	t.Helper()
	testlevel.Slow(t)
	child = exec.Command(self(t), "-test.run=^TestLockHolder$", "-test.v")
	child.Env = append(append(os.Environ(), lockFolder+"="+folder), env...)
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "held" {
			return child, input
		}
	}
	t.Fatal("the child did not take the lock")
	return nil, nil
}

func TestLockOfAnotherProcess(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"killed":  func(c *exec.Cmd, _ io.Closer) error { return c.Process.Kill() },
		"in time": func(_ *exec.Cmd, input io.Closer) error { return input.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			fsys := disk().fresh(t)
			child, input := holdLock(t, fsys.Path("."))
			if _, err := fsys.Lock("lock"); !errors.Is(err, platform.ErrLocked) {
				t.Errorf("beside another process: %v", err)
			}
			if err := end(child, input); err != nil {
				t.Fatal(err)
			}
			child.Wait()
			lock, err := fsys.Lock("lock")
			if err != nil {
				t.Fatalf("after the other process: %v", err)
			}
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLockSharedWithAnotherProcess waits for the last reader, of which one is another process that is killed.
func TestLockSharedWithAnotherProcess(t *testing.T) {
	fsys := disk().fresh(t)
	child, _ := holdLock(t, fsys.Path("."), lockShared+"=1")
	mine, err := fsys.LockShared("lock")
	if err != nil {
		t.Fatalf("beside another reader: %v", err)
	}
	if _, err := fsys.Lock("lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("beside two readers: %v", err)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Lock("lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("beside the other reader: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	lock, err := fsys.Lock("lock")
	if err != nil {
		t.Fatalf("after the last reader: %v", err)
	}
	defer lock.Close()
	if _, err := fsys.LockShared("lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("a reader beside a writer: %v", err)
	}
}

// TestLockIsForThoseWhoMayWrite: a user that can open the file can block the lock, so users that may only read the folder can't open it.
func TestLockIsForThoseWhoMayWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such bits")
	}
	for _, test := range []struct{ folder, before, after fs.FileMode }{
		{0o755, 0, 0o600}, {0o700, 0, 0o600}, {0o775, 0, 0o660}, {0o777, 0, 0o666},
		{0o755, 0o644, 0o600}, {0o775, 0o666, 0o660}, {0o755, 0o444, 0o400},
	} {
		fsys := disk().fresh(t)
		if test.before != 0 {
			put(t, fsys, "lock", "")
			must(t, fsys.Chmod("lock", test.before))
		}
		must(t, os.Chmod(fsys.Path("."), test.folder))
		lock, err := fsys.Lock("lock")
		must(t, err)
		if info, err := fsys.Stat("lock"); err != nil || info.Mode().Perm() != test.after {
			t.Errorf("folder %v, before %v: mode %v, %v; want %v", test.folder, test.before, info.Mode(), err, test.after)
		}
		must(t, lock.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
