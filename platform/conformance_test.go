package platform_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/platform"
)

// fixture is one implementation of platform.FS under test.
type fixture struct {
	// fresh makes an empty folder; the test closes nothing, so fresh registers what has to be cleaned up.
	fresh func(t *testing.T) platform.FS
	// link plants a symbolic link, or is nil where there are none.
	link func(t *testing.T, fsys platform.FS, target, name string)
}

// conform runs every promise of platform.FS against one implementation. A fake that stands in for the disk runs it too.
func conform(t *testing.T, f fixture) {
	for name, test := range map[string]func(*testing.T, platform.FS){
		"open":              conformOpen,
		"read and write":    conformReadWrite,
		"truncate":          conformTruncate,
		"rename":            conformRename,
		"rename refused":    conformRenameRefused,
		"open over rename":  conformOpenOverRename,
		"exchange":          conformExchange,
		"exchange refused":  conformExchangeRefused,
		"remove":            conformRemove,
		"folders":           conformFolders,
		"stat":              conformStat,
		"mode":              conformMode,
		"sync":              conformSync,
		"lock":              conformLock,
		"leaving by name":   conformLeavingByName,
		"path and free":     conformPathAndFree,
		"names that differ": conformNames,
		"close":             conformClose,
	} {
		t.Run(name, func(t *testing.T) { test(t, f.fresh(t)) })
	}
	if f.link != nil {
		t.Run("links", func(t *testing.T) { f.conformLinks(t) })
	}
}

func put(t *testing.T, fsys platform.FS, name, content string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// get is a file's content, or "-" where there is none.
func get(t *testing.T, fsys platform.FS, name string) string {
	t.Helper()
	data, err := platform.ReadFile(fsys, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// listing is the names in a folder, folders with a slash behind.
func listing(t *testing.T, fsys platform.FS, name string) string {
	t.Helper()
	entries, err := fsys.ReadDir(name)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		} else {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// wantError checks the class of an error and that it says where it happened.
func wantError(t *testing.T, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: got %v, want %v", what, err, class)
	}
	var path *fs.PathError
	var link *os.LinkError
	if err != nil && !errors.As(err, &path) && !errors.As(err, &link) {
		t.Errorf("%s: %T names no file", what, err)
	}
}

func conformOpen(t *testing.T, fsys platform.FS) {
	_, err := fsys.OpenFile("a", os.O_RDONLY, 0)
	wantError(t, "open what is missing", err, fs.ErrNotExist)
	_, err = fsys.OpenFile("no/a", os.O_WRONLY|os.O_CREATE, 0o644)
	wantError(t, "create in a missing folder", err, fs.ErrNotExist)
	put(t, fsys, "a", "one")
	_, err = fsys.OpenFile("a", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	wantError(t, "create what is there", err, fs.ErrExist)
	if got := get(t, fsys, "a"); got != "one" {
		t.Errorf("a refused create left %q", got)
	}
	f, err := fsys.OpenFile("a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "one" {
		t.Errorf("opening without O_TRUNC gave %q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err == nil {
		t.Error("closed twice without a word")
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("wrote to a closed file")
	}
}

func conformReadWrite(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "0123456789")
	f, err := fsys.OpenFile("a", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	four := make([]byte, 4)
	if n, err := f.ReadAt(four, 3); n != 4 || err != nil || string(four) != "3456" {
		t.Errorf("ReadAt: %d %v %q", n, err, four)
	}
	if n, err := f.ReadAt(four, 8); n != 2 || err != io.EOF {
		t.Errorf("ReadAt over the end: %d %v", n, err)
	}
	if n, err := io.ReadFull(f, four); n != 4 || err != nil || string(four) != "0123" {
		t.Errorf("ReadAt moved the place: %d %v %q", n, err, four)
	}
	if at, err := f.Seek(-1, io.SeekEnd); at != 9 || err != nil {
		t.Errorf("Seek: %d %v", at, err)
	}
	if n, err := f.Write([]byte("xyz")); n != 3 || err != nil {
		t.Errorf("Write: %d %v", n, err)
	}
	if got := get(t, fsys, "a"); got != "012345678xyz" {
		t.Errorf("content %q", got)
	}
	if n, err := f.Read(four); n != 0 || err != io.EOF {
		t.Errorf("Read at the end: %d %v", n, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 12 || !info.Mode().IsRegular() {
		t.Errorf("Stat: %v %v", info, err)
	}
}

func conformTruncate(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "0123456789")
	f, err := fsys.OpenFile("a", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []struct {
		size int64
		want string
	}{{4, "0123"}, {6, "0123\x00\x00"}, {0, ""}} {
		if err := f.Truncate(step.size); err != nil {
			t.Fatal(err)
		}
		if got := get(t, fsys, "a"); got != step.want {
			t.Errorf("truncated to %d: %q", step.size, got)
		}
	}
}

func conformRename(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "one")
	put(t, fsys, "b", "two")
	if err := fsys.Rename("a", "b"); err != nil {
		t.Fatal(err)
	}
	if got := get(t, fsys, "a") + get(t, fsys, "b"); got != "-one" {
		t.Errorf("renamed over a file: %s", got)
	}
	if err := fsys.MkdirAll("d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename("b", "d/e/c"); err != nil {
		t.Fatal(err)
	}
	if got := listing(t, fsys, ".") + "|" + get(t, fsys, "d/e/c"); got != "d/|one" {
		t.Errorf("renamed into a folder: %s", got)
	}
	if err := fsys.Rename("d/e", "f"); err != nil {
		t.Fatal(err)
	}
	if got := get(t, fsys, "f/c"); got != "one" {
		t.Errorf("a renamed folder holds %q", got)
	}
}

func conformRenameRefused(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "one")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, fsys, "d/x", "two")
	wantError(t, "rename what is missing", fsys.Rename("no", "a"), fs.ErrNotExist)
	wantError(t, "rename into a missing folder", fsys.Rename("a", "no/a"), fs.ErrNotExist)
	if err := fsys.Rename("a", "d"); err == nil {
		t.Error("renamed a file over a folder")
	}
	if err := fsys.Rename("d", "a"); err == nil {
		t.Error("renamed a folder over a file")
	}
	if got := listing(t, fsys, ".") + "|" + get(t, fsys, "a") + get(t, fsys, "d/x"); got != "a d/|onetwo" {
		t.Errorf("refused renames left %s", got)
	}
}

// conformOpenOverRename holds a file open while its name goes to another one: the reader keeps what it opened.
func conformOpenOverRename(t *testing.T, fsys platform.FS) {
	if runtime.GOOS == "windows" {
		t.Skip("depends on how others opened the file")
	}
	put(t, fsys, "a", "old")
	put(t, fsys, "b", "new")
	f, err := fsys.OpenFile("a", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fsys.Rename("b", "a"); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "old" {
		t.Errorf("the reader sees %q, %v", data, err)
	}
	if got := get(t, fsys, "a"); got != "new" {
		t.Errorf("the name holds %q", got)
	}
}

func conformExchange(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, fsys, "a", "one")
	put(t, fsys, "b", "two")
	put(t, fsys, "d/c", "three")
	want := "onetwothree"
	for _, other := range []string{"b", "d/c"} {
		err := fsys.Exchange("a", other)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
		if err == nil {
			want = map[string]string{"b": "twoonethree", "d/c": "threeonetwo"}[other]
		}
		if got := get(t, fsys, "a") + get(t, fsys, "b") + get(t, fsys, "d/c"); got != want {
			t.Errorf("exchange with %s (%v) left %s, want %s", other, err, got, want)
		}
	}
}

func conformExchangeRefused(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "one")
	for _, other := range []string{"no", "no/b", "..", "../b", ".", "x/.."} {
		if err := fsys.Exchange("a", other); err == nil {
			t.Errorf("exchanged a with %q", other)
		}
		if err := fsys.Exchange(other, "a"); err == nil {
			t.Errorf("exchanged %q with a", other)
		}
	}
	if err := fsys.Exchange("a", "no"); !errors.Is(err, errors.ErrUnsupported) {
		wantError(t, "exchange with what is missing", err, fs.ErrNotExist)
	}
	if got := listing(t, fsys, ".") + get(t, fsys, "a"); got != "aone" {
		t.Errorf("refused exchanges left %s", got)
	}
}

func conformRemove(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, fsys, "d/a", "one")
	wantError(t, "remove what is missing", fsys.Remove("no"), fs.ErrNotExist)
	if err := fsys.Remove("d"); err == nil {
		t.Error("removed a folder with a file in it")
	}
	if got := get(t, fsys, "d/a"); got != "one" {
		t.Errorf("a refused removal left %q", got)
	}
	if err := errors.Join(fsys.Remove("d/a"), fsys.Remove("d")); err != nil {
		t.Error(err)
	}
	if got := listing(t, fsys, "."); got != "" {
		t.Errorf("left: %s", got)
	}
}

func conformFolders(t *testing.T, fsys platform.FS) {
	for range 2 {
		if err := fsys.MkdirAll("d/e/f", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, fsys, "d/b", "")
	put(t, fsys, "d/a", "")
	put(t, fsys, "d/C", "")
	if got := listing(t, fsys, "d"); got != "C a b e/" {
		t.Errorf("not sorted by name: %s", got)
	}
	if err := fsys.MkdirAll("d/a/x", 0o755); err == nil {
		t.Error("made a folder below a file")
	}
	if err := fsys.MkdirAll("d/a", 0o755); err == nil {
		t.Error("made a folder where a file is")
	}
	_, err := fsys.ReadDir("no")
	wantError(t, "list what is missing", err, fs.ErrNotExist)
	if _, err := fsys.ReadDir("d/a"); err == nil {
		t.Error("listed a file")
	}
	if err := fsys.MkdirAll(".", 0o755); err != nil {
		t.Error(err)
	}
}

func conformStat(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "four")
	for what, stat := range map[string]func(string) (fs.FileInfo, error){"Stat": fsys.Stat, "Lstat": fsys.Lstat} {
		info, err := stat("a")
		if err != nil || info.Name() != "a" || info.Size() != 4 || !info.Mode().IsRegular() || info.ModTime().IsZero() {
			t.Errorf("%s: %v %v", what, info, err)
		}
		if info, err := stat("."); err != nil || !info.IsDir() {
			t.Errorf("%s of the folder: %v %v", what, info, err)
		}
		_, err = stat("no")
		wantError(t, what, err, fs.ErrNotExist)
	}
	before, _ := fsys.Stat("a")
	if platform.IdentityOf(before) != platform.IdentityOf(before) || platform.IdentityOf(before).Size != 4 {
		t.Errorf("identity: %+v", platform.IdentityOf(before))
	}
}

func conformMode(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "x")
	for _, mode := range []fs.FileMode{0o444, 0o644} {
		if err := fsys.Chmod("a", mode); err != nil {
			t.Fatal(err)
		}
		if info, err := fsys.Stat("a"); err != nil || info.Mode().Perm()&0o200 != mode&0o200 {
			t.Errorf("mode %v: %v %v", mode, info.Mode(), err)
		}
	}
	wantError(t, "chmod of what is missing", fsys.Chmod("no", 0o644), fs.ErrNotExist)
}

func conformSync(t *testing.T, fsys platform.FS) {
	f, err := fsys.OpenFile("a", os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), fsys.SyncDir("."), f.Close()); err != nil {
		t.Error(err)
	}
	wantError(t, "sync of a missing folder", fsys.SyncDir("no"), fs.ErrNotExist)
}

func conformLock(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	first, err := fsys.Lock("d/lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lock("d/lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("taken twice: %v", err)
	}
	other, err := fsys.Lock("d/other")
	if err != nil {
		t.Fatalf("another lock: %v", err)
	}
	if err := errors.Join(first.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	if got := listing(t, fsys, "d"); got != "lock other" {
		t.Errorf("released locks left %s", got)
	}
	again, err := fsys.Lock("d/lock")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	_, err = fsys.Lock("no/lock")
	wantError(t, "lock in a missing folder", err, fs.ErrNotExist)
}

// conformLeavingByName tries every method with names that lead out.
func conformLeavingByName(t *testing.T, fsys platform.FS) {
	put(t, fsys, "a", "inside")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.ToSlash(fsys.Path("../outside"))
	for _, name := range []string{"..", "../outside", "d/../../outside", outside, ""} {
		open := func(flag int) error { _, err := fsys.OpenFile(name, flag, 0o644); return err }
		for what, err := range map[string]error{
			"read":        open(os.O_RDONLY),
			"create":      open(os.O_WRONLY | os.O_CREATE),
			"rename from": fsys.Rename(name, "b"),
			"rename to":   fsys.Rename("a", name),
			"exchange":    fsys.Exchange("a", name),
			"remove":      fsys.Remove(name),
			"list":        second(fsys.ReadDir(name)),
			"stat":        second(fsys.Stat(name)),
			"lstat":       second(fsys.Lstat(name)),
			"chmod":       fsys.Chmod(name, 0o600),
			"sync":        fsys.SyncDir(name),
			"lock":        second(fsys.Lock(name)),
		} {
			if err == nil {
				t.Errorf("%s of %q was let through", what, name)
			}
		}
		if err := fsys.MkdirAll(name, 0o755); err == nil && name != "" && name != ".." {
			t.Errorf("made the folder %q", name)
		}
	}
	if got := get(t, fsys, "a"); got != "inside" {
		t.Errorf("a holds %q", got)
	}
	if _, err := os.Lstat(fsys.Path("../outside")); err == nil {
		t.Error("something was made outside")
	}
}

func second[T any](_ T, err error) error { return err }

func conformPathAndFree(t *testing.T, fsys platform.FS) {
	root := fsys.Path(".")
	if !filepath.IsAbs(root) {
		t.Errorf("the folder is %q", root)
	}
	if got, want := fsys.Path("d/a"), filepath.Join(root, "d", "a"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	free, err := fsys.Free()
	if err != nil || free == 0 || free > 1<<60 {
		t.Errorf("free: %d bytes, %v", free, err)
	}
}

// conformNames uses names that a player's folder has, and the longest a file system takes.
func conformNames(t *testing.T, fsys platform.FS) {
	for i, name := range []string{"a b", "Ünïcödé-日本語", "-staging", "~part", ".hidden", "a.b.c", strings.Repeat("x", 240)} {
		content := strings.Repeat("*", i+1)
		put(t, fsys, name, content)
		if err := fsys.Rename(name, name+".bak"); err != nil {
			t.Fatal(err)
		}
		if got := get(t, fsys, name+".bak"); got != content {
			t.Errorf("%q holds %q", name, got)
		}
	}
}

func conformClose(t *testing.T, fsys platform.FS) {
	f, err := fsys.OpenFile("a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat("a"); err == nil {
		t.Error("a closed folder answers")
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Errorf("an open file went with its folder: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// conformLinks plants links: those that stay inside are followed by Stat and OpenFile, those that lead out by nothing.
func (f fixture) conformLinks(t *testing.T) {
	fsys, outside := f.fresh(t), f.fresh(t)
	put(t, outside, "secret", "secret")
	put(t, fsys, "a", "four")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	f.link(t, fsys, "a", "inside")
	f.link(t, fsys, outside.Path("."), "out")
	f.link(t, fsys, outside.Path("secret"), "outfile")
	f.link(t, fsys, outside.Path("made"), "outnew")
	f.link(t, fsys, "../../"+filepath.Base(filepath.Dir(outside.Path("."))), "d/up")
	if info, err := fsys.Stat("inside"); err != nil || info.Size() != 4 || !info.Mode().IsRegular() {
		t.Errorf("Stat does not follow: %v %v", info, err)
	}
	if info, err := fsys.Lstat("inside"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat follows: %v %v", info, err)
	}
	if got := get(t, fsys, "inside"); got != "four" {
		t.Errorf("read through the link: %q", got)
	}
	open := func(name string, flag int) error { _, err := fsys.OpenFile(name, flag, 0o644); return err }
	for what, err := range map[string]error{
		"read of a file":      open("outfile", os.O_RDONLY),
		"write to a file":     open("outfile", os.O_WRONLY|os.O_TRUNC),
		"create":              open("outnew", os.O_WRONLY|os.O_CREATE),
		"read in a folder":    open("out/secret", os.O_RDONLY),
		"create in a folder":  open("out/made", os.O_WRONLY|os.O_CREATE),
		"read by going up":    open("d/up/secret", os.O_RDONLY),
		"stat":                second(fsys.Stat("outfile")),
		"list":                second(fsys.ReadDir("out")),
		"rename out":          fsys.Rename("a", "out/made"),
		"rename in":           fsys.Rename("out/secret", "b"),
		"exchange":            fsys.Exchange("a", "out/secret"),
		"remove in a folder":  fsys.Remove("out/secret"),
		"chmod":               fsys.Chmod("outfile", 0o600),
		"folder in a folder":  fsys.MkdirAll("out/made", 0o755),
		"sync":                fsys.SyncDir("out"),
		"lock of a file":      second(fsys.Lock("outnew")),
		"lock in a folder":    second(fsys.Lock("out/lock")),
		"lock of a real file": second(fsys.Lock("outfile")),
	} {
		if err == nil {
			t.Errorf("%s leads out", what)
		}
	}
	if got := listing(t, outside, ".") + "|" + get(t, outside, "secret"); got != "secret|secret" {
		t.Errorf("outside: %s", got)
	}
	if err := fsys.Remove("out"); err != nil {
		t.Errorf("a link itself can be removed: %v", err)
	}
}

// disk is the real thing.
func disk() fixture {
	return fixture{
		fresh: func(t *testing.T) platform.FS {
			t.Helper()
			d, err := platform.OpenDir(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			return d
		},
		link: func(t *testing.T, fsys platform.FS, target, name string) {
			t.Helper()
			if err := os.Symlink(target, fsys.Path(name)); err != nil {
				t.Skipf("no symbolic links: %v", err)
			}
		},
	}
}

func TestDirConforms(t *testing.T) { conform(t, disk()) }

func TestOpenDirWantsAFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := platform.OpenDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := platform.OpenDir(name); err == nil {
		t.Error("opened a file")
	}
}

// TestOpenDirIsNotMovedByChdir checks that a relative name is resolved once.
func TestOpenDirIsNotMovedByChdir(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	d, err := platform.OpenDir("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Chdir(t.TempDir())
	put(t, d, "a", "x")
	lock, err := d.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if data, err := os.ReadFile(filepath.Join(dir, "d", "a")); err != nil || !bytes.Equal(data, []byte("x")) {
		t.Errorf("%q, %v", data, err)
	}
	if got := listing(t, d, "."); !slices.Equal(strings.Fields(got), []string{"a", "lock"}) {
		t.Errorf("holds %s", got)
	}
}
