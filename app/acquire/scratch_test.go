package acquire_test

import (
	"bytes"
	"context"
	"io"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// scratchFileName is where contents wait that a set patch made on the way to the listing.
const scratchFileName = "Cache/release/made.unverified"

// trivial is a game of which a release changes two lines.
func trivial(number uint64) tree {
	set := tree{"Lathe.so": prose(1, 40_000), "Core.zip": prose(2, 30_000), "Sounds.zip": noise(3, 20_000), "Note.txt": "one"}
	if number == 2 {
		set["Lathe.so"], set["Core.zip"] = edited(set["Lathe.so"], 1), edited(set["Core.zip"], 2)
		set["Copy.zip"] = set["Core.zip"]
	}
	return set
}

// newTrivial has both releases, and a set patch without digests between them.
func newTrivial(t testing.TB) *publisher {
	t.Helper()
	p := newPublisher(t)
	p.publish(1, trivial(1), publish.Request{})
	p.publish(2, trivial(2), publish.Request{})
	if patch := p.object(p.head(2).Patches[0].Object); patch[2] != 2 {
		t.Fatalf("the set patch has form %d", patch[2])
	}
	return p
}

// object reads an object of the release folder.
func (p *publisher) object(o release.Object) []byte {
	p.t.Helper()
	data, err := platform.ReadFile(p.disk.Open(faultfs.Options{}), o.Path(), 1<<20)
	must(p.t, err)
	return data
}

// listing reads the listing of a release.
func (p *publisher) listing(number uint64) release.Listing {
	p.t.Helper()
	ref := p.head(number).Listing
	list, err := release.UnpackListing(p.object(ref.Object), ref)
	must(p.t, err)
	return list
}

// memorySet is a set of a tree.
type memorySet struct {
	listing release.Listing
	set     tree
}

func (m memorySet) Open(i int) (delta.SetFile, error) {
	return struct {
		io.ReaderAt
		io.Closer
	}{strings.NewReader(m.set[m.listing[i].Path]), io.NopCloser(nil)}, nil
}

// repoStore is a release folder as the signer of lists needs it.
type repoStore struct{ fs platform.FS }

func (s repoStore) Load(name string, limit int64) ([]byte, error) {
	return platform.ReadFile(s.fs, name, limit)
}
func (s repoStore) Save(name string, data []byte) error { return platform.WriteFile(s.fs, name, data) }

// mislead signs a release 3, which is release 2 with a patch that leads to another set of the same sizes.
func (p *publisher) mislead() {
	p.t.Helper()
	wrong := p.sets[2].with(tree{"Core.zip": edited(p.sets[2]["Core.zip"], 99)})
	list := slices.Clone(p.listing(2))
	for i := range list {
		if list[i].Path == "Core.zip" {
			list[i].Sum = sumOfText(p.t, wrong["Core.zip"])
		}
	}
	list = release.NewListing(list)
	var patch bytes.Buffer
	old := p.listing(1)
	_, err := delta.MakeSetPatch(p.t.Context(), &patch, delta.SetSide{Listing: old, Source: memorySet{old, p.sets[1]}},
		delta.SetSide{Listing: list, Source: memorySet{list, wrong}}, delta.SetPatchOptions{})
	must(p.t, err)
	o, h := release.ObjectOf(patch.Bytes()), p.head(2)
	h.Number, h.Patches[0].Object = 3, o
	data, err := h.Encode()
	must(p.t, err)
	must(p.t, p.disk.Open(faultfs.Options{}).MkdirAll(path.Dir(o.Path()), 0o755))
	plant(p.t, p.disk, o.Path(), patch.String())
	plant(p.t, p.disk, release.ObjectOf(data).HeadPath(), string(data))
	repo, err := trust.OpenRepo(repoStore{p.disk.Open(faultfs.Options{})}, trust.RepoOptions{Now: func() time.Time { return p.clock }})
	must(p.t, err)
	entry := repo.Entries()[1]
	entry.Number, entry.Head = 3, release.ObjectOf(data)
	must(p.t, repo.SetEntries(append(repo.Entries(), entry), p.keys[3:]))
}

func sumOfText(t testing.TB, text string) release.Digest {
	t.Helper()
	d, err := release.SHA256.DigestOf(strings.NewReader(text))
	must(t, err)
	return d
}

// TestComputed is about set patches that carry no digests: what they make waits in a file until it has proven right.
func TestComputed(t *testing.T) {
	p := newTrivial(t)
	for name, story := range map[string]func(*testing.T, *publisher){
		"all is well":                          computedWell,
		"the patch leads elsewhere":            computedElsewhere,
		"an old file rots unseen":              computedRotten,
		"an old file is gone":                  computedGone,
		"no room for what is made":             computedNoRoom,
		"the disk fails while it is made":      computedWriteFails,
		"what was made can't be read":          computedReadFails,
		"something lies there from before":     computedLeftover,
		"stopped anywhere on the way":          computedStopped,
		"cancelled between making and taking":  computedCancelled,
		"nothing of the listing but the patch": computedResumed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, p.clone(t))
		})
	}
}

// finishes runs to release 2 and leaves nothing behind.
func (c *client) finishes() result {
	c.t.Helper()
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(2)
	c.clean()
	return r
}

// clean checks that nothing of a patch is left.
func (c *client) clean() {
	c.t.Helper()
	if _, there := c.disk.Files()[scratchFileName]; there || c.spooled() != 0 {
		c.t.Errorf("left behind: %t, %d files in the spool\n%s", there, c.spooled(), c.log.String())
	}
}

// wantPatched checks how many bytes the patch gave, and whether the listing came by itself.
func (c *client) wantPatched(r result, bytes int64, mirror *folderMirror, listing int) {
	c.t.Helper()
	if r.report.Bytes[acquire.Patched] != bytes || r.status.Attempt != 1 {
		c.t.Errorf("%v, %d attempts", r, r.status.Attempt)
	}
	if n := mirror.count(c.p.head(2).Listing.Object.Path()); n != listing {
		c.t.Errorf("the listing was asked for %d times, want %d", n, listing)
	}
	if n := mirror.count(c.p.head(2).Patches[0].Object.Path()); n != 1 {
		c.t.Errorf("the patch was asked for %d times", n)
	}
}

func computedWell(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	var made int
	fsys := c.disk.Open(faultfs.Options{After: func(o faultfs.Op) {
		if o.Name == scratchFileName && o.Verb == faultfs.Sync {
			t.Errorf("%s", o.Label())
		}
		if o.Name == scratchFileName && o.Verb == faultfs.Write {
			made += int(o.Size)
		}
	}})
	r, err := c.try(t.Context(), fsys)
	must(t, err)
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(2)
	c.clean()
	c.wantPatched(r, 70_000, mirror, 0)
	if made != 70_000 || r.report.Bytes[acquire.Copied] != 30_000 {
		t.Errorf("%d bytes were made, %v", made, r)
	}
}

// computedElsewhere: the key's holder signed nonsense. It costs the way there, and nothing of it reaches the install.
func computedElsewhere(t *testing.T, p *publisher) {
	p.mislead()
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	r := c.finishes()
	if n := mirror.count(p.head(3).Patches[0].Object.Path()); r.report.Release.Number != 3 || r.report.Bytes[acquire.Patched] != 0 || n != 1 || r.status.Attempt != 1 {
		t.Errorf("%v, %d attempts; the patch was asked for %d times", r, r.status.Attempt, n)
	}
	if !strings.Contains(c.log.String(), "does not lead to the listing that the head names") {
		t.Errorf("%s", c.log.String())
	}
}

// rotten is a client of release 1 with a file that changed and does not show it.
func rotten(t *testing.T, p *publisher, mirror download.Mirror) *client {
	c := newClient(t, p, mirror)
	c.disk = faultfs.New(faultfs.Config{Now: time.Now, NoInodes: true})
	c.at(1)
	content := []byte(c.disk.Files()["Resources/Core.zip"])
	for i := range 30 {
		content[i*1000] ^= 0x55
	}
	rot(t, c.disk, "Resources/Core.zip", content)
	return c
}

// computedRotten: the patch is not blamed for an old file, and what does not need that file comes by it all the same.
func computedRotten(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := rotten(t, p, mirror)
	r := c.finishes()
	if n := r.report.Bytes[acquire.Entire] + r.report.Bytes[acquire.Chunked]; n < 30_000 {
		t.Errorf("%v", r)
	}
	c.wantPatched(r, r.report.Bytes[acquire.Patched], mirror, 1)
	if log := c.log.String(); !strings.Contains(log, `\"Core.zip\" and 0 more files are not what was installed`) {
		t.Errorf("%s", log)
	}
}

func computedGone(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	remove(t, c.disk, "Resources/Core.zip")
	r := c.finishes()
	if n := r.report.Bytes[acquire.Entire] + r.report.Bytes[acquire.Chunked]; n < 30_000 {
		t.Errorf("%v", r)
	}
	c.wantPatched(r, r.report.Bytes[acquire.Patched], mirror, 1)
}

func computedNoRoom(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	c.disk.ClaimFree(16<<20 + 110_000)
	r := c.finishes()
	c.wantPatched(r, 70_000, mirror, 1)
	if !strings.Contains(c.log.String(), "bytes are free in") {
		t.Errorf("%s", c.log.String())
	}
}

// breaking runs with a fault of the scratch file.
func breaking(t *testing.T, p *publisher, rule faultfs.Rule, listing int) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	fsys := c.disk.Open(faultfs.Options{Reads: true})
	rule.Name = scratchFileName
	fsys.Inject(rule)
	r, err := c.try(t.Context(), fsys)
	must(t, err)
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(2)
	c.clean()
	c.wantPatched(r, 70_000, mirror, listing)
}

func computedWriteFails(t *testing.T, p *publisher) {
	breaking(t, p, faultfs.Rule{Verb: faultfs.Write, Err: syscall.ENOSPC}, 1)
}

func computedReadFails(t *testing.T, p *publisher) {
	breaking(t, p, faultfs.Rule{Verb: faultfs.Read}, 0)
}

// computedLeftover: what a stop left goes at the next start, also if that has nothing to do.
func computedLeftover(t *testing.T, p *publisher) {
	c := newClient(t, p, p.bareMirror()).at(2)
	plant(t, c.disk, scratchFileName, "of another time")
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.clean()
}

// computedStopped stops before and inside every write of an update, and restarts.
func computedStopped(t *testing.T, p *publisher) {
	template := newClient(t, p, p.bareMirror()).at(1)
	whole := template.disk.Clone().Open(faultfs.Options{})
	count := newClient(t, p, p.bareMirror())
	count.disk = whole.Disk()
	_, err := count.try(t.Context(), whole)
	must(t, err)
	begun, halves := false, 0
	for k, op := range whole.Ops() {
		begun = begun || op.Name == scratchFileName && op.Verb == faultfs.Create
		if !begun || k%testlevel.Stride(3, 9) != 0 {
			continue
		}
		c := newClient(t, p, p.bareMirror())
		c.disk = template.disk.Clone()
		fsys := c.disk.Open(faultfs.Options{})
		if k%2 == 0 {
			fsys.StopInside(k + 1)
		} else {
			fsys.StopBefore(k + 1)
		}
		if _, err := c.try(t.Context(), fsys); err == nil && c.differs(2) != nil {
			t.Fatalf("stopped at %d: no error, and not release 2", k)
		}
		fsys.Kill()
		c.disk = c.disk.Crash(faultfs.Keep(50, uint64(k)))
		if _, there := c.disk.Files()[scratchFileName]; there {
			halves++
		}
		c.log.Reset()
		r := c.run()
		if err := c.differs(2); err != nil {
			t.Fatalf("stopped at %s: %v; %v\n%s", op.Label(), err, r, c.log.String())
		}
		if _, there := c.disk.Files()[scratchFileName]; there {
			t.Fatalf("stopped at %s: what was made is still there", op.Label())
		}
	}
	if halves == 0 {
		t.Error("no stop left anything of what was made")
	}
}

// computedCancelled: a cancellation removes the scratch file, and fetched bytes are not fetched again.
func computedCancelled(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	ctx, cancel := context.WithCancel(t.Context())
	fsys := c.disk.Open(faultfs.Options{After: func(o faultfs.Op) {
		if strings.Contains(o.Name, "~") && o.Verb == faultfs.Create {
			cancel()
		}
	}})
	if r, err := c.try(ctx, fsys); err != nil || r.status.Outcome != update.Cancelled {
		t.Fatalf("%v, %v", r, err)
	}
	if _, there := c.disk.Files()[scratchFileName]; there || c.spooled() == 0 {
		t.Errorf("left behind: %t; %d files in the spool", there, c.spooled())
	}
	mirror.forget()
	r := c.finishes()
	if mirror.count(p.head(2).Patches[0].Object.Path()) != 0 || mirror.count(p.head(2).Listing.Object.Path()) != 0 || r.report.Bytes[acquire.Patched] == 0 {
		t.Errorf("%v; asked for %v", r, mirror.asked)
	}
}

// computedResumed: a stop before anything was remembered leaves the patch in the spool, from which it is made again.
func computedResumed(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	ctx, cancel := context.WithCancel(t.Context())
	fsys := c.disk.Open(faultfs.Options{After: func(o faultfs.Op) {
		if o.Name == scratchFileName && o.Verb == faultfs.Create {
			cancel()
		}
	}})
	if r, err := c.try(ctx, fsys); err != nil || r.status.Outcome != update.Cancelled {
		t.Fatalf("%v, %v", r, err)
	}
	mirror.forget()
	r := c.finishes()
	if mirror.count(p.head(2).Patches[0].Object.Path()) != 0 || r.report.Bytes[acquire.Patched] != 70_000 {
		t.Errorf("%v; asked for %v", r, mirror.asked)
	}
}
