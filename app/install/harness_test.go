package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// names is the layout for all tests and systems.
func names() install.Names {
	return install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"}
}

// later is a clock far enough ahead that a change of any file on disk would show in its identity.
func later() time.Time { return time.Now().Add(time.Hour) }

// runsWithoutInodes reports whether the system's Lstat returns neither inode nor change time.
func runsWithoutInodes() bool { return runtime.GOOS != "linux" && runtime.GOOS != "darwin" }

// runsWithoutExchange reports whether the system can't exchange two names.
func runsWithoutExchange() bool { return runtime.GOOS == "windows" }

// blob is a file offered by the server.
type blob struct {
	path    string
	content string
	role    release.Role
}

func packs(pairs ...string) (blobs []blob) {
	for i := 0; i < len(pairs); i += 2 {
		blobs = append(blobs, blob{pairs[i], pairs[i+1], release.Resource})
	}
	return blobs
}

func binaries(pairs ...string) []blob {
	blobs := packs(pairs...)
	for i := range blobs {
		blobs[i].role = release.Binary
	}
	return blobs
}

func digest(t testing.TB, a release.Algorithm, content string) release.Digest {
	t.Helper()
	d, err := a.DigestOf(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func offer(t testing.TB, a release.Algorithm, blobs []blob) []release.File {
	t.Helper()
	files := make([]release.File, len(blobs))
	for i, b := range blobs {
		files[i] = release.File{Path: b.path, Size: int64(len(b.content)), Digest: digest(t, a, b.content), Role: b.role, Index: uint32(i)}
	}
	return files
}

// folder is a real install folder, opened again for every simulated process.
type folder struct {
	t   testing.TB
	dir string
}

func newFolder(t testing.TB) folder {
	t.Helper()
	return folder{t, t.TempDir()}
}

// open opens the folder like a new process.
func (f folder) open() *platform.Dir {
	f.t.Helper()
	d, err := platform.OpenDir(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { d.Close() })
	return d
}

func (f folder) write(name, content string) {
	f.t.Helper()
	full := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, filepath.FromSlash(name))); err != nil {
		f.t.Fatal(err)
	}
}

// tree lists every file except journal, lock and cache: "name=content", sorted; an empty folder ends in a slash.
func (f folder) tree() string {
	f.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(f.dir, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(f.dir, full)
		rel = filepath.ToSlash(rel)
		switch {
		case rel == install.StateDir || rel == "Cache":
			return filepath.SkipDir
		case entry.Type().IsRegular():
			data, err := os.ReadFile(full)
			found[rel] = "=" + string(data)
			return err
		case entry.IsDir() && rel != ".":
			if inside, err := os.ReadDir(full); err != nil || len(inside) == 0 {
				found[rel] = "/"
			}
		case rel != ".":
			found[rel] = "?"
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	lines := make([]string, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		lines = append(lines, name+found[name])
	}
	return strings.Join(lines, " ")
}

func (f folder) want(when, tree string) {
	f.t.Helper()
	if got := f.tree(); got != tree {
		f.t.Errorf("%s:\n got %s\nwant %s", when, got, tree)
	}
}

// start is the disk work of one start of the client. Only blobs is required; the zero values of all other fields are
// useful.
type start struct {
	mode      update.Mode
	blobs     []blob
	algorithm release.Algorithm // zero means SHA-256
	portion   int               // bytes of one Write; zero means 3
	verify    bool
	stay      bool // skip Promote, like a host that was not told to swap
	confirm   bool // the module reports ready
	idle      bool // no server is contacted
	fails     int  // number of failed starts of the live set before anything else
}

// got is the observed result of a start.
type got struct {
	plan    update.Plan
	written int64
}

// on runs the start on a folder: open, plan, fetch, finish, commit, promote, confirm, close.
func (s start) on(t testing.TB, fsys platform.FS) (got, error) {
	t.Helper()
	ctx := context.Background()
	d, err := open(fsys, s.verify)
	if err != nil {
		return got{}, err
	}
	var g got
	for n := 0; n < s.fails && err == nil; n++ {
		if err = d.Starting(); err == nil {
			_, err = d.FailedStart(ctx, "signal: killed")
		}
	}
	if err == nil && !s.idle {
		g, err = s.update(t, d)
	}
	if err == nil && !s.stay {
		err = d.Promote(ctx)
	}
	if err == nil && s.confirm {
		err = d.Confirm()
	}
	return g, errors.Join(err, d.Close())
}

// open opens the install like the host.
func open(fsys platform.FS, verify bool) (*install.Dir, error) {
	return install.Open(context.Background(), install.Config{
		FS: fsys, Names: names(), Verify: verify, Trust: install.TrustFNV, Log: zerolog.Nop(), Now: later,
	})
}

// update uses a Destination like the Updater.
func (s start) update(t testing.TB, d *install.Dir) (got, error) {
	t.Helper()
	ctx := context.Background()
	if s.algorithm == release.NoDigest {
		s.algorithm = release.SHA256
	}
	if s.mode == 0 {
		s.mode = update.Resources
	}
	plan, err := d.Plan(ctx, s.mode, offer(t, s.algorithm, s.blobs), func(string, int64, int64) {})
	g := got{plan: plan}
	if err != nil || plan.Blocked {
		return g, err
	}
	for i, want := range plan.Wants {
		for _, r := range want.Missing {
			if err := d.Advance(ctx, i); err != nil {
				return g, err
			}
			n, err := s.fetch(d, i, s.blobs[want.File.Index].content[r.Start:r.End])
			if g.written += n; err != nil {
				return g, err
			}
		}
		if err := d.Finish(ctx, i); err != nil {
			return g, err
		}
	}
	return g, d.Commit(ctx)
}

// fetch writes the missing bytes of one file in portions.
func (s start) fetch(d *install.Dir, i int, rest string) (written int64, err error) {
	portion := s.portion
	if portion == 0 {
		portion = 3
	}
	for len(rest) > 0 {
		n := min(portion, len(rest))
		if err := d.Write(i, []byte(rest[:n])); err != nil {
			return written, err
		}
		written, rest = written+int64(n), rest[n:]
	}
	return written, nil
}

// must runs a start that must succeed.
func (s start) must(f folder) got {
	f.t.Helper()
	g, err := s.on(f.t, f.open())
	if err != nil {
		f.t.Fatal(err)
	}
	return g
}

// files maps the names in the folder to contents, without lock files and the cache.
func (f folder) files() map[string]string {
	f.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(f.dir, func(full string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(full)
		rel, _ := filepath.Rel(f.dir, full)
		found[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

// mustOpen opens an install for tests of single steps; the open must succeed.
func (f folder) mustOpen(rules ...rule) *install.Dir {
	f.t.Helper()
	d, err := open(watch(f.open(), rules...), false)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { d.Close() })
	return d
}

// wantFault checks the cause of an error.
func wantFault(t testing.TB, when string, err error, cause update.Cause) *update.Fault {
	t.Helper()
	fault, ok := errors.AsType[*update.Fault](err)
	if !ok || fault.Cause != cause {
		t.Fatalf("%s: got %v (%T), want %s", when, err, err, cause)
	}
	return fault
}

func (g got) String() string {
	return fmt.Sprintf("%d wanted, %d bytes, %d resumed, %d matched, %d written",
		len(g.plan.Wants), g.plan.Bytes, g.plan.Resumed, g.plan.Matched, g.written)
}

func (g got) want(t testing.TB, when, want string) {
	t.Helper()
	if g.String() != want {
		t.Errorf("%s: %s\n want %s", when, g, want)
	}
}
