package launcher_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/netproto/launcher"
	"collet/platform"
	"collet/platform/faultfs"
)

// plant writes files below a folder. A value that begins with "->" is a symbolic link.
func plant(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// later is a clock by which everything on the disk is old enough for its hashes to be cached.
func later() time.Time { return time.Now().Add(time.Minute) }

// tick waits until the clock of the file system shows that what is written from now on came later than a file.
func tick(t testing.TB, name string) {
	t.Helper()
	then, err := os.Stat(name)
	probe := filepath.Join(t.TempDir(), "probe")
	for err == nil {
		var now os.FileInfo
		if err = os.WriteFile(probe, nil, 0o644); err == nil {
			now, err = os.Stat(probe)
		}
		if err == nil && now.ModTime().After(then.ModTime()) {
			return
		}
	}
	t.Fatal(err)
}

// open opens a folder until the end of the test.
func open(t testing.TB, root string) *platform.Dir {
	t.Helper()
	dir, err := platform.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// watched is a folder that notes what is opened, and can fail.
type watched struct {
	platform.FS
	mu     sync.Mutex
	opened []string
	fail   func(name string) error
}

func (w *watched) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	w.mu.Lock()
	w.opened = append(w.opened, name)
	w.mu.Unlock()
	if w.fail != nil {
		if err := w.fail(name); err != nil {
			return nil, err
		}
	}
	return w.FS.OpenFile(name, flag, perm)
}

// take returns what was opened since the last call, sorted.
func (w *watched) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.opened
	w.opened = nil
	slices.Sort(names)
	return names
}

func scan(t testing.TB, tree *launcher.Tree) *launcher.Layout {
	t.Helper()
	layout, problems, err := tree.Scan(context.Background())
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return layout
}

// listing is what a layout of files with such contents has to be.
func listing(files map[string]string) []launcher.File {
	list := []launcher.File{}
	for path, content := range files {
		list = append(list, launcher.File{Path: path, Size: uint64(len(content)), Hash: sha256.Sum256([]byte(content))})
	}
	slices.SortFunc(list, func(a, b launcher.File) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func expect(t testing.TB, layout *launcher.Layout, files map[string]string) {
	t.Helper()
	if got, want := layout.Files(), listing(files); !slices.Equal(got, want) {
		t.Errorf("layout\n got %v\nwant %v", got, want)
	}
}

var sample = map[string]string{
	"a.txt": "hello\n", "empty.dat": "", "sub/part.bin": strings.Repeat("0123456789", 150), "sub/deep/er/x": "x", ".hidden": "h",
	"big.bin": strings.Repeat("block", 200_000),
}

func TestScan(t *testing.T) {
	root := t.TempDir()
	plant(t, root, sample)
	plant(t, root, map[string]string{launcher.StateFolder + "/parts/1": "under way", launcher.StateFolder + "/cache": "?"})
	tree := launcher.NewTree(open(t, root), launcher.TreeOptions{})
	layout := scan(t, tree)
	expect(t, layout, sample)
	if done, total := tree.Progress(); done != total || total != layout.Bytes() || total != 1_001_508 {
		t.Errorf("progress is %d of %d, layout has %d bytes", done, total, layout.Bytes())
	}
}

func TestScanOfNothing(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"gone/x": "x"})
	if err := os.RemoveAll(filepath.Join(root, "gone", "x")); err != nil {
		t.Fatal(err)
	}
	expect(t, scan(t, launcher.NewTree(open(t, root), launcher.TreeOptions{})), nil)
	dir := open(t, root)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if layout, _, err := launcher.NewTree(dir, launcher.TreeOptions{}).Scan(t.Context()); err == nil && len(layout.Files()) > 0 {
		t.Error("a removed folder has files")
	}
}

// TestCacheIsUsedAndInvalidated: only what changed is read again, also when size and time of modification are as before.
func TestCacheIsUsedAndInvalidated(t *testing.T) {
	root := t.TempDir()
	plant(t, root, sample)
	dir := &watched{FS: open(t, root)}
	tree := launcher.NewTree(dir, launcher.TreeOptions{Now: later})
	scan(t, tree)
	if got := dir.take(); len(got) != len(sample) {
		t.Fatalf("the first scan opened %q", got)
	}
	expect(t, scan(t, tree), sample)
	if got := dir.take(); len(got) != 0 {
		t.Fatalf("the second scan opened %q", got)
	}
	info, err := os.Stat(filepath.Join(root, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tick(t, filepath.Join(root, "a.txt"))
	plant(t, root, map[string]string{"a.txt": "jello\n"})
	if err := os.Chtimes(filepath.Join(root, "a.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if f, _ := scan(t, tree).Find("a.txt"); f.Hash != sha256.Sum256([]byte("jello\n")) && platform.IdentityOf(info).Inode != 0 {
		t.Error("a change behind the old time was not seen")
	}
	if got := dir.take(); !slices.Equal(got, []string{"a.txt"}) && platform.IdentityOf(info).Inode != 0 {
		t.Errorf("the third scan opened %q", got)
	}
}

// TestYoungFilesAreReadAgain: a change within the same tick of the clock could not be told.
func TestYoungFilesAreReadAgain(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	disk := faultfs.New(faultfs.Config{Now: clock})
	for _, name := range []string{"old", "new"} {
		now = now.Add(time.Second)
		if err := disk.Plant(name, name); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Millisecond)
	dir := &watched{FS: disk.Open(faultfs.Options{})}
	tree := launcher.NewTree(dir, launcher.TreeOptions{Now: clock})
	scan(t, tree)
	dir.take()
	scan(t, tree)
	if got := dir.take(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("the second scan opened %q", got)
	}
	now = now.Add(time.Minute)
	scan(t, tree)
	scan(t, tree)
	if got := dir.take(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("two scans a minute later opened %q", got)
	}
}

func TestRecord(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"a": "1"})
	dir := &watched{FS: open(t, root)}
	tree := launcher.NewTree(dir, launcher.TreeOptions{})
	if err := tree.Record("a", launcher.HashOf([]byte("1"))); err != nil {
		t.Fatal(err)
	}
	if f, known := tree.Known("a"); !known || f != listing(map[string]string{"a": "1"})[0] {
		t.Errorf("known as %v, %v", f, known)
	}
	expect(t, scan(t, tree), map[string]string{"a": "1"})
	if got := dir.take(); len(got) != 0 {
		t.Errorf("opened %q", got)
	}
	if err := tree.Record("b", launcher.Hash{}); err == nil {
		t.Error("what is not there is recorded")
	}
	if _, known := tree.Known("b"); known {
		t.Error("what is not there is known")
	}
}

func TestSkip(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"a": "1", "build/x": "2", "build/y/z": "3", "src/build": "4", "src/a.o": "5"})
	skip := func(path string, dir bool) bool { return dir && path == "build" || strings.HasSuffix(path, ".o") }
	tree := launcher.NewTree(open(t, root), launcher.TreeOptions{Skip: skip})
	expect(t, scan(t, tree), map[string]string{"a": "1", "src/build": "4"})
}

// TestProblems: what can't be sent is named, and the rest goes on.
func TestProblems(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"a": "1", "con.txt": "2", "locked": "3", "sub/b": "4"})
	listener, err := net.Listen("unix", filepath.Join(root, "s"))
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	denied := &fs.PathError{Op: "open", Path: "locked", Err: fs.ErrPermission}
	dir := &watched{FS: open(t, root), fail: func(name string) error {
		if name == "locked" {
			return denied
		}
		return nil
	}}
	layout, problems, err := launcher.NewTree(dir, launcher.TreeOptions{}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, layout, map[string]string{"a": "1", "sub/b": "4"})
	got := map[string]bool{}
	for _, p := range problems {
		got[p.Path] = p.Err != nil
		if p.Path == "locked" && !errors.Is(p.Err, fs.ErrPermission) {
			t.Error(p.Err)
		}
	}
	if want := map[string]bool{"con.txt": true, "locked": true, "s": true}; !reflect.DeepEqual(got, want) {
		t.Errorf("problems %v", problems)
	}
}

func TestFileThatKeepsChanging(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"log": "1", "a": "2"})
	dir := open(t, root)
	count := 0
	restless := &changing{Dir: dir, change: func() {
		count++
		plant(t, root, map[string]string{"log": strings.Repeat("x", count)})
	}}
	layout, problems, err := launcher.NewTree(restless, launcher.TreeOptions{}).Scan(t.Context())
	if err != nil || len(problems) != 1 || !errors.Is(problems[0].Err, launcher.ErrKeepsChanging) || count != 3 {
		t.Fatal(count, problems, err)
	}
	expect(t, layout, map[string]string{"a": "2"})
}

// changing is a folder in which the file "log" changes while it is read.
type changing struct {
	*platform.Dir
	change func()
}

type changingFile struct {
	platform.File
	change func()
}

func (c *changing) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	f, err := c.Dir.OpenFile(name, flag, perm)
	if name != "log" || err != nil {
		return f, err
	}
	return &changingFile{f, c.change}, nil
}

func (f *changingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.change()
	return n, err
}

func TestScanIsCancelled(t *testing.T) {
	root := t.TempDir()
	plant(t, root, sample)
	ctx, cancel := context.WithCancel(t.Context())
	dir := &watched{FS: open(t, root), fail: func(string) error { cancel(); return nil }}
	if _, _, err := launcher.NewTree(dir, launcher.TreeOptions{}).Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled scan returned %v", err)
	}
}
