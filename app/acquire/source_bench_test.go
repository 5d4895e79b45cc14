package acquire_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
)

// manyFiles is how many files a set has about which there is nothing to do.
const manyFiles = 10_000

// crowd is a release of many files, and an install on a real disk that has them.
type crowd struct {
	dir    string
	root   []byte
	mirror *folderMirror
	now    time.Time
}

func newCrowd(t testing.TB, n int) *crowd {
	t.Helper()
	c := &crowd{dir: t.TempDir(), now: epoch}
	var files []release.ListedFile
	for i := range n {
		name, content := fmt.Sprintf("%02d/file-%05d.dat", i%100, i), fmt.Sprintf("content of %d", i)
		full := filepath.Join(c.dir, "Resources", filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(content), 0o644))
		sum, err := release.SHA256.DigestOf(readerOf(content))
		must(t, err)
		files = append(files, release.ListedFile{Path: name, Use: release.UseResource, Size: int64(len(content)), Mode: release.PlainMode, Sum: sum})
	}
	list := release.NewListing(files)
	object, packed, err := list.Pack()
	must(t, err)
	sources, sourcesRef, err := release.NewSources(nil).Pack()
	must(t, err)
	head, err := release.Head{
		Product: product, Channel: "stable", Target: target, Number: 1, Version: "1", Published: epoch, Bytes: list.Bytes(), Count: len(list),
		Listing: packed, Sources: sourcesRef,
	}.Encode()
	must(t, err)
	p := newPublisher(t)
	fsys := p.disk.Open(faultfs.Options{})
	store := diskStore{fsys}
	for name, data := range map[string][]byte{packed.Object.Path(): object, sourcesRef.Path(): sources, release.ObjectOf(head).HeadPath(): head} {
		must(t, store.Save(name, data))
	}
	repo, err := trust.OpenRepo(store, trust.RepoOptions{Now: func() time.Time { return c.now }})
	must(t, err)
	must(t, repo.SetEntries([]release.Entry{{Product: product, Channel: "stable", Target: target, Number: 1, Percent: 100, Head: release.ObjectOf(head)}}, p.keys[3:]))
	c.root, c.mirror = p.root, p.mirror()
	return c
}

// diskStore is a trust.Store on a disk in memory.
type diskStore struct{ platform.FS }

func (s diskStore) Load(name string, limit int64) ([]byte, error) {
	return platform.ReadFile(s.FS, name, limit)
}

func (s diskStore) Save(name string, data []byte) error {
	if err := s.MkdirAll(filepath.ToSlash(filepath.Dir(name)), 0o755); err != nil {
		return err
	}
	return platform.WriteFile(s.FS, name, data)
}

// start is one start of the client that finds nothing to do. It tells how long the update itself took.
func (c *crowd) start(t testing.TB) time.Duration {
	t.Helper()
	fsys, err := platform.OpenDir(c.dir)
	must(t, err)
	defer fsys.Close()
	d, err := install.Open(context.Background(), install.Config{
		FS: fsys, Trust: install.TrustSHA256, Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"}, Log: zerolog.Nop(),
		Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	must(t, err)
	began := time.Now()
	s, err := acquire.NewSource(acquire.Options{
		Mirrors: []download.Mirror{c.mirror}, FS: fsys, Folder: "Cache/release", Disk: d, Root: c.root, Target: target, HostABI: 1,
		Now: func() time.Time { return c.now },
	})
	must(t, err)
	u, err := update.New(update.Config{Source: s, Destination: d, CanSelfUpdate: true})
	must(t, err)
	status := u.Run(context.Background())
	took := time.Since(began)
	if status.Outcome != update.ResourcesReady || status.Files != 0 {
		t.Fatalf("%s, %v, %d files", status.Outcome, status.Fault, status.Files)
	}
	must(t, s.Release())
	must(t, d.Close())
	return took
}

// walk looks at every file once, as the barest check there is.
func (c *crowd) walk(t testing.TB) time.Duration {
	began, n := time.Now(), 0
	must(t, filepath.WalkDir(filepath.Join(c.dir, "Resources"), func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
			_, err = os.Lstat(name)
		}
		return err
	}))
	return time.Since(began)
}

// TestNothingToDo: two requests at once, and no more, whatever the number of files.
func TestNothingToDo(t *testing.T) {
	c := newCrowd(t, 300)
	c.start(t)
	c.mirror.forget()
	c.start(t)
	if n := len(c.mirror.asked); n != 2 || c.mirror.bytes > 1000 {
		t.Errorf("%d requests: %v, %d bytes", n, c.mirror.asked, c.mirror.bytes)
	}
}

// BenchmarkNothingToDo compares a start that finds 10 000 files in order with a bare walk over them, on a line without delay
// and on one of 20 ms. allowed is 1.5 walks and two round trips.
func BenchmarkNothingToDo(b *testing.B) {
	c := newCrowd(b, manyFiles)
	c.start(b)
	for _, trip := range []time.Duration{0, 20 * time.Millisecond} {
		b.Run(trip.String(), func(b *testing.B) {
			c.mirror.hurry = func(ctx context.Context, _ string) error {
				select { // the line's delay
				case <-time.After(trip):
				case <-ctx.Done():
				}
				return ctx.Err()
			}
			var walks, starts time.Duration
			for b.Loop() {
				walks += c.walk(b)
				starts += c.start(b)
			}
			n := float64(b.N)
			b.ReportMetric(float64(walks.Milliseconds())/n, "ms/walk")
			b.ReportMetric(float64(starts.Milliseconds())/n, "ms/start")
			b.ReportMetric(float64(starts)/float64(walks), "walks/start")
			b.ReportMetric(float64(starts)/(1.5*float64(walks)+2*n*float64(trip)), "of-allowed")
		})
	}
}
