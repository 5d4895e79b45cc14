package fstest

import (
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"collet/platform"
)

func conformOpen(t *testing.T, fsys platform.FS) {
	_, err := fsys.OpenFile("a", os.O_RDONLY, 0)
	WantError(t, "open what is missing", err, fs.ErrNotExist)
	_, err = fsys.OpenFile("no/a", os.O_WRONLY|os.O_CREATE, 0o644)
	WantError(t, "create in a missing folder", err, fs.ErrNotExist)
	Put(t, fsys, "a", "one")
	_, err = fsys.OpenFile("a", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	WantError(t, "create what is there", err, fs.ErrExist)
	if got := Get(t, fsys, "a"); got != "one" {
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
		t.Error("closed twice without an error")
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("wrote to a closed file")
	}
}

func conformReadWrite(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "0123456789")
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
	if got := Get(t, fsys, "a"); got != "012345678xyz" {
		t.Errorf("content %q", got)
	}
	if n, err := f.Read(four); n != 0 || err != io.EOF {
		t.Errorf("Read at the end: %d %v", n, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 12 || !info.Mode().IsRegular() {
		t.Errorf("Stat: %v %v", info, err)
	}
}

// conformOpenModes does with open files what they were not opened for.
func conformOpenModes(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	r := opened(t, fsys, "a", os.O_RDONLY)
	if n, err := r.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("wrote %d bytes to a file opened for reading, %v", n, err)
	}
	if err := r.Truncate(0); err == nil {
		t.Error("cut a file opened for reading")
	}
	w := opened(t, fsys, "a", os.O_WRONLY)
	if n, err := w.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes of a file opened for writing, %v", n, err)
	}
	if _, err := fsys.OpenFile("d", os.O_RDWR, 0); err == nil {
		t.Error("opened a folder for writing")
	}
	if _, err := fsys.OpenFile("d", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644); err == nil {
		t.Error("made a file where a folder is")
	}
	if _, err := fsys.OpenFile("a/b", os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
		t.Error("made a file below a file")
	}
	if _, err := fsys.OpenFile("new/", os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
		t.Error("made a file with a slash behind")
	}
	if got := Listing(t, fsys, ".") + Get(t, fsys, "a"); got != "a d/one" {
		t.Errorf("left %s", got)
	}
}

// opened opens a file and sees to its end.
func opened(t *testing.T, fsys platform.FS, name string, flag int) platform.File {
	t.Helper()
	f, err := fsys.OpenFile(name, flag, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func conformAppend(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	first, other := opened(t, fsys, "a", os.O_WRONLY|os.O_APPEND), opened(t, fsys, "a", os.O_WRONLY|os.O_APPEND)
	for _, f := range []platform.File{first, other, first} {
		if _, err := io.WriteString(f, "+"); err != nil {
			t.Fatal(err)
		}
	}
	if got := Get(t, fsys, "a"); got != "one+++" {
		t.Errorf("content %q", got)
	}
}

// conformPastTheEnd writes behind the end: what lies between is zeros, and nothing lies before the beginning.
func conformPastTheEnd(t *testing.T, fsys platform.FS) {
	f := opened(t, fsys, "a", os.O_RDWR|os.O_CREATE)
	if at, err := f.Seek(3, io.SeekStart); at != 3 || err != nil {
		t.Fatalf("Seek: %d, %v", at, err)
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read behind the end: %d, %v", n, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("a look behind the end made it longer: %v, %v", info, err)
	}
	if _, err := io.WriteString(f, "x"); err != nil {
		t.Fatal(err)
	}
	if got := Get(t, fsys, "a"); got != "\x00\x00\x00x" {
		t.Errorf("content %q", got)
	}
	if at, err := f.Seek(-2, io.SeekCurrent); at != 2 || err != nil {
		t.Errorf("Seek back: %d, %v", at, err)
	}
	if _, err := f.Seek(-3, io.SeekCurrent); err == nil {
		t.Error("went to before the beginning")
	}
	if runtime.GOOS != "windows" { // there the standard library takes it for the beginning
		if _, err := f.Seek(0, 7); err == nil {
			t.Error("went somewhere")
		}
	}
	if _, err := f.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("read before the beginning")
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 2 || err != nil {
		t.Errorf("refused moves moved it to %d, %v", at, err)
	}
}

func conformTruncate(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "0123456789")
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
		if got := Get(t, fsys, "a"); got != step.want {
			t.Errorf("truncated to %d: %q", step.size, got)
		}
	}
}

// conformTwoHandles writes through one handle and reads through another, each with its own place.
func conformTwoHandles(t *testing.T, fsys platform.FS) {
	w, r := opened(t, fsys, "a", os.O_WRONLY|os.O_CREATE), opened(t, fsys, "a", os.O_RDONLY)
	two := make([]byte, 2)
	for _, text := range []string{"ab", "cd"} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, two); err != nil || string(two) != text {
			t.Errorf("read %q, %v; want %q", two, err, text)
		}
	}
	if err := w.Truncate(1); err != nil {
		t.Fatal(err)
	}
	if n, err := r.ReadAt(two, 0); n != 1 || err != io.EOF || two[0] != 'a' {
		t.Errorf("after a cut: %d bytes, %v, %q", n, err, two)
	}
}

// conformRemovedWhileOpen takes the name from an open file: the file stays what it is, and the name is free.
func conformRemovedWhileOpen(t *testing.T, fsys platform.FS) {
	if runtime.GOOS == "windows" {
		t.Skip("depends on how others opened the file")
	}
	Put(t, fsys, "a", "old")
	f := opened(t, fsys, "a", os.O_RDWR)
	if err := fsys.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if got := Get(t, fsys, "a"); got != "-" {
		t.Errorf("the name holds %q", got)
	}
	Put(t, fsys, "a", "new")
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "er"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "older" {
		t.Errorf("the open file holds %q, %v", data, err)
	}
	if got := Get(t, fsys, "a"); got != "new" {
		t.Errorf("the new file holds %q", got)
	}
}
