package publish_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"collet/build/publish"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/testlevel"
)

// counted is a game folder that counts what is read of it.
type counted struct {
	platform.FS
	read atomic.Int64
}

func (c *counted) OpenFile(name string, flag int, perm os.FileMode) (platform.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	return countedFile{f, c}, err
}

type countedFile struct {
	platform.File
	c *counted
}

func (f countedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.c.read.Add(int64(n))
	return n, err
}

func (f countedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.c.read.Add(int64(n))
	return n, err
}

// aged gives the files of a folder a time long ago.
func aged(t testing.TB, dir string) {
	t.Helper()
	long := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = os.Chtimes(name, long, long)
		}
		return err
	}))
}

func TestUnchangedFilesAreNotRead(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.clock = time.Now().Add(time.Hour) // the files were changed long ago
	dir := t.TempDir()
	writeTree(t, dir, small(1))
	g := &counted{FS: openDir(t, dir)}
	s.publish(g, publish.Request{})
	if g.read.Swap(0) == 0 {
		t.Fatal("nothing was read")
	}
	notes := int64(len(small(1)["notes/en.md"]))
	s.publish(g, publish.Request{})
	if n := g.read.Swap(0); n > notes {
		t.Errorf("unchanged, and %d bytes were read", n)
	}
	// The same size and the same time of change of the content: only the inode's own time tells.
	name := filepath.Join(dir, "Resources", "Core.zip")
	before, err := os.Stat(name)
	must(t, err)
	changed := []byte(small(1)["Resources/Core.zip"])
	changed[0] ^= 1
	must(t, os.WriteFile(name, changed, 0o644))
	must(t, os.Chtimes(name, before.ModTime(), before.ModTime()))
	s.publish(g, publish.Request{})
	if n := g.read.Load(); n < int64(len(changed)) || n > 8*int64(len(changed)) {
		t.Errorf("one file changed, and %d bytes were read", n)
	}
	s.wants(query("stable", linux, 0), 3, small(1).with(tree{"Resources/Core.zip": string(changed)}).setOf(linux))
}

func TestYoungFilesAreHashedAgain(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.clock = time.Now()
	g := &counted{FS: game(t, small(1))}
	s.publish(g, publish.Request{})
	g.read.Store(0)
	s.publish(g, publish.Request{})
	if g.read.Load() < 1000 {
		t.Error("a file that may have changed again within a second was not looked at")
	}
}

func TestADamagedCacheCostsTimeOnly(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.clock = time.Now().Add(time.Hour)
	g := game(t, small(1))
	s.publish(g, publish.Request{})
	for _, name := range []string{".collet/hashes", ".collet/made"} {
		for _, text := range []string{"", "garbage", "collet hashes 1\nsha256:00 x\nsha256:" + strconv.Itoa(0), "whole sha256:0 - sha256:0 9\nwhole x\n"} {
			must(t, platform.WriteFile(s.fs, name, []byte(text)))
			s.publish(g, publish.Request{})
		}
	}
	s.wants(query("stable", linux, 0), 9, small(1).setOf(linux))
}

// TestPublishUnchangedBench publishes a large folder again and compares it with hashing it once with all cores, which is what
// has to be done when nothing is known. COLLET_BENCH_MB is its size, 64 by default.
func TestPublishUnchangedBench(t *testing.T) {
	testlevel.Lab(t)
	megabytes := 64
	if text := os.Getenv("COLLET_BENCH_MB"); text != "" {
		var err error
		megabytes, err = strconv.Atoi(text)
		must(t, err)
	}
	dir := t.TempDir()
	files := tree{"PlatformBinaries/Linux-x64/Lathe.so": noise(1, 1<<20)}
	for i := range megabytes / 8 {
		files[fmt.Sprintf("Resources/Pack%d.zip", i)] = noise(uint64(i), 8<<20)
	}
	writeTree(t, dir, files)
	aged(t, dir)
	s := newFixtureOn(t, openDir(t, t.TempDir()))
	s.set("Plain = true", "Plain = false")
	s.clock = time.Now().Add(time.Hour)
	g := openDir(t, dir)
	s.publish(g, publish.Request{})

	hash := bestOf(5, func() { hashAll(t, dir, files) })
	warm := bestOf(5, func() { s.publish(g, publish.Request{}) })
	cold := bestOf(5, func() {
		must(t, platform.WriteFile(s.fs, ".collet/hashes", nil))
		s.publish(g, publish.Request{})
	})
	ratio, bare := cold.Seconds()/hash.Seconds(), warm.Seconds()/hash.Seconds()
	fmt.Printf("publish of an unchanged folder of %d MB: hash it once %v; publish with the cache %v (ratio %.3f), having lost it %v (ratio %.3f), bound 1.2\n",
		megabytes, hash.Round(time.Millisecond), warm.Round(time.Millisecond), bare, cold.Round(time.Millisecond), ratio)
	if bound := 1.2; megabytes >= 512 && bare > bound {
		t.Errorf("ratio %.3f, want at most %.1f", bare, bound)
	}
}

func bestOf(n int, do func()) time.Duration {
	best := time.Duration(1 << 62)
	for range n {
		started := time.Now()
		do()
		best = min(best, time.Since(started))
	}
	return best
}

// hashAll hashes all files with two goroutines.
func hashAll(t *testing.T, dir string, files tree) {
	names := make(chan string)
	done := make(chan error)
	const workers = 2
	for range workers {
		go func() {
			var failed error
			for name := range names {
				f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
				if err == nil {
					_, err = release.SHA256.DigestOf(struct{ platformReader }{f})
					f.Close()
				}
				if err != nil {
					failed = err
				}
			}
			done <- failed
		}()
	}
	for name := range files {
		names <- name
	}
	close(names)
	for range workers {
		must(t, <-done)
	}
}

// platformReader hides everything but Read, so that the hash gets large pieces.
type platformReader interface{ Read([]byte) (int, error) }
