package tree_test

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
	"testing"
	"time"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/faultfs"
)

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

func scan(t testing.TB, folder *tree.Tree) *wire.Layout {
	t.Helper()
	layout, problems, err := folder.Scan(context.Background())
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return layout
}

var sample = map[string]string{
	"a.txt": "hello\n", "empty.dat": "", "sub/part.bin": strings.Repeat("0123456789", 150), "sub/deep/er/x": "x", ".hidden": "h",
	"big.bin": strings.Repeat("block", 200_000),
}

func TestScan(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, sample)
	launchertest.Plant(t, root, map[string]string{wire.StateFolder + "/parts/1": "under way", wire.StateFolder + "/cache": "?"})
	folder := tree.New(launchertest.Open(t, root), tree.Options{})
	layout := scan(t, folder)
	launchertest.Expect(t, layout, sample)
	if done, total := folder.Progress(); done != total || total != layout.Bytes() || total != 1_001_508 {
		t.Errorf("progress is %d of %d, layout has %d bytes", done, total, layout.Bytes())
	}
}

func TestScanOfNothing(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, map[string]string{"gone/x": "x"})
	if err := os.RemoveAll(filepath.Join(root, "gone", "x")); err != nil {
		t.Fatal(err)
	}
	launchertest.Expect(t, scan(t, tree.New(launchertest.Open(t, root), tree.Options{})), nil)
	dir := launchertest.Open(t, root)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if layout, _, err := tree.New(dir, tree.Options{}).Scan(t.Context()); err == nil && len(layout.Files()) > 0 {
		t.Error("a removed folder has files")
	}
}

// TestCacheIsUsedAndInvalidated: only what changed is read again, also when size and time of modification are as before.
func TestCacheIsUsedAndInvalidated(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, sample)
	dir := &launchertest.Watched{FS: launchertest.Open(t, root)}
	folder := tree.New(dir, tree.Options{Now: later})
	scan(t, folder)
	if got := dir.Take(); len(got) != len(sample) {
		t.Fatalf("the first scan opened %q", got)
	}
	launchertest.Expect(t, scan(t, folder), sample)
	if got := dir.Take(); len(got) != 0 {
		t.Fatalf("the second scan opened %q", got)
	}
	info, err := os.Stat(filepath.Join(root, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tick(t, filepath.Join(root, "a.txt"))
	launchertest.Plant(t, root, map[string]string{"a.txt": "jello\n"})
	if err := os.Chtimes(filepath.Join(root, "a.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if f, _ := scan(t, folder).Find("a.txt"); f.Hash != sha256.Sum256([]byte("jello\n")) && platform.IdentityOf(info).Inode != 0 {
		t.Error("a change behind the old time was not seen")
	}
	if got := dir.Take(); !slices.Equal(got, []string{"a.txt"}) && platform.IdentityOf(info).Inode != 0 {
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
	dir := &launchertest.Watched{FS: disk.Open(faultfs.Options{})}
	folder := tree.New(dir, tree.Options{Now: clock})
	scan(t, folder)
	dir.Take()
	scan(t, folder)
	if got := dir.Take(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("the second scan opened %q", got)
	}
	now = now.Add(time.Minute)
	scan(t, folder)
	scan(t, folder)
	if got := dir.Take(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("two scans a minute later opened %q", got)
	}
}

func TestRecord(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, map[string]string{"a": "1"})
	dir := &launchertest.Watched{FS: launchertest.Open(t, root)}
	folder := tree.New(dir, tree.Options{})
	if err := folder.Record("a", wire.HashOf([]byte("1"))); err != nil {
		t.Fatal(err)
	}
	if f, known := folder.Known("a"); !known || f != launchertest.Listing(map[string]string{"a": "1"})[0] {
		t.Errorf("known as %v, %v", f, known)
	}
	launchertest.Expect(t, scan(t, folder), map[string]string{"a": "1"})
	if got := dir.Take(); len(got) != 0 {
		t.Errorf("opened %q", got)
	}
	if err := folder.Record("b", wire.Hash{}); err == nil {
		t.Error("what is not there is recorded")
	}
	if _, known := folder.Known("b"); known {
		t.Error("what is not there is known")
	}
}

func TestSkip(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, map[string]string{"a": "1", "build/x": "2", "build/y/z": "3", "src/build": "4", "src/a.o": "5"})
	skip := func(path string, dir bool) bool { return dir && path == "build" || strings.HasSuffix(path, ".o") }
	folder := tree.New(launchertest.Open(t, root), tree.Options{Skip: skip})
	launchertest.Expect(t, scan(t, folder), map[string]string{"a": "1", "src/build": "4"})
}

// TestProblems: what can't be sent is named, and the rest goes on.
func TestProblems(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, map[string]string{"a": "1", "con.txt": "2", "locked": "3", "sub/b": "4"})
	listener, err := net.Listen("unix", filepath.Join(root, "s"))
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	denied := &fs.PathError{Op: "open", Path: "locked", Err: fs.ErrPermission}
	dir := &launchertest.Watched{FS: launchertest.Open(t, root), Fail: func(name string) error {
		if name == "locked" {
			return denied
		}
		return nil
	}}
	layout, problems, err := tree.New(dir, tree.Options{}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	launchertest.Expect(t, layout, map[string]string{"a": "1", "sub/b": "4"})
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
	launchertest.Plant(t, root, map[string]string{"log": "1", "a": "2"})
	dir := launchertest.Open(t, root)
	count := 0
	restless := &changing{Dir: dir, change: func() {
		count++
		launchertest.Plant(t, root, map[string]string{"log": strings.Repeat("x", count)})
	}}
	layout, problems, err := tree.New(restless, tree.Options{}).Scan(t.Context())
	if err != nil || len(problems) != 1 || !errors.Is(problems[0].Err, tree.ErrKeepsChanging) || count != 3 {
		t.Fatal(count, problems, err)
	}
	launchertest.Expect(t, layout, map[string]string{"a": "2"})
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
	launchertest.Plant(t, root, sample)
	ctx, cancel := context.WithCancel(t.Context())
	dir := &launchertest.Watched{FS: launchertest.Open(t, root), Fail: func(string) error { cancel(); return nil }}
	if _, _, err := tree.New(dir, tree.Options{}).Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled scan returned %v", err)
	}
}
