package acquire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/install"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
)

const (
	target  = "Linux-x64"
	product = "lathe"
)

// epoch is when every publisher begins.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree is files of a game: content by path below Resources, or below PlatformBinaries for Linux.
type tree map[string]string

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

// binary reports whether a file of a tree is a module or a companion of one.
func binary(name string) bool { return name == "Lathe" || strings.HasPrefix(name, "Lathe.") }

// prose compresses, noise does not.
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

func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// edited changes a few bytes here and there.
func edited(text string, seed uint64) string {
	b := []byte(text)
	r := rand.New(rand.NewPCG(seed, 11))
	for range 4 {
		copy(b[r.IntN(len(b)-10):], fmt.Sprintf("<%d>", r.IntN(100)))
	}
	return string(b)
}

// publisher is a game's release folder in memory, with the keys for it.
type publisher struct {
	t     testing.TB
	disk  *faultfs.Disk
	clock time.Time
	keys  []*trust.PrivateKey
	root  []byte
	sets  map[uint64]tree
	after map[uint64]*faultfs.Disk // the folder when a release was the newest

	installs map[uint64]*installed // of each release; clones share those of the releases that they share
}

// installed is the disk of an install, made when a test first needs it.
type installed struct {
	once sync.Once
	disk *faultfs.Disk
}

func newPublisher(t testing.TB) *publisher {
	t.Helper()
	p := &publisher{t: t, disk: faultfs.New(faultfs.Config{}), clock: epoch, sets: map[uint64]tree{}, after: map[uint64]*faultfs.Disk{}, installs: map[uint64]*installed{}}
	plan := trust.RootPlan{}
	for _, role := range trust.KeyRoles() {
		n := 1
		if role == trust.RoleRoot {
			n = 3
		}
		var r trust.RolePlan
		for range n {
			key, err := trust.GenerateKey(false)
			must(t, err)
			p.keys = append(p.keys, key)
			r.Keys = append(r.Keys, key.Public())
		}
		plan[role] = r
	}
	must(t, publish.Init(p.disk.Open(faultfs.Options{}), product, "", plan, p.keys, p.options()))
	p.set(`Patches = 5`, `Patches = 2`)
	p.set(`Brotli = 32`, `Brotli = 0`) // it would take most of the tests' time
	p.set(`Plain = true`, `Plain = false`)
	p.with(func(f *publish.Folder) error {
		root, _, err := f.Root()
		p.root = root
		return err
	})
	return p
}

func (p *publisher) options() publish.Options {
	return publish.Options{Now: func() time.Time { return p.clock }}
}

// set changes a setting.
func (p *publisher) set(old, now string) {
	p.t.Helper()
	fsys := p.disk.Open(faultfs.Options{})
	text, err := platform.ReadFile(fsys, publish.SettingsFile, 1<<20)
	must(p.t, err)
	if !bytes.Contains(text, []byte(old)) {
		p.t.Fatalf("the settings have no %q", old)
	}
	must(p.t, platform.WriteFile(fsys, publish.SettingsFile, bytes.Replace(text, []byte(old), []byte(now), 1)))
}

func (p *publisher) with(do func(f *publish.Folder) error) {
	p.t.Helper()
	f, err := publish.Open(p.disk.Open(faultfs.Options{}), p.options())
	must(p.t, err)
	err = do(f)
	must(p.t, errors.Join(err, f.Close()))
}

// publish makes a release of a set.
func (p *publisher) publish(number uint64, set tree, r publish.Request) {
	p.t.Helper()
	p.clock = p.clock.Add(time.Hour)
	saved := p.clock // no two releases have files of the same time: the publisher would not look at them
	game := faultfs.New(faultfs.Config{Now: func() time.Time { return saved }})
	for name, content := range set {
		if binary(name) {
			name = "PlatformBinaries/" + target + "/" + name
		} else {
			name = "Resources/" + name
		}
		must(p.t, game.Plant(name, content))
	}
	r.Effort = publish.EffortFast // tests are about which way a client takes: the best level would clear 40 MB for each object
	r.Number, r.Version = number, fmt.Sprintf("1.0.%d", number)
	p.sets[number] = set
	p.with(func(f *publish.Folder) error {
		_, err := f.Publish(context.Background(), game.Open(faultfs.Options{}), r, p.keys[3:])
		return err
	})
	p.after[number], p.installs[number] = p.disk.Clone(), &installed{}
}

// clone is a publisher that goes on by itself.
func (p *publisher) clone(t testing.TB) *publisher {
	c := *p
	c.t, c.disk, c.sets, c.after, c.installs = t, p.disk.Clone(), maps.Clone(p.sets), maps.Clone(p.after), maps.Clone(p.installs)
	return &c
}

// when is the folder as it was when a release was the newest.
func (p *publisher) when(number uint64) *folderMirror {
	return &folderMirror{name: fmt.Sprintf("mem:%d", number), fs: p.after[number].Clone().Open(faultfs.Options{})}
}

// change changes a line of the signed list.
func (p *publisher) change(number uint64, change func(*release.Entry)) {
	p.t.Helper()
	p.clock = p.clock.Add(time.Hour)
	p.with(func(f *publish.Folder) error {
		_, err := f.Change(context.Background(), publish.Which{Channel: "stable", Number: number}, p.keys[3:], change)
		return err
	})
}

// folderMirror is a mirror on a disk in memory. It counts requests, and injects configured faults.
type folderMirror struct {
	name string
	fs   platform.FS
	bare bool // it hands out no sequels

	// absolute hands out no relative sequels, as the folders of earlier publishers.
	absolute bool

	mu    sync.Mutex
	asked []string
	bytes int64
	spoil func(name string, from int64) error          // an answer that is an error; may be nil
	bend  func(name string, data []byte) []byte        // other bytes than those of the file; may be nil
	hurry func(ctx context.Context, name string) error // called before each answer; may be nil
}

// bareMirror is a mirror without sequels, where every file is asked for by its name.
func (p *publisher) bareMirror() *folderMirror {
	w := p.mirror()
	w.bare = true
	return w
}

func (p *publisher) mirror() *folderMirror {
	return &folderMirror{name: "mem:", fs: p.disk.Open(faultfs.Options{})}
}

func (w *folderMirror) Name() string { return w.name }

func (w *folderMirror) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	w.mu.Lock()
	w.asked = append(w.asked, name)
	w.mu.Unlock()
	if w.hurry != nil {
		if err := w.hurry(ctx, name); err != nil {
			return nil, err
		}
	}
	if w.spoil != nil {
		if err := w.spoil(name, from); err != nil {
			return nil, err
		}
	}
	data, err := platform.ReadFile(w.fs, name, 1<<30)
	if errors.Is(err, fs.ErrNotExist) || strings.HasPrefix(name, "sequels/") && (w.bare || w.absolute && bytes.HasPrefix(data, []byte("CQ\x03"))) {
		return nil, &download.MissingError{Mirror: w.name, Name: name}
	}
	if err != nil {
		return nil, &download.NetError{Mirror: w.name, Name: name, Kind: download.NetReset, Err: err}
	}
	if w.bend != nil {
		data = w.bend(name, bytes.Clone(data))
	}
	if int64(len(data)) > limit {
		return nil, &download.WrongError{Mirror: w.name, Name: name, Kind: download.WrongLong}
	}
	if to < 0 || to > int64(len(data)) {
		to = int64(len(data))
	}
	return &folderReader{bytes.NewReader(data[from:to]), w, int64(len(data))}, nil
}

type folderReader struct {
	*bytes.Reader
	w     *folderMirror
	total int64
}

func (r *folderReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.w.mu.Lock()
	r.w.bytes += int64(n)
	r.w.mu.Unlock()
	return n, err
}

func (r *folderReader) Close() error { return nil }

func (r *folderReader) Total() int64 { return r.total }

// taken is how many bytes were read so far.
func (w *folderMirror) taken() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// forget resets the counts.
func (w *folderMirror) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.bytes = nil, 0
}

// count is how often names that contain a word were asked for.
func (w *folderMirror) count(word string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.asked {
		if strings.Contains(name, word) {
			n++
		}
	}
	return n
}

// client is an install in memory that follows a publisher.
type client struct {
	t       testing.TB
	p       *publisher
	disk    *faultfs.Disk
	bare    *faultfs.Disk // the disk as it began
	mirrors []download.Mirror

	verify bool
	fails  bool // a new set fails to start, until it is rolled back
	server acquire.Server
	ahead  bool   // fetch during a maintenance
	whole  bool   // the program itself is updated, too
	waits  string // the program that waits for its trial
	change func(*acquire.Options)
	notes  string
	log    bytes.Buffer
	source func(*acquire.Source) // is told it before it is used
}

func newClient(t testing.TB, p *publisher, mirrors ...download.Mirror) *client {
	disk := faultfs.New(faultfs.Config{Now: time.Now})
	return &client{t: t, p: p, disk: disk, bare: disk, mirrors: mirrors}
}

// at gives the client an install of a release. Clients without settings of their own get copies of one install.
func (c *client) at(number uint64) *client {
	c.t.Helper()
	if c.disk != c.bare || c.change != nil || c.server != nil || c.whole || c.verify {
		return c.install(number)
	}
	shared := c.p.installs[number]
	shared.once.Do(func() { shared.disk = newClient(c.t, c.p).install(number).disk })
	if shared.disk == nil {
		c.t.Fatalf("release %d could not be installed", number)
	}
	c.disk = shared.disk.Clone()
	return c
}

// install installs a release over a mirror whose newest release it is.
func (c *client) install(number uint64) *client {
	c.t.Helper()
	mirrors := c.mirrors
	c.mirrors = []download.Mirror{c.p.when(number)}
	c.run()
	c.holds(number)
	c.mirrors = mirrors
	c.log.Reset()
	return c
}

// result is what became of one run.
type result struct {
	status update.Status
	report acquire.Report
}

func (r result) String() string {
	return fmt.Sprintf("%s %v; release %d from %d, %v, %d bytes fetched, stale %q", r.status.Outcome, r.status.Fault, r.report.Release.Number,
		r.report.From, r.report.Bytes, r.report.Fetched, r.report.Stale)
}

// run is one start of the client: it updates, makes the new set live, and has it prove itself.
func (c *client) run() result {
	c.t.Helper()
	r, err := c.try(context.Background(), c.disk.Open(faultfs.Options{}))
	if err != nil {
		c.t.Fatalf("%v\n%s", err, c.log.String())
	}
	return r
}

// try is run on a process that may stop.
func (c *client) try(ctx context.Context, fsys *faultfs.FS) (r result, err error) {
	log := zerolog.New(zerolog.SyncWriter(&c.log))
	later := func() time.Time { return time.Now().Add(time.Hour) }
	d, err := install.Open(ctx, install.Config{
		FS: fsys, Verify: c.verify, Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: later,
		Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var destination interface {
		update.Destination
		acquire.Disk
	} = d
	if c.whole {
		own, err := install.OpenProgram(ctx, install.Config{
			FS: install.ProgramView(fsys), Names: install.ProgramNames("Lathe", "", ""), Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: later,
		})
		if err != nil {
			return r, err
		}
		both := install.WithProgram(d, own)
		destination = both
		defer func() { c.waits, err = both.Waiting(), errors.Join(err, own.Close()) }()
	}
	o := acquire.Options{
		Mirrors: c.mirrors, Server: c.server, FS: fsys, Folder: "Cache/release", Disk: destination, Root: c.p.root, Target: target, HostABI: 1,
		Now: func() time.Time { return c.p.clock }, Log: log, Notes: func(text string) { c.notes = text }, Language: "en",
		Link: acquire.Link{Rate: 6e6, RoundTrip: 20 * time.Millisecond}, Rates: acquire.Rates{Inflate: 400e6, Deflate: 70e6},
	}
	if c.change != nil {
		c.change(&o)
	}
	s, err := acquire.NewSource(o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Release()) }()
	if c.source != nil {
		c.source(s)
	}
	retry := update.DefaultRetry()
	retry.Base, retry.Cap, retry.Transfer = time.Millisecond, 2*time.Millisecond, 3
	u, err := update.New(update.Config{Source: s, Destination: destination, CanSelfUpdate: true, Retry: retry, Log: log, Prefetch: c.ahead})
	if err != nil {
		return r, err
	}
	r.status = u.Run(ctx)
	r.report = s.Report()
	if r.status.Outcome == update.ResourcesReady || r.status.Outcome == update.BinariesStaged {
		if err = d.Promote(ctx); err == nil && !c.fails {
			err = d.Confirm()
		}
		for range install.MaxFailed {
			if err == nil && c.fails {
				_, err = d.FailedStart(ctx, "crashed")
			}
		}
	}
	return r, err
}

// holds checks that the install is exactly a set.
func (c *client) holds(number uint64) {
	c.t.Helper()
	if err := c.differs(number); err != nil {
		c.t.Fatalf("not release %d: %v\n%s", number, err, c.log.String())
	}
}

func (c *client) differs(number uint64) error {
	set, files := c.p.sets[number], c.disk.Files()
	for name, content := range set {
		if !binary(name) {
			name = "Resources/" + name
		}
		if got, there := files[name]; !there || got != content {
			return fmt.Errorf("%s has %d bytes, want %d (there: %t)", name, len(got), len(content), there)
		}
	}
	for name := range files {
		rest, pack := strings.CutPrefix(name, "Resources/")
		if _, ours := set[rest]; pack && !ours && !strings.HasSuffix(name, "/") {
			return fmt.Errorf("%s is there", name)
		}
	}
	return nil
}

// spooled is how many files the spool has.
func (c *client) spooled() (n int) {
	for name := range c.disk.Files() {
		if strings.HasPrefix(name, "Cache/release/spool/") && !strings.HasSuffix(name, "/") {
			n++
		}
	}
	return n
}

// wantOutcome checks how a run ended.
func (c *client) wantOutcome(r result, o update.Outcome, cause update.Cause) {
	c.t.Helper()
	got := update.NoCause
	if r.status.Fault != nil {
		got = r.status.Fault.Cause
	}
	if r.status.Outcome != o || got != cause {
		c.t.Fatalf("%v, want %s %s\n%s", r, o, cause, c.log.String())
	}
}

// remove takes a file of the install away, or of the release folder.
func remove(t testing.TB, d *faultfs.Disk, name string) {
	t.Helper()
	must(t, d.Open(faultfs.Options{}).Remove(name))
}

// plant replaces a file.
func plant(t testing.TB, d *faultfs.Disk, name, content string) {
	t.Helper()
	fsys := d.Open(faultfs.Options{})
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	must(t, err)
	_, err = f.Write([]byte(content))
	must(t, errors.Join(err, f.Close()))
}

// rot changes bytes of a file in a way that does not show in its size and its time. The disk has no inodes.
func rot(t testing.TB, d *faultfs.Disk, name string, content []byte) {
	t.Helper()
	info, err := d.Open(faultfs.Options{}).Stat(name)
	must(t, err)
	plant(t, d, name, string(content))
	must(t, d.Chtimes(name, info.ModTime()))
}

// head reads the head of a release.
func (p *publisher) head(number uint64) (h release.Head) {
	p.t.Helper()
	p.with(func(f *publish.Folder) error {
		list, err := f.Show(publish.Which{Channel: "stable", Target: target, Number: number})
		if err == nil {
			h = list[0].Head
		}
		return err
	})
	return h
}

// removeSolid removes the index of a release's solid form.
func (p *publisher) removeSolid(number uint64) {
	p.t.Helper()
	index, found := p.head(number).Solid()
	if !found {
		p.t.Fatalf("release %d has no solid form", number)
	}
	remove(p.t, p.disk, index.Path())
}

// sources reads where the files of a release come from.
func (p *publisher) sources(number uint64) release.Sources {
	p.t.Helper()
	o := p.head(number).Sources
	data, err := platform.ReadFile(p.disk.Open(faultfs.Options{}), o.Path(), 1<<20)
	must(p.t, err)
	s, err := release.UnpackSources(data, o)
	must(p.t, err)
	return s
}

func readerOf(text string) io.Reader { return strings.NewReader(text) }
