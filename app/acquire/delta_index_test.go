package acquire_test

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// scripts is a set of so many small files, and a module.
func scripts(n int) tree {
	set := tree{"Lathe.so": noise(1, 2000)}
	for i := range n {
		set[script(i)] = fmt.Sprint("script ", i)
	}
	return set
}

// script is a path of two hundred bytes, half of which is noise, so that few files make large lists.
func script(i int) string {
	return fmt.Sprintf("lib/part%02d/script%04d-%x.js", i%40, i, noise(uint64(i), 90))
}

// rewritten changes files of a set, from one number to another; every tenth becomes one that is worth packing.
func (f tree) rewritten(from, to int, word string) tree {
	changes := tree{}
	for i := from; i < to; i++ {
		changes[script(i)] = fmt.Sprint(word, " ", i)
		if i%10 == 3 {
			changes[script(i)] = fmt.Sprint(word, i, prose(uint64(i), 3000))
		}
	}
	return f.with(changes)
}

// newScripts has three releases without patches. The changes of the third lead from both; those of the first are much more
// than those of the second.
func newScripts(t testing.TB, files, first int) *publisher {
	p := newPublisher(t)
	none := publish.Request{Patches: new(int)}
	one := scripts(files)
	two := one.rewritten(0, first, "second")
	three := two.rewritten(first-5, first+15, "third").with(tree{"lib/added.js": "added"}, script(files-1))
	for i, set := range []tree{one, two, three} {
		p.publish(uint64(i+1), set, none)
	}
	return p
}

// TestChanges is about updates without a set patch of a release whose lists are large. Two of its stories are told in make
// test, which has the race detector watch them, and all in make test-all.
func TestChanges(t *testing.T) {
	small := newScripts(t, 500, 60)
	large := small
	if testlevel.Full() {
		large = newScripts(t, 1000, 600)
	}
	for name, story := range map[string]struct {
		p    *publisher
		tell func(*testing.T, *publisher)
	}{
		"one release behind":                {small, changesNear},
		"two releases behind":               {small, changesFar},
		"with the sequel":                   {small, changesInSequel},
		"as much as is needed":              {large, changesInPart},
		"too far behind":                    {small, changesTooFar},
		"of no known release":               {small, changesFromNowhere},
		"of what a package laid out":        {small, changesOfPackage},
		"as estimated, of small ones":       {small, changesEstimated},
		"as estimated, of large ones":       {large, changesEstimated},
		"missing":                           {small, changesMissing},
		"any byte wrong":                    {small, func(t *testing.T, p *publisher) { changesWrong(t, p, 8) }},
		"any byte of a part wrong":          {large, func(t *testing.T, p *publisher) { changesWrong(t, p, 12) }},
		"signed, and leads elsewhere":       {small, changesElsewhere},
		"signed, and lies about sources":    {small, changesWrongSources},
		"signed, and no such object":        {small, changesNoObject},
		"signed, with a table of lies":      {small, changesWrongTable},
		"other files are damaged":           {small, changesDamaged},
		"the patch is damaged":              {small, changesForPatch},
		"a mirror lies, the other does not": {small, changesOneLies},
	} {
		if !testlevel.Full() && name != "with the sequel" && name != "a mirror lies, the other does not" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := story.p.clone(t)
			if !strings.HasPrefix(name, "as estimated") {
				p.removeSolid(3) // it would take the place of the lists
			}
			story.tell(t, p)
		})
	}
}

// wantLists checks how often each of the lists was asked for.
func wantLists(t *testing.T, mirror *folderMirror, h release.Head, changes, listing, sources int) {
	t.Helper()
	got := [3]int{mirror.count(h.Changes.Path()), mirror.count(h.Listing.Object.Path()), mirror.count(h.Sources.Path())}
	if got != [3]int{changes, listing, sources} {
		t.Errorf("changes, listing and sources were asked for %v times, want %v", got, [3]int{changes, listing, sources})
	}
}

// lists is how many bytes the large lists of a head have.
func lists(h release.Head) int64 { return h.Listing.Object.Size + h.Sources.Size }

func changesNear(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(2)
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	c.holds(3)
	h := p.head(3)
	wantLists(t, mirror, h, 1, 0, 0)
	if h.Changes.IsZero() || h.Changes.Size > lists(h)/2 || r.report.Fetched > h.Changes.Size+20_000 {
		t.Errorf("%v, changes of %d bytes, lists of %d", r, h.Changes.Size, lists(h))
	}
}

func changesFar(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(1)
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.holds(3)
	wantLists(t, mirror, p.head(3), 1, 0, 0)
}

// changesInSequel: nothing but contents is asked for by name.
func changesInSequel(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(1)
	meet(t, mirror, 2)
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.holds(3)
	wantLists(t, mirror, p.head(3), 0, 0, 0)
}

// changesInPart: a client of the second release reads one window of large changes, a client of the first all that it needs.
func changesInPart(t *testing.T, p *publisher) {
	h := p.head(3)
	if h.Changes.Size <= acquire.WholeChanges {
		t.Fatalf("the changes have %d bytes", h.Changes.Size)
	}
	var fetched [3]int64
	for _, number := range []uint64{1, 2} {
		mirror := p.bareMirror()
		c := newClient(t, p, mirror).at(number)
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		c.holds(3)
		wantLists(t, mirror, h, 3-int(number), 0, 0)
		fetched[number] = r.report.Fetched
	}
	if fetched[2] > acquire.WholeChanges || fetched[1] < h.Changes.Size {
		t.Errorf("%v bytes came, the changes have %d", fetched, h.Changes.Size)
	}
}

// changesTooFar: a release in which nearly everything changed is where changes end.
func changesTooFar(t *testing.T, p *publisher) {
	fourth := tree{}
	for i := range 490 {
		fourth[script(i)] = prose(uint64(i), 200)
	}
	p.publish(4, p.sets[3].with(fourth), publish.Request{Patches: new(int)})
	p.publish(5, p.sets[4].rewritten(0, 9, "fifth"), publish.Request{Patches: new(int)})
	p.removeSolid(5)
	h := p.head(5)
	for number, want := range map[uint64][3]int{3: {1, 1, 1}, 4: {1, 0, 0}} {
		mirror := p.bareMirror()
		c := newClient(t, p, mirror).at(number)
		c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
		c.holds(5)
		wantLists(t, mirror, h, want[0], want[1], want[2])
	}
}

// changesFromNowhere: a client with an unknown installed release does not use the changes.
func changesFromNowhere(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror)
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(3)
	wantLists(t, mirror, p.head(3), 0, 1, 1)
}

// changesEstimated holds `collet release estimate` against clients.
func changesEstimated(t *testing.T, p *publisher) {
	for from, rate := range map[uint64]float64{1: 6e6, 2: 100e3} {
		line := acquire.Link{Rate: rate, RoundTrip: 20 * time.Millisecond, InFlight: 4}
		c := newClient(t, p, p.mirror()).at(from)
		c.change = func(o *acquire.Options) { o.Link = line }
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		var e publish.Estimate
		p.with(func(f *publish.Folder) error {
			list, err := f.Estimate(t.Context(), "stable", target, from, 3, line)
			e = list[0]
			return err
		})
		if more := r.report.Fetched - e.Cost.Bytes; more < 0 || more > 6000+e.Cost.Bytes/8 { // signed lists, head; and gaps between ranges
			t.Errorf("from %d: %d bytes came, %d were estimated: %v, %v", from, r.report.Fetched, e.Cost.Bytes, r, e.By)
		}
	}
}

// changesOfPackage: files of an earlier release, of which nothing is remembered, are recognised.
func changesOfPackage(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror)
	for name, content := range p.sets[2] {
		if !binary(name) {
			name = "Resources/" + name
		}
		must(t, c.disk.Plant(name, content))
	}
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	wantLists(t, mirror, p.head(3), 1, 0, 0)
	if n := mirror.count(p.head(2).Listing.Object.Path()); r.report.From != 2 || n != 1 {
		t.Errorf("%v; the listing of the installed release was asked for %d times", r, n)
	}
	remove(t, c.disk, "Resources/"+script(499)) // release 3 no longer has it, and its owner is unknown
	c.holds(3)
}

func changesMissing(t *testing.T, p *publisher) {
	h := p.head(3)
	remove(t, p.disk, h.Changes.Path())
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(2)
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	c.holds(3)
	if r.status.Attempt != 1 || mirror.count(h.Listing.Object.Path()) != 1 || mirror.count(h.Sources.Path()) != 1 {
		t.Errorf("%v after %d attempts: %q", r, r.status.Attempt, mirror.asked)
	}
}

// changesWrong changes a byte here and there, as a mirror may. The release is never another one, and it comes in one attempt.
func changesWrong(t *testing.T, p *publisher, places int64) {
	h, installed := p.head(3), newClient(t, p).at(2)
	end := min(h.Changes.Size, acquire.WholeChanges/2)
	for at := int64(0); at < end; at += 1 + end/places {
		mirror := p.bareMirror()
		c := installed.again(mirror)
		mirror.bend = func(name string, data []byte) []byte {
			if name == h.Changes.Path() {
				data[at] ^= 0x20
			}
			return data
		}
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		c.holds(3)
		if r.status.Attempt != 1 {
			t.Errorf("byte %d: %v, %d attempts\n%s", at, r, r.status.Attempt, c.log.String())
		}
	}
}

// resign signs release 4, which is release 3 with other changes.
func (p *publisher) resign(changes []byte) release.Head {
	p.t.Helper()
	h := p.head(3)
	h.Number, h.Changes = 4, release.ObjectOf(changes)
	data, err := h.Encode()
	must(p.t, err)
	must(p.t, p.disk.Open(faultfs.Options{}).MkdirAll(path.Dir(h.Changes.Path()), 0o755))
	plant(p.t, p.disk, h.Changes.Path(), string(changes))
	plant(p.t, p.disk, release.ObjectOf(data).HeadPath(), string(data))
	repo, err := trust.OpenRepo(repoStore{p.disk.Open(faultfs.Options{})}, trust.RepoOptions{Now: func() time.Time { return p.clock }})
	must(p.t, err)
	entry := repo.Entries()[2]
	entry.Number, entry.Head = 4, release.ObjectOf(data)
	must(p.t, repo.SetEntries(append(repo.Entries(), entry), p.keys[3:]))
	p.sets[4] = p.sets[3]
	return h
}

// changesOf reads the changes of release 3.
func (p *publisher) changesOf() []byte {
	p.t.Helper()
	data, err := platform.ReadFile(p.disk.Open(faultfs.Options{}), p.head(3).Changes.Path(), release.MaxChanges)
	must(p.t, err)
	return data
}

// remade makes changes from release 2 to 3 out of another listing and other sources.
func (p *publisher) remade(listing release.Listing, sources release.Sources) []byte {
	p.t.Helper()
	old := p.listing(2)
	sum, err := old.Digest()
	must(p.t, err)
	steps := []delta.ChangeStep{{From: delta.MarkOf(sum), Paths: delta.ChangedPaths(old, p.listing(3))}}
	data, err := delta.EncodeChanges(steps, listing, sources, release.MaxChanges)
	must(p.t, err)
	return data
}

// again is another install of the same release.
func (c *client) again(mirror *folderMirror) *client {
	next := newClient(c.t, c.p, mirror)
	next.disk = c.disk.Clone()
	return next
}

// wantFallback runs a client of release 2 with wrong but signed changes, and checks that it gets the right set all the same.
func wantFallback(t *testing.T, installed *client, h release.Head, listing, sources int) {
	t.Helper()
	mirror := installed.p.bareMirror()
	c := installed.again(mirror)
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	c.holds(4)
	if r.status.Attempt != 1 || mirror.count(h.Listing.Object.Path()) != listing || mirror.count(h.Sources.Path()) != sources {
		t.Errorf("%v after %d attempts: %q\n%s", r, r.status.Attempt, mirror.asked, c.log.String())
	}
}

func changesElsewhere(t *testing.T, p *publisher) {
	list := append(release.Listing(nil), p.listing(3)...)
	for i := range list {
		if list[i].Path == script(61) {
			list[i].Mode = release.ProgramMode
		}
	}
	wantFallback(t, newClient(t, p).at(2), p.resign(p.remade(list, p.sources(3))), 1, 1)
}

func changesWrongSources(t *testing.T, p *publisher) {
	sources := append(release.Sources(nil), p.sources(3)...)
	for i := range sources {
		if sources[i].Encoding != release.EncodedStored {
			sources[i].Whole.Sum = sumOfText(t, fmt.Sprint("nowhere", i))
		}
	}
	wantFallback(t, newClient(t, p).at(2), p.resign(p.remade(p.listing(3), sources)), 0, 1)
}

func changesNoObject(t *testing.T, p *publisher) {
	wantFallback(t, newClient(t, p).at(2), p.resign([]byte("CC\x01 is how it begins, and more does not follow")), 1, 1)
}

// changesWrongTable: a table that names another place, or more than there is.
func changesWrongTable(t *testing.T, p *publisher) {
	data, installed := p.changesOf(), newClient(t, p).at(2)
	for at, value := range map[int]byte{3: 0, 12: 0x7f, 13: 0x7f} {
		lie := append([]byte(nil), data...)
		lie[at] = value
		liar := p.clone(t)
		c := *installed
		c.p = liar
		wantFallback(t, &c, liar.resign(lie), 1, 1)
	}
}

// changesDamaged: what the changes do not speak of is looked up in the list of sources.
func changesDamaged(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(2)
	remove(t, c.disk, "Resources/"+script(400))
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.holds(3)
	wantLists(t, mirror, p.head(3), 1, 0, 1)
}

// changesForPatch: where a patch is no good, the changes of the lists are.
func changesForPatch(t *testing.T, p *publisher) {
	one := 1
	p.publish(4, p.sets[3].rewritten(0, 9, "fourth"), publish.Request{Patches: &one})
	p.removeSolid(4)
	h := p.head(4)
	patch, found := h.PatchFrom(p.head(3).Listing.Sum)
	if !found {
		t.Fatalf("no patch: %v", h.Patches)
	}
	remove(t, p.disk, patch.Path())
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(3)
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.holds(4)
	wantLists(t, mirror, h, 1, 0, 0)
}

func changesOneLies(t *testing.T, p *publisher) {
	bad, good := p.bareMirror(), p.bareMirror()
	bad.name, good.name = "mem:bad", "mem:good"
	h := p.head(3)
	bad.bend = func(name string, data []byte) []byte {
		if name == h.Changes.Path() {
			return []byte(strings.Repeat("x", len(data)))
		}
		return data
	}
	c := newClient(t, p, bad, good).at(2)
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.holds(3)
	if n := good.count(h.Changes.Path()); n == 0 {
		t.Error("the other mirror was not asked")
	}
	if n := good.count(h.Sources.Path()) + bad.count(h.Sources.Path()); n != 0 {
		t.Errorf("the sources were asked for %d times", n)
	}
}
