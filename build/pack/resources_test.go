//go:build unix

package pack_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"collet/build/pack"
)

// pathsOf are the names of the files in a zip, sorted as they stand there.
func pathsOf(t *testing.T, name string) (list []string) {
	t.Helper()
	for name := range members(t, name) {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func TestPackTakes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"in/b.txt": "b", "in/a/deep/file": "deep", "in/.hidden": "taken", "in/ä ö.txt": "umlaut", "in/empty": "",
		"in/.git/HEAD": "x", "in/a/.gitignore": "x", "in/a/THUMBS.DB": "x", "in/Desktop.ini": "x", "in/._b.txt": "x", "in/__MACOSX/y": "x",
	})
	if err := os.MkdirAll(filepath.Join(dir, "in", "nothing", "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, told := filepath.Join(dir, "out.zip"), int64(0)
	p := pack.Pack{Name: "Core", From: filepath.Join(dir, "in")}
	if err := p.Write(t.Context(), out, func(n int64) { told += n }); err != nil {
		t.Fatal(err)
	}
	if got, want := pathsOf(t, out), []string{".hidden", "a/deep/file", "b.txt", "empty", "ä ö.txt"}; !slices.Equal(got, want) {
		t.Errorf("it holds %v, want %v", got, want)
	}
	if told != 16 {
		t.Errorf("told of %d bytes", told)
	}
	stored := read(t, out)
	p.Deflate = true
	if err := p.Write(t.Context(), out, nil); err != nil || read(t, out) == stored {
		t.Errorf("deflated it is the same, or %v", err)
	}
	finished := pack.Pack{Name: "Core", From: out}
	taken := filepath.Join(dir, "taken.zip")
	if err := finished.Write(t.Context(), taken, nil); err != nil || read(t, taken) != read(t, out) {
		t.Errorf("a finished pack is another one, or %v", err)
	}
}

func TestPackRefuses(t *testing.T) {
	at := func(name string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o644) }
	}
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a link":       {func(dir string) error { return os.Symlink("file", filepath.Join(dir, "link")) }, "is a symbolic link; packs hold files alone"},
		"a pipe":       {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }, "is a named pipe"},
		"a socket":     {listenAt, "is a socket"},
		"a device":     {at("con.txt"), "device name on Windows"},
		"a backslash":  {at(`a\b`), "Windows refuses"},
		"case":         {func(dir string) error { return errors.Join(at("File")(dir), at("file")(dir)) }, "same file"},
		"a dot behind": {at("file."), "ends in a dot"},
		"nothing":      {func(string) error { return nil }, "has no files; fill it, or leave the pack out"},
		"litter alone": {at(".DS_Store"), "has no files"},
	} {
		dir := t.TempDir()
		if err := c.make(dir); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.zip")
		err := pack.Pack{Name: "Core", From: dir}.Write(t.Context(), out, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "resource pack Core") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if found := names(t, filepath.Dir(out)); len(found) > 0 {
			t.Errorf("%s: left %v", name, found)
		}
	}
}

// listenAt leaves a socket.
func listenAt(dir string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

func TestPackThatIsNone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"broken.zip": "PK but no zip"})
	out := filepath.Join(dir, "out.zip")
	for from, want := range map[string]string{"broken.zip": "neither a folder nor a zip", "missing": "name a folder or a zip"} {
		if err := (pack.Pack{Name: "Core", From: filepath.Join(dir, from)}).Write(t.Context(), out, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", from, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (pack.Pack{Name: "Core", From: dir}).Write(ctx, out, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
