package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/build/publish"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// many is a game with so many small files that its lists are large. No patches are made of it.
func many(n int) tree {
	g := tree{"PlatformBinaries/Linux-x64/Lathe.so": prose(3, 900)}
	for i := range n {
		g[resource(i)] = fmt.Sprint("script ", i)
	}
	return g
}

// resource is a path of two hundred bytes, half of which is noise, so that few files make large lists.
func resource(i int) string {
	return fmt.Sprintf("Resources/lib/part%02d/script%04d-%x.js", i%40, i, noise(uint64(i), 90))
}

// edited changes files of a game, every fifth to something that is packed.
func (f tree) edited(from, to int, word string) tree {
	changes := tree{}
	for i := from; i < to; i++ {
		changes[resource(i)] = fmt.Sprint(word, i)
		if i%5 == 0 {
			changes[resource(i)] = prose(uint64(i), 400) + word
		}
	}
	return f.with(changes)
}

// planted is a game folder on no disk. No two have files of the same time: the publisher would not look at them.
func (s *fixture) planted(files tree) platform.FS {
	s.t.Helper()
	s.clock = s.clock.Add(time.Hour)
	saved := s.clock
	disk := faultfs.New(faultfs.Config{Now: func() time.Time { return saved }})
	for name, content := range files {
		must(s.t, disk.Plant(name, content))
	}
	return disk.Open(faultfs.Options{})
}

func newManyFixture(t *testing.T, games ...tree) *fixture {
	t.Helper()
	s := newFixture(t)
	s.set("Patches = 5", "Patches = 0")
	s.set("Brotli = 32", "Brotli = 0")
	for _, g := range games {
		s.publish(s.planted(g), publish.Request{})
	}
	return s
}

// comes checks that the changes of a release lead from one set to another, and gives how many bytes that takes.
func (s *fixture) comes(from, to uint64) int64 {
	s.t.Helper()
	h, old := s.headOf(to), s.headOf(from)
	data, err := get(s.fs, h.Changes)
	must(s.t, err)
	table, err := delta.ReadChangesTable(data)
	must(s.t, err)
	reach := table.Reach(old.Listing.Sum)
	if reach == 0 {
		return 0
	}
	object, err := get(s.fs, old.Listing.Object)
	must(s.t, err)
	listing, err := release.UnpackListing(object, old.Listing)
	must(s.t, err)
	fresh, sources, err := table.Apply(data[:reach], listing, old.Listing.Sum, h.Listing.Sum)
	must(s.t, err)
	for sum := range missing(listing, fresh) {
		source, found := sources.Find(sum)
		if !found {
			s.t.Errorf("nothing says where %v comes from", sum)
			continue
		}
		_, err := get(s.fs, source.Whole)
		must(s.t, err)
	}
	return reach
}

// missing are the contents that a new set has and an old one lacks.
func missing(old, fresh release.Listing) map[release.Digest]bool {
	sums := map[release.Digest]bool{}
	for _, f := range fresh {
		sums[f.Sum] = true
	}
	for _, f := range old {
		delete(sums, f.Sum)
	}
	return sums
}

// TestChangesLeadFromEveryRelease: each release says what changed since all before it, also where nothing did, and those of
// the release before are the least.
func TestChangesLeadFromEveryRelease(t *testing.T) {
	t.Parallel()
	one := many(400)
	two := one.edited(0, 40, "two")
	three := two.edited(20, 60, "three").with(tree{"Resources/new.txt": "new"}, resource(350))
	four := three.with(tree{resource(350): "back"})
	s := newManyFixture(t, one, two, three, three, four)
	if h := s.headOf(1); !h.Changes.IsZero() {
		t.Errorf("the first release has changes: %+v", h.Changes)
	}
	if s.headOf(3).Changes != s.headOf(4).Changes {
		t.Error("the same set twice has two objects")
	}
	for to := uint64(2); to <= 5; to++ {
		last := int64(1 << 40)
		for from := uint64(1); from < to; from++ {
			if from == 3 && to == 4 {
				continue // it is the same set
			}
			n := s.comes(from, to)
			if n == 0 || n > last {
				t.Errorf("%d bytes from %d to %d, and %d from the one before", n, from, to, last)
			}
			last = n
		}
	}
	h := s.headOf(5)
	if lists := h.Listing.Object.Size + h.Sources.Size; h.Changes.Size > lists/4 {
		t.Errorf("the changes have %d bytes, the lists %d", h.Changes.Size, lists)
	}
}

// TestChangesOfSmallLists: they are not worth it, and a release that grows catches up with those before it.
func TestChangesOfSmallLists(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	s := newManyFixture(t, many(170), many(190), many(370), many(370).edited(0, 9, "y"))
	for n := uint64(1); n <= 2; n++ {
		if h := s.headOf(n); !h.Changes.IsZero() {
			t.Errorf("release %d has changes of %d bytes", n, h.Changes.Size)
		}
	}
	for from := uint64(1); from <= 3; from++ {
		if n := s.comes(from, 4); n == 0 {
			t.Errorf("no changes since release %d", from)
		}
	}
}

// TestChangesEnd: after a release of which nothing is left, the lists are less than what changed since.
func TestChangesEnd(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	all := tree{}
	for i := range 400 {
		all[resource(i)] = prose(uint64(i), 200)
	}
	s := newManyFixture(t, many(400), many(400).with(all), many(400).with(all).edited(0, 9, "y"))
	if h := s.headOf(2); !h.Changes.IsZero() {
		t.Errorf("changes of %d bytes where everything is new", h.Changes.Size)
	}
	if near, far := s.comes(2, 3), s.comes(1, 3); near == 0 || far != 0 {
		t.Errorf("%d bytes since the release before, and %d since the one that was replaced", near, far)
	}
}

// TestChangesPassDamageBy: what can't be read of earlier releases is left out, and the next release is made.
func TestChangesPassDamageBy(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	games := []tree{many(400)}
	for i := range 4 {
		games = append(games, games[i].edited(10*i, 10*i+10, fmt.Sprint("release", i)))
	}
	s := newManyFixture(t, games[:3]...)
	must(t, s.fs.Remove(s.headOf(3).Changes.Path()))
	s.publish(s.planted(games[3]), publish.Request{})
	if a, b := s.comes(3, 4), s.comes(1, 4); a == 0 || b == 0 { // the releases are compared one by one
		t.Errorf("%d bytes from the release before, %d from the first", a, b)
	}
	lost := s.headOf(4).Changes
	must(t, platform.WriteFile(s.fs, lost.Path(), make([]byte, lost.Size)))
	s.publish(s.planted(games[4]), publish.Request{})
	if a, b := s.comes(4, 5), s.comes(1, 5); a == 0 || b == 0 {
		t.Errorf("%d bytes from the release before, %d from the first", a, b)
	}
	s.with(func(f *publish.Folder) error {
		findings, _, err := f.Verify(context.Background())
		var names []string
		for _, found := range findings {
			names = append(names, found.Name)
		}
		want := []string{s.headOfIn(f, 3).Changes.Path(), lost.Path()}
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("verify finds %v, want %v", findings, want)
		}
		return err
	})
}

// headOfIn is headOf in a folder that is open.
func (s *fixture) headOfIn(f *publish.Folder, number uint64) release.Head {
	list, err := f.Show(publish.Which{Target: linux, Number: number})
	must(s.t, err)
	return list[0].Head
}

// TestChangesAreKeptAndCollected: gc leaves those of releases that stay, also what they say of releases that are gone.
func TestChangesAreKeptAndCollected(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	one := many(400)
	two := one.edited(0, 10, "two")
	s := newManyFixture(t, one, two, two.edited(5, 20, "three"))
	gone, stays, old := s.headOf(2).Changes, s.headOf(3).Changes, s.headOf(1)
	s.with(func(f *publish.Folder) error {
		plan, err := f.PlanCollect(context.Background(), 1)
		if err == nil {
			err = f.Collect(context.Background(), plan, s.keys.online())
		}
		return err
	})
	if _, err := s.fs.Lstat(gone.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the changes of a release that is gone: %v", err)
	}
	data, err := get(s.fs, stays)
	must(t, err)
	if table, err := delta.ReadChangesTable(data); err != nil || table.Reach(old.Listing.Sum) == 0 {
		t.Errorf("from a release that is gone: %v", err)
	}
}

// TestChangesOfAnotherChannel: they are about the releases of the channel.
func TestChangesOfAnotherChannel(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	one := many(400)
	two, three := one.edited(0, 10, "two"), one.edited(0, 15, "three")
	s := newManyFixture(t, one)
	s.publish(s.planted(two), publish.Request{Channel: "beta"})
	s.publish(s.planted(three), publish.Request{Channel: "beta"})
	promote := func(to string) release.Head {
		var h release.Head
		s.with(func(f *publish.Folder) error {
			_, err := f.Promote(context.Background(), publish.Promotion{Which: publish.Which{Channel: "beta", Number: 3}, Into: to, Percent: 100}, s.keys.online())
			if err == nil {
				var list []publish.Listed
				list, err = f.Show(publish.Which{Channel: to, Number: 3})
				h = list[0].Head
			}
			return err
		})
		return h
	}
	promote("stable")
	if n := s.comes(1, 3); n == 0 {
		t.Error("no changes since the release before in the channel")
	}
	if h := promote("fresh"); h.Changes.IsZero() {
		t.Error("who comes over from the first channel finds nothing")
	}
}

// TestSequelsWithChanges: they are in the sequel of a release without a patch, and the lists are not.
func TestSequelsWithChanges(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	one := many(400)
	s := newManyFixture(t, one, one.edited(0, 10, "two"), one.edited(0, 30, "three"))
	for from := uint64(1); from <= 2; from++ {
		s.wantSequel(t, from, s.following(3, s.headOf(3).Changes))
	}
}

// TestEstimateCountsChanges: without a patch a client has the changes in the place of both lists.
func TestEstimateCountsChanges(t *testing.T) {
	testlevel.Lab(t) // it packs a thousand files, as one that make test has does
	t.Parallel()
	one := many(400)
	two := one.edited(0, 40, "two")
	s := newManyFixture(t, one, two)
	h := s.headOf(2)
	estimate := func() publish.Estimate {
		var list []publish.Estimate
		s.with(func(f *publish.Folder) (err error) {
			list, err = f.Estimate(context.Background(), "", linux, 1, 2, acquire.Link{})
			return err
		})
		return list[0]
	}
	e := estimate()
	var contents int64
	object, err := get(s.fs, h.Sources)
	must(t, err)
	sources, err := release.UnpackSources(object, h.Sources)
	must(t, err)
	for i := range 40 {
		source, _ := sources.Find(sumOf(t, two[resource(i)]))
		contents += source.Whole.Size
	}
	solid, _ := h.Solid() // a client reads its index to decide
	if e.Whole.Bytes != h.Changes.Size+contents || e.Chunks.Bytes > e.Whole.Bytes+4000 || e.Cost.Bytes-e.Lists > contents+solid.Size {
		t.Errorf("%+v; changes of %d bytes, %d of contents", e, h.Changes.Size, contents)
	}
	must(t, s.fs.Remove(h.Changes.Path()))
	s.with(func(f *publish.Folder) error {
		if _, err := f.Estimate(context.Background(), "", linux, 1, 2, acquire.Link{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without the object: %v", err)
		}
		return nil
	})
}

func sumOf(t *testing.T, text string) release.Digest {
	t.Helper()
	return release.ObjectOf([]byte(text)).Sum
}
