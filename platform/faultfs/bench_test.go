package faultfs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// The bench plays an update of ten files of 256 kB each in portions of 64 kB, as an install writes them.
const (
	benchFiles   = 10
	benchSize    = 256 << 10
	benchPortion = 64 << 10
)

// benchDisk is an install before its update.
func benchDisk(t testing.TB) *faultfs.Disk {
	t.Helper()
	d := faultfs.New(faultfs.Config{})
	for i := range benchFiles {
		if err := d.Plant(fmt.Sprintf("Resources/%d.zip", i), strings.Repeat("o", benchSize)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// benchUpdate writes parts, records them in a journal and makes them live.
func benchUpdate(fsys platform.FS) error {
	portion := []byte(strings.Repeat("n", benchPortion))
	for i := range benchFiles {
		if err := benchPart(fsys, fmt.Sprintf("Resources/~%d.zip", i), portion); err != nil {
			return err
		}
	}
	if err := errors.Join(fsys.SyncDir("Resources"), platform.WriteFile(fsys, "journal", []byte("prepared"))); err != nil {
		return err
	}
	for i := range benchFiles {
		if err := fsys.Rename(fmt.Sprintf("Resources/~%d.zip", i), fmt.Sprintf("Resources/%d.zip", i)); err != nil {
			return err
		}
	}
	return errors.Join(fsys.SyncDir("Resources"), platform.WriteFile(fsys, "journal", []byte("swapped")))
}

func benchPart(fsys platform.FS, name string, portion []byte) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for range benchSize / benchPortion {
		if _, err := f.Write(portion); err != nil {
			return err
		}
	}
	return f.Sync()
}

// BenchmarkUpdate is the update without a fault, on a clone.
func BenchmarkUpdate(b *testing.B) {
	d := benchDisk(b)
	for b.Loop() {
		if err := benchUpdate(d.Clone().Open(faultfs.Options{})); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClone makes a second volume of the same state.
func BenchmarkClone(b *testing.B) {
	d := benchDisk(b)
	for b.Loop() {
		d.Clone()
	}
}

// BenchmarkCrash cuts the power in the middle of the update.
func BenchmarkCrash(b *testing.B) {
	for _, percent := range []int{0, 50, 100} {
		b.Run(fmt.Sprint(percent), func(b *testing.B) {
			fsys := benchDisk(b).Open(faultfs.Options{})
			fsys.StopAfter(50)
			if err := benchUpdate(fsys); !errors.Is(err, faultfs.ErrStopped) {
				b.Fatal(err)
			}
			var seed uint64
			for b.Loop() {
				seed++
				fsys.Disk().Crash(faultfs.Keep(percent, seed))
			}
		})
	}
}

// BenchmarkCrashPoint is all of one point: clone, update up to a stop, cut, and read everything that was left.
func BenchmarkCrashPoint(b *testing.B) {
	d := benchDisk(b)
	whole := d.Clone().Open(faultfs.Options{})
	if err := benchUpdate(whole); err != nil {
		b.Fatal(err)
	}
	var n uint64
	for b.Loop() {
		n++
		fsys := d.Clone().Open(faultfs.Options{})
		fsys.StopAfter(1 + int(n)%whole.Count())
		if err := benchUpdate(fsys); !errors.Is(err, faultfs.ErrStopped) {
			b.Fatal(err)
		}
		after := fsys.Disk().Crash(faultfs.Keep(50, n)).Open(faultfs.Options{})
		if err := readAll(after, "Resources"); err != nil {
			b.Fatal(err)
		}
	}
}

// readAll reads all files, as for hashing.
func readAll(fsys platform.FS, folder string) error {
	entries, err := fsys.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, err := fsys.OpenFile(folder+"/"+e.Name(), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{f}); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
