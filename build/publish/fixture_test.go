package publish_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"collet/build/publish"
	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when every fixture begins.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// keys are one of each role; root has three.
type keys struct {
	plan trust.RootPlan
	all  []*trust.PrivateKey
}

func newKeys(t testing.TB) keys {
	t.Helper()
	k := keys{plan: trust.RootPlan{}}
	for _, role := range trust.KeyRoles() {
		n := 1
		if role == trust.RoleRoot {
			n = 3
		}
		var p trust.RolePlan
		for range n {
			key, err := trust.GenerateKey(false)
			must(t, err)
			k.all = append(k.all, key)
			p.Keys = append(p.Keys, key.Public())
		}
		k.plan[role] = p
	}
	return k
}

// online are those that sign releases.
func (k keys) online() []*trust.PrivateKey { return k.all[3:] }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a release folder with its publisher and a reader.
type fixture struct {
	t     testing.TB
	keys  keys
	fs    platform.FS
	root  []byte
	clock time.Time

	workers int // of each publication; 0 means all cores
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureOn(t, memory(t))
}

// memory is a folder on no disk, so that thousands of syncs cost nothing.
func memory(t testing.TB) platform.FS {
	fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	t.Cleanup(fsys.Kill)
	return fsys
}

func newFixtureOn(t testing.TB, fsys platform.FS) *fixture {
	t.Helper()
	s := &fixture{t: t, keys: newKeys(t), fs: fsys, clock: epoch}
	must(t, publish.Init(fsys, "lathe", "", s.keys.plan, s.keys.all, s.options()))
	f := s.open()
	defer f.Close()
	root, _, err := f.Root()
	must(t, err)
	s.root = root
	return s
}

func openDir(t testing.TB, name string) platform.FS {
	t.Helper()
	d, err := platform.OpenDir(name)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func (s *fixture) options() publish.Options {
	return publish.Options{Now: func() time.Time { return s.clock }, Workers: s.workers}
}

func (s *fixture) open() *publish.Folder {
	s.t.Helper()
	f, err := publish.Open(s.fs, s.options())
	must(s.t, err)
	return f
}

// publish publishes a game folder, with the least effort unless the request names one.
func (s *fixture) publish(game platform.FS, r publish.Request) publish.Summary {
	s.t.Helper()
	r.Effort = cmp.Or(r.Effort, publish.EffortFast)
	f := s.open()
	defer func() { must(s.t, f.Close()) }()
	sum, err := f.Publish(context.Background(), game, r, s.keys.online())
	must(s.t, err)
	return sum
}

// with opens the folder for something else.
func (s *fixture) with(do func(f *publish.Folder) error) {
	s.t.Helper()
	f := s.open()
	err := do(f)
	must(s.t, errors.Join(err, f.Close()))
}

// set changes a setting.
func (s *fixture) set(old, now string) {
	s.t.Helper()
	text, err := platform.ReadFile(s.fs, publish.SettingsFile, 1<<20)
	must(s.t, err)
	if !bytes.Contains(text, []byte(old)) {
		s.t.Fatalf("the settings have no %q", old)
	}
	must(s.t, platform.WriteFile(s.fs, publish.SettingsFile, bytes.Replace(text, []byte(old), []byte(now), 1)))
}

// tree is a game folder as text.
type tree map[string]string

// game writes a tree to a folder.
func game(t testing.TB, files tree) platform.FS {
	t.Helper()
	dir := t.TempDir()
	writeTree(t, dir, files)
	return openDir(t, dir)
}

func writeTree(t testing.TB, dir string, files tree) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

func (f tree) with(changes tree, gone ...string) tree {
	next := tree{}
	for name, content := range f {
		next[name] = content
	}
	for name, content := range changes {
		next[name] = content
	}
	for _, name := range gone {
		delete(next, name)
	}
	return next
}

func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func prose(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 3))
	words := strings.Fields("gear lathe tooth chuck collet spindle turret feed rate depth of cut coolant chip face bore")
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(" \n,.;(){}="[r.IntN(10)])
	}
	return b.String()[:n]
}

// small is a game with two targets.
func small(release int) tree {
	return tree{
		"Resources/Core.zip":                       prose(1, 900) + fmt.Sprint(release),
		"Resources/Maps/Town.zip":                  noise(2, 900),
		"Resources/Same.zip":                       noise(2, 900),
		"Resources/Empty.txt":                      "",
		"PlatformBinaries/Linux-x64/Lathe.so":      prose(3, 900) + fmt.Sprint("build ", release),
		"PlatformBinaries/Windows-win64/Lathe.dll": prose(4, 900) + fmt.Sprint("build ", release),
		"notes/en.md":                              fmt.Sprint("release ", release),
	}
}

// reader is a client with nothing but the root that it was built with, and no memory.
type reader struct {
	trust.Current
	head    release.Head
	listing release.Listing
	sources release.Sources
}

// store reads a release folder as a web server gives it.
type store struct{ fs platform.FS }

func (s store) Load(name string, limit int64) ([]byte, error) {
	return platform.ReadFile(s.fs, name, limit)
}
func (s store) Save(string, []byte) error { return fs.ErrPermission }

func query(channel, target string, have uint64) release.Query {
	return release.Query{Product: "lathe", Channel: channel, Target: target, Install: "7f3c", Have: have}
}

// read follows the signed lists to a release and reads everything that it names; whatever is missing or wrong is an error.
func (s *fixture) read(fsys platform.FS, q release.Query) (r reader, err error) {
	client, err := trust.Open(s.root, &trust.MemoryStore{}, func() time.Time { return s.clock })
	if err != nil {
		return r, err
	}
	ctx, from := context.Background(), trust.StoreFetcher{Store: store{fsys}}
	if r.Current, err = client.Refresh(ctx, from, q); err != nil {
		return r, err
	}
	if r.head, err = client.Head(ctx, from, r.Choice); err != nil {
		return r, err
	}
	objects := []release.Object{r.head.Listing.Object, r.head.Sources}
	for _, p := range r.head.Patches {
		objects = append(objects, p.Object)
	}
	for _, n := range r.head.Notes {
		objects = append(objects, n)
	}
	var data []byte
	if data, err = get(fsys, r.head.Listing.Object); err == nil {
		if r.listing, err = release.UnpackListing(data, r.head.Listing); err == nil {
			if data, err = get(fsys, r.head.Sources); err == nil {
				r.sources, err = release.UnpackSources(data, r.head.Sources)
			}
		}
	}
	if err != nil {
		return r, err
	}
	for _, s := range r.sources {
		objects = append(objects, s.Whole)
		if s.Index.IsZero() {
			continue
		}
		if data, err = get(fsys, s.Index); err != nil {
			return r, err
		}
		set, err := chunk.ParseIndexSet(data)
		if err != nil {
			return r, err
		}
		ix, err := set.Index(s.Entry)
		if err != nil {
			return r, err
		}
		for _, p := range ix.Packs {
			objects = append(objects, release.Object{Sum: release.SHA256Digest(p.Digest), Size: p.Size})
		}
	}
	for _, o := range objects {
		if _, err := get(fsys, o); err != nil {
			return r, err
		}
	}
	return r, nil
}

// get reads an object and compares it with its name.
func get(fsys platform.FS, o release.Object) ([]byte, error) {
	data, err := platform.ReadFile(fsys, o.Path(), o.Size)
	if err == nil {
		err = o.Verify(data)
	}
	return data, err
}

// files builds the set from whole objects.
func (r reader) files(fsys platform.FS) (tree, error) {
	set := tree{}
	for _, f := range r.listing {
		s, found := r.sources.Find(f.Sum)
		if !found {
			return nil, fmt.Errorf("no source for %s", f.Path)
		}
		data, err := get(fsys, s.Whole)
		if err != nil {
			return nil, err
		}
		encoding, _ := chunk.ParseEncoding(string(s.Encoding))
		var out bytes.Buffer
		if err := chunk.UnpackObject(context.Background(), &out, bytes.NewReader(data), encoding, f.Size); err != nil {
			return nil, err
		}
		set[f.Path] = out.String()
	}
	return set, nil
}

// setOf is what a target's set of a game folder is.
func (f tree) setOf(target string) tree {
	set := tree{}
	for name, content := range f {
		for _, prefix := range []string{"Resources/", "PlatformBinaries/" + target + "/"} {
			if rest, is := strings.CutPrefix(name, prefix); is {
				set[rest] = content
			}
		}
	}
	return set
}

// same compares two sets.
func same(got, want tree) error {
	for name, content := range want {
		if got[name] != content {
			return fmt.Errorf("%s differs", name)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d files, want %d", len(got), len(want))
	}
	return nil
}

// wants reads the newest release and compares it.
func (s *fixture) wants(q release.Query, number uint64, want tree) reader {
	s.t.Helper()
	r, err := s.read(s.fs, q)
	must(s.t, err)
	got, err := r.files(s.fs)
	must(s.t, err)
	if r.Number != number {
		s.t.Fatalf("got release %d, want %d", r.Number, number)
	}
	must(s.t, same(got, want))
	return r
}

// patched applies the patch from old to r as a client does.
func (s *fixture) patched(old, r reader, have tree) tree {
	s.t.Helper()
	o, found := r.head.PatchFrom(old.head.Listing.Sum)
	if !found {
		s.t.Fatalf("release %d has no patch from %d", r.Number, old.Number)
	}
	data, err := get(s.fs, o)
	must(s.t, err)
	p, err := delta.OpenSetPatch(bytes.NewReader(data), old.listing, r.head.Listing.Sum)
	must(s.t, err)
	sink := &memorySink{}
	must(s.t, p.Apply(context.Background(), memorySource{old.listing, have}, sink))
	contents := map[release.Digest]string{}
	for _, f := range old.listing {
		contents[f.Sum] = have[f.Path]
	}
	for i, c := range p.Contents() {
		contents[c.Sum] = sink.contents[i].String()
	}
	set := tree{}
	for _, f := range p.Listing() {
		set[f.Path] = contents[f.Sum]
	}
	return set
}

type memorySource struct {
	listing release.Listing
	files   tree
}

func (m memorySource) Open(i int) (delta.SetFile, error) {
	return struct {
		io.ReaderAt
		io.Closer
	}{strings.NewReader(m.files[m.listing[i].Path]), io.NopCloser(nil)}, nil
}

type memorySink struct{ contents []*bytes.Buffer }

func (m *memorySink) Begin(int) (io.Writer, error) {
	m.contents = append(m.contents, &bytes.Buffer{})
	return m.contents[len(m.contents)-1], nil
}

func (m *memorySink) End(int) error { return nil }
