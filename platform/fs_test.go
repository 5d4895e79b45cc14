package platform_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/testwait"
)

var errInjected = errors.New("injected")

// failing lets a number of changes through and fails every one after them, like a disk that goes away. A write that
// fails has written half.
type failing struct {
	platform.FS
	left int
	done []string
}

func (f *failing) may(change string) error {
	if f.left--; f.left < 0 {
		return errInjected
	}
	f.done = append(f.done, change)
	return nil
}

func (f *failing) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := f.may("create"); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	return &failingFile{file, f}, err
}

func (f *failing) Rename(from, to string) error {
	if err := f.may("rename"); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *failing) Remove(name string) error {
	if err := f.may("remove"); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *failing) SyncDir(name string) error {
	if err := f.may("sync folder"); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

type failingFile struct {
	platform.File
	fs *failing
}

func (f *failingFile) Write(data []byte) (int, error) {
	if err := f.fs.may("write"); err != nil {
		n, _ := f.File.Write(data[:len(data)/2])
		return n, err
	}
	return f.File.Write(data)
}

func (f *failingFile) Sync() error {
	if err := f.fs.may("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *failingFile) Close() error {
	return errors.Join(f.fs.may("close"), f.File.Close())
}

// TestWriteFileIsAtomic lets the disk go away before every change in turn.
func TestWriteFileIsAtomic(t *testing.T) {
	real := disk().fresh(t)
	if err := real.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	const older, newer = "the old content", "what is to stand there"
	for at := 0; ; at++ {
		put(t, real, "d/a", older)
		f := &failing{FS: real, left: at}
		err := platform.WriteFile(f, "d/a", []byte(newer))
		got := get(t, real, "d/a")
		if err == nil {
			want := "create write sync close rename sync folder"
			if done := strings.Join(f.done, " "); got != newer || done != want || at != 6 {
				t.Errorf("%d changes, %q, wrote %q", at, done, got)
			}
			break
		}
		want := older
		if at == 5 {
			want = newer // the name is new, and only its durability is unknown
		}
		if !errors.Is(err, errInjected) || got != want {
			t.Errorf("failing from change %d: %q, %v", at, got, err)
		}
		if err := platform.WriteFile(real, "d/a", []byte(newer)); err != nil || get(t, real, "d/a") != newer {
			t.Errorf("once more after %d: %q, %v", at, get(t, real, "d/a"), err)
		}
	}
	if got := listing(t, real, "d"); got != "a" {
		t.Errorf("left behind: %s", got)
	}
}

// TestWriteFileClearsUp lets only the rename fail: the temporary file is removed.
func TestWriteFileClearsUp(t *testing.T) {
	fsys := disk().fresh(t)
	if err := fsys.MkdirAll("a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := platform.WriteFile(fsys, "a", []byte("x")); err == nil {
		t.Error("a file took the place of a folder")
	}
	if got := listing(t, fsys, "."); got != "a/" {
		t.Errorf("left behind: %s", got)
	}
}

func TestReadFileIsBounded(t *testing.T) {
	fsys := disk().fresh(t)
	put(t, fsys, "a", "12345")
	for limit, want := range map[int64]string{0: "", 4: "1234", 5: "12345", 6: "12345"} {
		data, err := platform.ReadFile(fsys, "a", limit)
		if string(data) != want || errors.Is(err, platform.ErrTooLong) != (limit < 5) {
			t.Errorf("limit %d: %q, %v", limit, data, err)
		}
		if err != nil {
			wantError(t, "too long", err, platform.ErrTooLong)
		}
	}
	_, err := platform.ReadFile(fsys, "no", 10)
	wantError(t, "read of what is missing", err, fs.ErrNotExist)
}

// rewrite overwrites a file in place by content of the same size and gives it its old time back.
func rewrite(t *testing.T, name, content string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func identity(t *testing.T, fsys platform.FS, name string) platform.Identity {
	t.Helper()
	info, err := fsys.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return platform.IdentityOf(info)
}

func TestIdentityShowsAHiddenChange(t *testing.T) {
	fsys := disk().fresh(t)
	put(t, fsys, "a", "one")
	before := identity(t, fsys, "a")
	if before.Inode == 0 {
		t.Skip("this system tells no inode")
	}
	testwait.Until(t, func() bool { // the system's clock takes a step
		put(t, fsys, "clock", "")
		return identity(t, fsys, "clock").Modified.After(before.Modified)
	}, "the clock of the system takes a step")
	rewrite(t, fsys.Path("a"), "two")
	after := identity(t, fsys, "a")
	if after.Size != before.Size || !after.Modified.Equal(before.Modified) {
		t.Fatalf("the change shows plainly: %+v, %+v", before, after)
	}
	if after == before {
		t.Errorf("not noticed: %+v", after)
	}
}

func TestIdentityShowsAReplacement(t *testing.T) {
	fsys := disk().fresh(t)
	put(t, fsys, "a", "one")
	put(t, fsys, "b", "two")
	before := identity(t, fsys, "a")
	if before.Inode == 0 {
		t.Skip("this system tells no inode")
	}
	if err := os.Chtimes(fsys.Path("b"), before.Modified, before.Modified); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename("b", "a"); err != nil {
		t.Fatal(err)
	}
	if after := identity(t, fsys, "a"); after == before || after.Inode == before.Inode {
		t.Errorf("not noticed: %+v", after)
	}
}

// TestFreeIsThatOfTheVolume asks df(1), too. Others use the volume meanwhile, so a gigabyte is let through.
func TestFreeIsThatOfTheVolume(t *testing.T) {
	fsys := disk().fresh(t)
	out, err := exec.Command("df", "-Pk", fsys.Path(".")).Output()
	if err != nil {
		t.Skipf("no df: %v", err)
	}
	_, line, _ := strings.Cut(string(out), "\n")
	fields := strings.Fields(line)
	if len(fields) < 4 {
		t.Fatalf("df printed %q", out)
	}
	want := int64(number(fields[3])) << 10
	if free, err := fsys.Free(); err != nil || int64(free)-want > 1<<30 || want-int64(free) > 1<<30 {
		t.Errorf("%d bytes are free, %v; df says %d", free, err, want)
	}
}

// TestAFileSystemWithoutBlocksIsNotFull: ramfs and some FUSE file systems report 0 of 0 blocks, and so does proc.
func TestAFileSystemWithoutBlocksIsNotFull(t *testing.T) {
	fsys, err := platform.OpenDir("/proc")
	if err != nil {
		t.Skip(err)
	}
	defer fsys.Close()
	if free, err := fsys.Free(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("free %d, %v; want unsupported", free, err)
	}
}

// TestRealErrorsAreSorted makes errors with the system rather than by hand.
func TestRealErrorsAreSorted(t *testing.T) {
	fsys := disk().fresh(t)
	put(t, fsys, "a", "")
	_, missing := fsys.Stat("no")
	for name, is := range map[string]func(error) bool{
		"disk full": platform.IsDiskFull, "locked": platform.IsLocked, "read-only": platform.IsReadOnly,
	} {
		if is(nil) || is(missing) || is(fs.ErrPermission) || is(platform.ErrLocked) {
			t.Errorf("%s takes everything", name)
		}
	}
	if runtime.GOOS == "linux" {
		exe, err := os.ReadFile(self(t))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "running")
		if err := os.WriteFile(name, exe, 0o755); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(name, "-test.run=^TestLockHolder$")
		child.Env = append(os.Environ(), lockFolder+"="+fsys.Path("."))
		input, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		defer child.Wait()
		defer input.Close()
		if f, err := os.OpenFile(name, os.O_WRONLY, 0); !platform.IsLocked(err) {
			t.Errorf("writing to a running program: %v, %v", f, err)
		}
		if _, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
			if err := os.WriteFile("/dev/full", []byte("x"), 0); !platform.IsDiskFull(err) {
				t.Errorf("writing to a full device: %v", err)
			}
		}
	}
}
