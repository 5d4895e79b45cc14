package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/faultfs"
)

// layers is an install in two folders. Contents represent files: "Core.zip" → "one".
type layers struct {
	t         *testing.T
	own, base string
}

func newLayers(t *testing.T, base map[string]string) layers {
	t.Helper()
	l := layers{t, t.TempDir(), t.TempDir()}
	for name, content := range base {
		l.put(l.base, name, content)
	}
	return l
}

func (l layers) put(folder, name, content string) {
	l.t.Helper()
	full := filepath.Join(folder, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644)); err != nil {
		l.t.Fatal(err)
	}
}

// files is the content of a folder without journal, cache and lists: "name=content", sorted.
func (l layers) files(folder string) string {
	l.t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(full string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(folder, full)
		if rel == "Cache" || rel == install.StateDir {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(full)
		found = append(found, filepath.ToSlash(rel)+"="+string(data))
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func (l layers) wantOwn(when, want string) {
	l.t.Helper()
	if got := l.files(l.own); got != want {
		l.t.Errorf("%s: own folder has\n %s\nwant\n %s", when, got, want)
	}
}

// opened is the install as opened by one process.
func (l layers) opened(verify bool) *install.Dir {
	l.t.Helper()
	var folders [2]*platform.Dir
	for i, name := range []string{l.own, l.base} {
		folder, err := platform.OpenDir(name)
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(func() { folder.Close() })
		folders[i] = folder
	}
	d, err := install.Open(context.Background(), install.Config{
		FS: folders[0], Base: folders[1], Verify: verify, Trust: install.TrustFNV, Log: zerolog.Nop(),
		Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
		Now:   func() time.Time { return time.Now().Add(time.Hour) },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

// set is a release: "Lathe.so" and similar names are binaries, all others packs.
type set map[string]string

func (s set) offer(t *testing.T) (files []release.File) {
	t.Helper()
	for name, content := range s {
		sum, err := release.SHA256.DigestOf(strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		f := release.File{Path: name, Size: int64(len(content)), Digest: sum, Role: release.Resource}
		if strings.HasPrefix(name, "Lathe.") {
			f.Role = release.Binary
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b release.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// sync updates the open install to a set and returns which files were fetched.
func (l layers) sync(d *install.Dir, mode update.Mode, s set) string {
	l.t.Helper()
	ctx := context.Background()
	plan, err := d.Plan(ctx, mode, s.offer(l.t), func(string, int64, int64) {})
	if err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for i, want := range plan.Wants {
		names = append(names, want.File.Path)
		if err := errors.Join(d.Write(i, []byte(s[want.File.Path][want.Offset():])), d.Finish(ctx, i)); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := errors.Join(d.Commit(ctx), d.Promote(ctx)); err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// counting is the packs list for the runtime: "all", or the valid packs of the base.
func (l layers) counting(d *install.Dir) string {
	l.t.Helper()
	name, err := d.PacksList()
	if err != nil {
		l.t.Fatal(err)
	}
	if name == "" {
		return "all"
	}
	data, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

// TestBaseCounts runs one update of an own folder, empty or not.
func TestBaseCounts(t *testing.T) {
	one := map[string]string{"Lathe.so": "m1", "Resources/Core.zip": "core1", "Resources/Art.zip": "art1"}
	tests := []struct {
		name    string
		base    map[string]string
		own     map[string]string
		mode    update.Mode
		offer   set
		fetched string
		has     string // own folder afterwards
		counts  string
	}{
		{"all below", one, nil, update.Resources, set{"Lathe.so": "m1", "Core.zip": "core1", "Art.zip": "art1"}, "", "", "all"},
		{"module below", one, nil, update.Binaries, set{"Lathe.so": "m1", "Core.zip": "core1", "Art.zip": "art1"}, "", "", "all"},
		{"one pack is new", one, nil, update.Resources, set{"Lathe.so": "m1", "Core.zip": "core2", "Art.zip": "art1"}, "Core.zip",
			"Resources/Core.zip=core2", "Art.zip Core.zip"},
		{"a module is new", one, nil, update.Binaries, set{"Lathe.so": "m2", "Core.zip": "core1", "Art.zip": "art1"}, "Lathe.so",
			"Lathe.so=m2", "Art.zip Core.zip"},
		{"same size, other content", one, nil, update.Resources, set{"Core.zip": "core1", "Art.zip": "art9"}, "Art.zip",
			"Resources/Art.zip=art9", "Art.zip Core.zip"},
		{"own pack is older", one, map[string]string{"Resources/Core.zip": "core0"}, update.Resources,
			set{"Core.zip": "core1", "Art.zip": "art1"}, "", "", "Art.zip Core.zip"},
		{"own module is older", one, map[string]string{"Lathe.so": "m0"}, update.Binaries,
			set{"Lathe.so": "m1", "Core.zip": "core1", "Art.zip": "art1"}, "", "Lathe.so.bak=m0", "Art.zip Core.zip"},
		{"a pack is dropped", one, nil, update.Resources, set{"Core.zip": "core1"}, "", "", "Core.zip"},
		{"a folder of packs is dropped", map[string]string{"Resources/Core.zip": "core1", "Resources/maps/A.zip": "a"}, nil,
			update.Resources, set{"Core.zip": "core1"}, "", "", "Core.zip"},
		{"a part in the base is no pack", map[string]string{"Resources/Core.zip": "core1", "Resources/~Art.zip": "a"}, nil,
			update.Resources, set{"Core.zip": "core1"}, "", "", "all"},
		{"base is empty", nil, nil, update.Resources, set{"Core.zip": "core1"}, "Core.zip", "Resources/Core.zip=core1", "Core.zip"},
		{"base has a folder of the name", map[string]string{"Resources/Core.zip/x": "x"}, nil, update.Resources,
			set{"Core.zip": "core1"}, "Core.zip", "Resources/Core.zip=core1", "Core.zip"},
		{"no packs in the offer", one, nil, update.Binaries, set{"Lathe.so": "m2"}, "Lathe.so", "Lathe.so=m2", "all"},
		{"host symbols below", map[string]string{"Lathe.pdb": "old"}, nil, update.Binaries,
			set{"Lathe.so": "m1", "Lathe.pdb": "new"}, "Lathe.so", "Lathe.so=m1", "all"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLayers(t, test.base)
			for name, content := range test.own {
				l.put(l.own, name, content)
			}
			before := l.files(l.base)
			d := l.opened(false)
			if got := l.sync(d, test.mode, test.offer); got != test.fetched {
				t.Errorf("fetched %q, want %q", got, test.fetched)
			}
			l.wantOwn("after the update", test.has)
			if got := l.counting(d); got != test.counts {
				t.Errorf("of the base count %q, want %q", got, test.counts)
			}
			if got := l.sync(d, test.mode, test.offer); got != "" {
				t.Errorf("a second look fetched %q", got)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			again := l.opened(false)
			defer again.Close()
			l.wantOwn("at the next start", test.has)
			if got := l.counting(again); got != test.counts {
				t.Errorf("at the next start count %q, want %q", got, test.counts)
			}
			if l.files(l.base) != before {
				t.Errorf("the base changed: %s, was %s", l.files(l.base), before)
			}
		})
	}
}

// TestBaseAndBack rolls sets back and confirms others; the runtime receives the list of the live one.
func TestBaseAndBack(t *testing.T) {
	l := newLayers(t, map[string]string{"Lathe.so": "m3", "Resources/Core.zip": "core3", "Resources/Art.zip": "art1", "Resources/Old.zip": "old"})
	first := set{"Lathe.so": "m1", "Core.zip": "core1", "Art.zip": "art1", "Old.zip": "old"}
	second := set{"Lathe.so": "m2", "Core.zip": "core2", "Art.zip": "art1"}
	third := set{"Lathe.so": "m3", "Core.zip": "core3", "Art.zip": "art1"} // brought by an installer meanwhile

	d := l.opened(false)
	l.sync(d, update.Binaries, first)
	if err := d.Confirm(); err != nil {
		t.Fatal(err)
	}
	l.wantOwn("first", "Lathe.so=m1 Resources/Core.zip=core1")
	if fetched := l.sync(d, update.Binaries, second); fetched != "Lathe.so Core.zip" {
		t.Errorf("second fetched %q", fetched)
	}
	if got := l.counting(d); got != "Art.zip Core.zip" {
		t.Errorf("second counts %q", got)
	}
	if err := d.RollBack(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.wantOwn("taken back", "Lathe.so=m1 Resources/Core.zip=core1")
	if got := l.counting(d); got != "Art.zip Core.zip Old.zip" {
		t.Errorf("taken back, %q count", got)
	}
	if fetched := l.sync(d, update.Binaries, third); fetched != "" {
		t.Errorf("third fetched %q", fetched)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = l.opened(false) // the module is removed by design: nothing is restored
	defer d.Close()
	l.wantOwn("third is below", "Lathe.so.bak=m1")
	if err := d.RollBack(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.wantOwn("third taken back", "Lathe.so=m1 Resources/Core.zip=core1")
	if got := l.counting(d); got != "Art.zip Core.zip Old.zip" {
		t.Errorf("third taken back, %q count", got)
	}
}

// TestBaseProven confirms a set that uses files of the base: the files it replaced are removed for good.
func TestBaseProven(t *testing.T) {
	l := newLayers(t, map[string]string{"Lathe.so": "m2", "Resources/Core.zip": "core2"})
	d := l.opened(false)
	l.sync(d, update.Binaries, set{"Lathe.so": "m1", "Core.zip": "core1"})
	if err := d.Confirm(); err != nil {
		t.Fatal(err)
	}
	l.sync(d, update.Binaries, set{"Lathe.so": "m2", "Core.zip": "core2"})
	if err := errors.Join(d.Confirm(), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = l.opened(false)
	defer d.Close()
	for _, name := range []string{"Lathe.so", "Lathe.so.bak", "Resources/Core.zip"} {
		if _, err := os.Lstat(filepath.Join(l.own, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still in the own folder: %v", name, err)
		}
	}
	if got := l.sync(d, update.Binaries, set{"Lathe.so": "m2", "Core.zip": "core2"}); got != "" {
		t.Errorf("fetched %q, and it is all below", got)
	}
}

// TestBaseDamaged repairs a damaged file of the base with a copy in the own folder. It needs a verification to detect a
// change that keeps size and time.
func TestBaseDamaged(t *testing.T) {
	l := newLayers(t, map[string]string{"Lathe.so": "m1", "Resources/Core.zip": "core1"})
	offer := set{"Lathe.so": "m1", "Core.zip": "core1"}
	d := l.opened(false)
	l.sync(d, update.Resources, offer)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Lathe.so", "Resources/Core.zip"} {
		l.put(l.base, name, strings.Repeat("x", len(offer[filepath.Base(name)])))
	}
	d = l.opened(true)
	defer d.Close()
	if got := l.sync(d, update.Resources, offer); got != "Lathe.so Core.zip" {
		t.Errorf("fetched %q", got)
	}
	l.wantOwn("mended", "Lathe.so=m1 Resources/Core.zip=core1")
}

// TestBaseLinks checks that links in the base are never followed.
func TestBaseLinks(t *testing.T) {
	l := newLayers(t, map[string]string{"Resources/Real.zip": "core1"})
	outside := filepath.Join(t.TempDir(), "Core.zip")
	l.put(filepath.Dir(outside), "Core.zip", "core1")
	for name, to := range map[string]string{"Core.zip": outside, "Art.zip": "Real.zip"} {
		if err := os.Symlink(to, filepath.Join(l.base, "Resources", name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	d := l.opened(false)
	defer d.Close()
	offer := set{"Core.zip": "core1", "Art.zip": "core1", "Real.zip": "core1"}
	if got := l.sync(d, update.Resources, offer); got != "Art.zip Core.zip" {
		t.Errorf("fetched %q", got)
	}
}

// TestBaseLists checks that only the lists of sets that can still become live are kept.
func TestBaseLists(t *testing.T) {
	l := newLayers(t, map[string]string{"Resources/Old.zip": "old"})
	d := l.opened(false)
	defer d.Close()
	for i := range 5 {
		l.sync(d, update.Resources, set{"Core.zip": fmt.Sprintf("core%d", i)})
		if err := d.Confirm(); err != nil {
			t.Fatal(err)
		}
	}
	l.sync(d, update.Resources, set{"Core.zip": "core5"})
	l.sync(d, update.Resources, set{"Core.zip": "core6", "New.zip": "new"})
	if err := d.RollBack(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.wantOwn("back over two sets", "Resources/Core.zip=core4")
	lists, err := os.ReadDir(filepath.Join(l.own, install.StateDir, "packs"))
	if err != nil || len(lists) > 3 {
		t.Errorf("%d lists are kept, %v; want those of the live set, the one before and the one after at most", len(lists), err)
	}
	if got := l.counting(d); got != "Core.zip" {
		t.Errorf("%q count", got)
	}
}

// TestBaseReaders checks that an update of the base waits for processes that use it, and the reverse.
func TestBaseReaders(t *testing.T) {
	const readers = install.StateDir + "/readers"
	l := newLayers(t, map[string]string{"Lathe.so": "m1"})
	l.opened(false).Close()
	if _, err := os.Lstat(filepath.Join(l.base, install.StateDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a start left something in the base: %v", err)
	}
	l.put(l.base, readers, "")
	base, err := platform.OpenDir(l.base)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()

	d := l.opened(false)
	if alone, err := base.Lock(readers); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("the base could be changed meanwhile: %v, %v", alone, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	alone, err := base.Lock(readers)
	if err != nil {
		t.Fatalf("the base stays locked: %v", err)
	}
	own, err := platform.OpenDir(l.own)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cfg := install.Config{FS: own, Base: base, Log: zerolog.Nop(), OnWait: cancel,
		Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"}}
	if d, err := install.Open(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("opened while the base is being changed: %v, %v", d, err)
	}
	cfg.OnWait = func() { alone.Close() }
	d, err = install.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("after the change: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBaseBackup checks that a backup of unknown origin does not replace the delivered module.
func TestBaseBackup(t *testing.T) {
	l := newLayers(t, map[string]string{"Lathe.so": "m1"})
	l.put(l.own, "Lathe.so.bak", "m0")
	d := l.opened(false)
	defer d.Close()
	l.wantOwn("opened", "Lathe.so.bak=m0")
}

// TestBaseCaughtUp has an installer bring a file that the own folder already has.
func TestBaseCaughtUp(t *testing.T) {
	l := newLayers(t, nil)
	offer := set{"Core.zip": "core1"}
	d := l.opened(false)
	l.sync(d, update.Resources, offer)
	if err := errors.Join(d.Confirm(), d.Close()); err != nil {
		t.Fatal(err)
	}
	l.put(l.base, "Resources/Core.zip", "core1")
	l.put(l.own, "Resources/Core.zip", "xxxx1")
	d = l.opened(true)
	defer d.Close()
	if got := l.sync(d, update.Resources, offer); got != "Core.zip" {
		t.Errorf("fetched %q; the damaged file goes before the right one and is to be mended", got)
	}
	l.wantOwn("mended", "Resources/Core.zip=core1")

	if err := os.Remove(filepath.Join(l.own, "Resources", "Core.zip")); err != nil {
		t.Fatal(err)
	}
	if got := l.sync(d, update.Resources, set{"Core.zip": "core1", "New.zip": "new"}); got != "New.zip" {
		t.Errorf("fetched %q, and Core.zip is below", got)
	}
	if _, files, err := d.Set(); files != 1 || err != nil {
		t.Errorf("%d files of the own folder are in the set, %v; want 1", files, err)
	}
}

// TestBaseVerified: without an inode only a verification detects a changed file of the base.
func TestBaseVerified(t *testing.T) {
	base := faultfs.New(faultfs.Config{Path: "/delivered", NoInodes: true})
	stamp := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	plant := func(content string) {
		if err := errors.Join(base.Plant("Resources/Core.zip", content), base.Chtimes("Resources/Core.zip", stamp)); err != nil {
			t.Fatal(err)
		}
	}
	own := platform.FS(faultfs.New(faultfs.Config{}).Open(faultfs.Options{}))
	wants := func(verify bool) int {
		t.Helper()
		d, err := install.Open(context.Background(), install.Config{
			FS: own, Base: base.Open(faultfs.Options{}), Verify: verify, Trust: install.TrustFNV, Log: zerolog.Nop(),
			Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		plan, err := d.Plan(context.Background(), update.Resources, set{"Core.zip": "core1"}.offer(t), func(string, int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		return len(plan.Wants)
	}
	plant("core1")
	if n := wants(false); n != 0 {
		t.Errorf("%d files are wanted, and all are below", n)
	}
	plant("xxxx1")
	if n := wants(false); n != 0 {
		t.Errorf("%d files are wanted by a quick look, which believes the cache", n)
	}
	if n := wants(true); n != 1 {
		t.Errorf("%d files are wanted by a verification, and one is damaged", n)
	}
}
