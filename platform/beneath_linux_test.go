package platform

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// laid makes a tree with everything that a name can meet, beside a file that nothing may reach, and opens it.
func laid(t *testing.T) (dir string, root *os.Root) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "root")
	for _, folder := range []string{"a/b/c", "empty", "hollow", "full"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"../outside", "top", "a/b/c/deep", "full/file"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"in": "a/b/c/deep", "out": "../outside", "abs": filepath.Join(top, "outside"), "dangling": "later", "dangling-out": "../later",
		"loop": "loop", "folder": "a/b", "folder-out": "..", "a/up": "../top", "a/far": "../../outside", "root": "/",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, root
}

var odd = []string{
	"", ".", "..", "../outside", "/etc/passwd", "a/../top", "a/./b", "a//b", "a/", "top/", "top/x", "missing", "missing/x", "a", "empty", "hollow", "full",
	"top", "a/b/c/deep", "in", "out", "abs", "dangling", "dangling-out", "loop", "folder/c/deep", "folder-out/outside", "a/up", "a/far",
	"root/etc/passwd", "folder", "folder-out", "nul\x00byte", "a/b/../../../outside", "folder/../a", strings.Repeat("x", 300), "new", "a/b/new",
}

// kindOf tells errors apart as callers do.
func kindOf(err error) string {
	var number unix.Errno
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &number):
		return number.Error()
	case strings.Contains(err.Error(), "escapes"):
		return "escapes"
	}
	return err.Error()
}

// tell lists what lies in a folder and beside it, with contents.
func tell(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(filepath.Dir(dir), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			content = string(data)
		}
		at, err := filepath.Rel(filepath.Dir(dir), name)
		lines = append(lines, fmt.Sprintf("%s %s %q", info.Mode(), at, content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// deeds are what is done with names, each giving what it saw.
var deeds = map[string]func(n names, name string) (string, error){
	"read": func(n names, name string) (string, error) {
		f, err := n.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || info.IsDir() {
			return "folder", err
		}
		data, err := io.ReadAll(f)
		return string(data), err
	},
	"create": func(n names, name string) (string, error) {
		f, err := n.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.WriteString("made")
		return "", err
	},
	"exclusive": func(n names, name string) (string, error) {
		f, err := n.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_TRUNC, 0o600)
		if err != nil {
			return "", err
		}
		return "", f.Close()
	},
	"append": func(n names, name string) (string, error) {
		f, err := n.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.WriteString("+")
		return "", err
	},
	"lstat":   func(n names, name string) (string, error) { return seen(n.Lstat(name)) },
	"stat":    func(n names, name string) (string, error) { return seen(n.Stat(name)) },
	"remove":  func(n names, name string) (string, error) { return "", n.Remove(name) },
	"away":    func(n names, name string) (string, error) { return "", n.Rename(name, "a/away") },
	"over":    func(n names, name string) (string, error) { return "", n.Rename("full/file", name) },
	"folders": func(n names, name string) (string, error) { return "", n.Rename("empty", name) },
}

func seen(info fs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprint(info.Name(), info.Mode(), info.IsDir(), IdentityOf(info).Inode != 0), nil
}

// twins are two trees of one kind, one opened as os.Root does and one the quick way.
type twins struct {
	dirA, dirB string
	a, b       names
	laid       string // how the trees were
}

func layTwins(t *testing.T) *twins {
	t.Helper()
	dirA, a := laid(t)
	dirB, root := laid(t)
	w := &twins{dirA: dirA, dirB: dirB, a: a, b: openRootNames(root), laid: tell(t, dirA)}
	t.Cleanup(func() {
		if err := errors.Join(w.a.Close(), w.b.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, quick := w.b.(*beneath); !quick {
		t.Skip("this system has no openat2")
	}
	return w
}

// Whatever a name is, it means what it means to os.Root: the same answer, the same kind of error, the same tree afterwards,
// and nothing beside it.
func TestBeneathIsLikeRoot(t *testing.T) {
	for deed, do := range deeds {
		t.Run(deed, func(t *testing.T) {
			w := layTwins(t)
			for _, name := range odd {
				wantSaw, wantErr := do(w.a, name)
				saw, err := do(w.b, name)
				if saw != wantSaw || kindOf(err) != kindOf(wantErr) {
					t.Errorf("%q: %q, %v; os.Root gives %q, %v", name, saw, err, wantSaw, wantErr)
				}
				was, is := tell(t, w.dirA), tell(t, w.dirB)
				if was != is {
					t.Errorf("%q leaves\n%s\nand os.Root\n%s", name, is, was)
				}
				if was != w.laid {
					w = layTwins(t)
				}
			}
		})
	}
}

// A closed folder is closed for every deed, and no descriptor stays behind.
func TestBeneathCloses(t *testing.T) {
	_, root := laid(t)
	before := descriptors(t)
	b := openRootNames(root)
	for deed, do := range deeds {
		if _, err := do(b, "a/b/c/deep"); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			t.Logf("%s: %v", deed, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if after := descriptors(t); after != before-1 {
		t.Errorf("%d descriptors are open, want %d", after, before-1)
	}
	for deed, do := range deeds {
		if _, err := do(b, "top"); err == nil {
			t.Errorf("%s works on a closed folder", deed)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list descriptors")
	}
	return len(entries)
}

// What a lookup costs, below the root and five folders deep.
func BenchmarkLookup(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b/c/d/e"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/c/d/e/f"), nil, 0o644); err != nil {
		b.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	quick := openRootNames(root)
	defer quick.Close()
	for name, n := range map[string]names{"os.Root": root, "openat2": quick} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f, err := n.OpenFile("a/b/c/d/e/f", os.O_RDONLY, 0)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
