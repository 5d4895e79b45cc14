package faultfs_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// twin does the same to a folder on the disk and to one in memory, and wants the same answers.
type twin struct {
	t      testing.TB
	r      *rand.Rand
	disk   platform.FS
	memory *faultfs.FS
	files  [2][]platform.File // open on the disk and in memory
	said   []string
}

// names are few, so that they meet each other. Some are not there, some lead out.
var twinNames = []string{"a", "b", "d", "d/a", "d/b", "e", "e/f", "e/f/a", "link", "d/up", "link/a", "..", "d/../b", "a/", "no/a", "."}

func (w *twin) name() string { return twinNames[w.r.IntN(len(twinNames))] }

// class is what callers can tell of an error.
func class(err error) string {
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrClosed, errors.ErrUnsupported, platform.ErrLocked, io.EOF} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "refused"
	}
	return "done"
}

// both does one thing on both sides.
func (w *twin) both(what string, do func(fsys platform.FS, side int) (string, error)) {
	w.t.Helper()
	var answers [2]string
	for side, fsys := range []platform.FS{w.disk, w.memory} {
		text, err := do(fsys, side)
		answers[side] = class(err)
		if err == nil {
			answers[side] += " " + text
		} else if slices.Contains([]string{"rename", "link", "exchange", "mkdir", "remove"}, strings.Fields(what)[0]) {
			answers[side] = "refused" // which of several reasons a system names first is its own affair
		}
		if side == 0 {
			what += fmt.Sprintf(" (%v)", err)
		}
	}
	if w.said = append(w.said, what+": "+answers[0]); answers[0] != answers[1] {
		w.t.Fatalf("%s\nin memory: %s", strings.Join(w.said, "\n"), answers[1])
	}
}

// turn is one random call.
func (w *twin) turn() {
	a, b := w.name(), w.name()
	switch w.r.IntN(15) {
	case 0, 1:
		w.both("rename "+a+" "+b, func(f platform.FS, _ int) (string, error) { return "", f.Rename(a, b) })
	case 2:
		a, b = path.Clean(a), path.Clean(b)
		w.both("exchange "+a+" "+b, func(f platform.FS, _ int) (string, error) { return "", f.Exchange(a, b) })
	case 3:
		w.both("remove "+a, func(f platform.FS, _ int) (string, error) { return "", f.Remove(a) })
	case 4:
		w.both("mkdir "+a, func(f platform.FS, _ int) (string, error) { return "", f.MkdirAll(a, 0o755) })
	case 5:
		w.both("list "+a, func(f platform.FS, _ int) (string, error) { return listing(f, a) })
	case 6:
		w.both("stat "+a, func(f platform.FS, _ int) (string, error) { return described(f.Stat(a)) })
		w.both("lstat "+a, func(f platform.FS, _ int) (string, error) { return described(f.Lstat(a)) })
	case 7:
		if w.r.IntN(4) > 0 { // a disk is slow at this
			return
		}
		w.both("sync "+a, func(f platform.FS, _ int) (string, error) { return "", f.SyncDir(a) })
	case 8, 9, 10:
		w.open(a)
	case 11:
		w.both("link "+a+" "+b, func(f platform.FS, _ int) (string, error) { return "", f.Link(a, b) })
	default:
		w.use()
	}
}

// sum stands for bytes in what is printed.
func sum(data []byte) string { return fmt.Sprintf("%d bytes, %x", len(data), crc32.ChecksumIEEE(data)) }

func described(info fs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return info.Name() + " " + info.Mode().Type().String(), nil
	}
	return fmt.Sprint(info.Name(), " ", info.Mode().Type(), " ", info.Size()), nil
}

func listing(f platform.FS, name string) (string, error) {
	entries, err := f.ReadDir(name)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name()+e.Type().String())
	}
	return strings.Join(names, " "), err
}

func (w *twin) open(name string) {
	flags := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
		os.O_WRONLY | os.O_CREATE | os.O_EXCL, os.O_RDWR | os.O_CREATE | os.O_APPEND, os.O_WRONLY | os.O_TRUNC}
	flag := flags[w.r.IntN(len(flags))]
	if flag&os.O_EXCL != 0 {
		name = path.Clean(name) // with a slash behind, two reasons meet
	}
	var opened [2]platform.File
	w.both(fmt.Sprintf("open %s %#x", name, flag), func(f platform.FS, side int) (_ string, err error) {
		opened[side], err = f.OpenFile(name, flag, 0o644)
		return "", err
	})
	for side, f := range opened {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err != nil || info.IsDir() { // operations on an open folder are not compared
			f.Close()
			continue
		}
		w.files[side] = append(w.files[side], f)
	}
}

// use calls one of the open files.
func (w *twin) use() {
	if len(w.files[0]) == 0 {
		return
	}
	i, n := w.r.IntN(len(w.files[0])), w.r.IntN(9000)
	call := func(what string, do func(f platform.File) (string, error)) {
		w.both(fmt.Sprint(what, " of file ", i), func(_ platform.FS, side int) (string, error) { return do(w.files[side][i]) })
	}
	switch w.r.IntN(10) {
	case 0, 1, 2:
		data := slices.Repeat([]byte{byte('a' + w.r.IntN(26))}, n)
		call("write", func(f platform.File) (string, error) { n, err := f.Write(data); return fmt.Sprint(n), err })
	case 3:
		call("read", func(f platform.File) (string, error) {
			data := make([]byte, n)
			n, err := f.Read(data)
			return sum(data[:n]), err
		})
	case 4:
		call("seek", func(f platform.File) (string, error) {
			at, err := f.Seek(int64(n), n%3)
			return fmt.Sprint(at), err
		})
	case 5:
		call("read at", func(f platform.File) (string, error) {
			data := make([]byte, 500)
			n, err := f.ReadAt(data, int64(n))
			return sum(data[:n]), err
		})
	case 6:
		call("truncate", func(f platform.File) (string, error) { return "", f.Truncate(int64(n)) })
	case 7:
		call("stat", func(f platform.File) (string, error) { return described(f.Stat()) })
	case 8:
		call("close", func(f platform.File) (string, error) { return "", f.Close() })
	case 9:
		call("sync", func(f platform.File) (string, error) { return "", f.Sync() })
	}
}

// agree compares everything below both folders.
func (w *twin) agree(name string) {
	w.t.Helper()
	w.both("list "+name, func(f platform.FS, _ int) (string, error) { return listing(f, name) })
	entries, err := w.disk.ReadDir(name)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		below := path.Join(name, e.Name())
		switch {
		case e.IsDir():
			w.agree(below)
		case e.Type().IsRegular():
			w.both("content of "+below, func(f platform.FS, _ int) (string, error) {
				data, err := platform.ReadFile(f, below, 1<<30)
				return sum(data), err
			})
		}
	}
}

// play runs a number of turns from one seed.
func play(t testing.TB, seed uint64, turns int) {
	dir := t.TempDir()
	disk, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	w := &twin{t: t, r: rand.New(rand.NewPCG(seed, 0)), disk: disk, memory: faultfs.New(faultfs.Config{}).Open(faultfs.Options{})}
	if err := w.disk.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := w.memory.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "d", "d/up": "../e"} {
		if err := errors.Join(os.Symlink(target, disk.Path(name)), w.memory.Disk().Symlink(target, name)); err != nil {
			t.Skip(err)
		}
	}
	for range turns {
		w.turn()
	}
	w.agree(".")
	for _, files := range w.files {
		for _, f := range files {
			f.Close()
		}
	}
}

// TestTwin plays many short games and compares a folder in memory with one on the disk, call by call.
func TestTwin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the model answers as Linux does")
	}
	for seed := 0; seed < 150; seed += testlevel.Stride(2, 10) {
		play(t, uint64(seed), 80)
	}
}
