package publish_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/build/publish/places"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/testlevel"
)

// sequel reads the sequel to a release, in all forms: the parts' names in order. Each part has to be the file of that name.
func (s *fixture) sequel(t *testing.T, number uint64) (names []string) {
	t.Helper()
	e := release.Entry{Product: "lathe", Channel: "stable", Target: linux, Number: number}
	names = s.sequelAt(t, e.SequelPath(), e)
	for form, name := range map[string]string{"packed": e.PackedSequelPath(), "relative": e.RelativeSequelPath()} {
		if other := s.sequelAt(t, name, e); !slices.Equal(other, names) {
			t.Errorf("%s, the sequel to %d has %q, and plain %q", form, number, other, names)
		}
	}
	return names
}

// listed are the releases of the signed list.
func (s *fixture) listed() (list []release.Entry) {
	s.with(func(f *publish.Folder) error {
		all, err := f.List()
		for _, l := range all {
			list = append(list, l.Entry)
		}
		return err
	})
	return list
}

// listKeys are the keys that sign lists.
func (s *fixture) listKeys() (ids []string) {
	s.with(func(f *publish.Folder) error {
		_, info, err := f.Root()
		ids = info.ListKeys()
		return err
	})
	return ids
}

// headBytes are the bytes of the head of a listed release; nil if it is not listed.
func (s *fixture) headBytes(t *testing.T, from release.Entry, list []release.Entry) []byte {
	t.Helper()
	i := slices.IndexFunc(list, func(e release.Entry) bool { return e.Path() == from.Path() })
	if i < 0 {
		return nil
	}
	head, err := platform.ReadFile(s.fs, list[i].Head.HeadPath(), release.MaxHead)
	must(t, err)
	return head
}

// sequelAt reads one sequel as a client of a release that knows the present list.
func (s *fixture) sequelAt(t *testing.T, name string, from release.Entry) (names []string) {
	t.Helper()
	data, err := platform.ReadFile(s.fs, name, release.MaxSequel)
	if err != nil {
		return nil
	}
	r := bufio.NewReader(bytes.NewReader(data))
	table, err := release.ReadSequelTable(r, func() release.SequelReader {
		list := s.listed()
		return release.SequelReader{List: list, Head: s.headBytes(t, from, list), Keys: s.listKeys()}
	})
	must(t, err)
	for _, p := range table {
		part := p.Data
		if part == nil {
			part = make([]byte, p.Size)
			_, err := io.ReadFull(r, part)
			must(t, err)
		}
		file, err := platform.ReadFile(s.fs, p.Name, 1<<24)
		must(t, err)
		if !bytes.Equal(part, file) {
			t.Errorf("%s is not what lies there", p.Name)
		}
		names = append(names, p.Name)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("%d bytes follow", len(rest))
	}
	return names
}

// wantSequel checks which parts the sequel to a release has.
func (s *fixture) wantSequel(t *testing.T, number uint64, want []string) {
	t.Helper()
	if got := s.sequel(t, number); !slices.Equal(got, want) {
		t.Errorf("the sequel to %d has\n%s\nwant\n%s", number, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// wantEmpty checks that a release that nothing follows has a relative and a packed sequel without parts, which caches keep, and no plain one.
func (s *fixture) wantEmpty(t *testing.T, number uint64) {
	t.Helper()
	e := release.Entry{Product: "lathe", Channel: "stable", Target: linux, Number: number}
	if _, err := platform.ReadFile(s.fs, e.SequelPath(), release.MaxSequel); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("release %d has a plain sequel: %v", number, err)
	}
	for _, name := range []string{e.RelativeSequelPath(), e.PackedSequelPath()} {
		if _, err := platform.ReadFile(s.fs, name, release.MaxSequel); err != nil {
			t.Error(err)
		}
		if names := s.sequelAt(t, name, e); names != nil {
			t.Errorf("release %d is followed by %q", number, names)
		}
	}
}

// following are the parts of a sequel that leads to a release: lists and head, and objects.
func (s *fixture) following(number uint64, objects ...release.Object) (names []string) {
	s.with(func(f *publish.Folder) error {
		list, err := f.Show(publish.Which{Target: linux, Number: number})
		names = append(f.Lists(), list[0].Entry.Head.HeadPath())
		return err
	})
	for _, o := range objects {
		names = append(names, o.Path())
	}
	return names
}

func (s *fixture) headOf(number uint64) (h release.Head) {
	s.with(func(f *publish.Folder) error {
		list, err := f.Show(publish.Which{Target: linux, Number: number})
		h = list[0].Head
		return err
	})
	return h
}

func TestSequelsFollowTheList(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.set(`Patches = 5`, `Patches = 1`)
	s.publish(game(t, small(1)), publish.Request{})
	s.wantEmpty(t, 1)
	s.publish(game(t, small(2)), publish.Request{})
	s.publish(game(t, small(3)), publish.Request{})
	head := s.headOf(3)
	if len(head.Patches) != 1 {
		t.Fatalf("%d patches", len(head.Patches))
	}
	s.wantEmpty(t, 3)
	s.wantSequel(t, 2, s.following(3, head.Patches[0].Object))
	s.wantSequel(t, 1, s.following(3, head.Listing.Object, head.Sources))

	change := func(change func(*release.Entry)) {
		s.with(func(f *publish.Folder) error {
			_, err := f.Change(context.Background(), publish.Which{Number: 3}, s.keys.online(), change)
			return err
		})
	}
	change(func(e *release.Entry) { e.Percent = 10 }) // most would fetch the patch in vain
	s.wantSequel(t, 2, s.following(3))
	change(func(e *release.Entry) { e.Percent, e.Hold = 100, true })
	s.wantEmpty(t, 2)
	s.wantEmpty(t, 3) // which is held: its clients keep it
	change(func(e *release.Entry) { e.Hold = false })
	change(func(e *release.Entry) { e.Killed = true })
	s.wantSequel(t, 1, s.following(2, s.headOf(2).Patches[0].Object))
	s.wantSequel(t, 3, s.following(2, s.headOf(2).Listing.Object, s.headOf(2).Sources))
}

// TestRelativeSequels: whatever list a client of a release has, from the first with that release on, it can read the relative sequel.
func TestRelativeSequels(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	s := newFixture(t)
	s.set(`Patches = 5`, `Patches = 1`)
	var lists [][]release.Entry // all that were signed
	heads := map[string][]byte{}
	note := func() {
		list := s.listed()
		for _, e := range list {
			if heads[e.Path()] == nil {
				heads[e.Path()] = s.headBytes(t, e, list)
			}
		}
		lists = append(lists, list)
	}
	collect := func(drop func(e release.Entry) bool) func() {
		return func() {
			gone := slices.DeleteFunc(s.listed(), func(e release.Entry) bool { return !drop(e) })
			s.with(func(f *publish.Folder) error {
				return f.Collect(context.Background(), publish.CollectPlan{Drop: gone}, s.keys.online())
			})
		}
	}
	publication := func(n int, r publish.Request) func() { return func() { s.publish(game(t, small(n)), r) } }
	steps := []func(){
		publication(1, publish.Request{}),
		publication(2, publish.Request{Channel: "beta"}),
		publication(3, publish.Request{}),
		func() { // later than a higher number
			s.with(func(f *publish.Folder) error {
				_, err := f.Promote(context.Background(), publish.Promotion{Which: publish.Which{Channel: "beta", Number: 2}, Into: "new", Percent: 100}, s.keys.online())
				return err
			})
		},
		publication(4, publish.Request{Target: linux}),
		publication(5, publish.Request{Target: windows}),
		publication(6, publish.Request{}),
		collect(func(e release.Entry) bool { return e.Number == 3 && e.Target == linux }), // from the middle
		publication(7, publish.Request{}),
		collect(func(e release.Entry) bool { return e.Number < 5 && e.Channel == "stable" }), // as gc does
		publication(8, publish.Request{}),
	}
	based, keys := 0, s.listKeys()
	for at, step := range steps {
		step()
		note()
		present := lists[len(lists)-1]
		for _, from := range present {
			data, err := platform.ReadFile(s.fs, from.RelativeSequelPath(), release.MaxSequel)
			must(t, err)
			for _, list := range lists {
				if !slices.ContainsFunc(list, func(e release.Entry) bool { return e.Path() == from.Path() }) {
					continue
				}
				_, err := release.ReadSequelTable(bufio.NewReader(bytes.NewReader(data)), func() release.SequelReader {
					based++
					return release.SequelReader{List: list, Head: heads[from.Path()], Keys: keys}
				})
				if err != nil {
					t.Errorf("step %d: a client of %s with a list of %d: %v", at, from.Path(), len(list), err)
				}
			}
		}
	}
	if based == 0 {
		t.Error("no sequel leaves anything out")
	}
}

// TestSequelsStaySmall: a patch that is not worth a round trip is not stored twice.
func TestSequelsStaySmall(t *testing.T) {
	t.Parallel()
	testlevel.Lab(t)
	s := newFixture(t)
	g := small(1)
	g["Resources/Noise.bin"] = noise(1, 3<<20)
	s.publish(game(t, g), publish.Request{})
	g = maps.Clone(g)
	g["Resources/Noise.bin"] = g["Resources/Noise.bin"][:3<<19] + noise(2, 3<<19)
	s.publish(game(t, g), publish.Request{PatchFrom: []uint64{1}})
	if patch, found := s.headOf(2).PatchFrom(s.headOf(1).Listing.Sum); !found || patch.Size < 1<<20 {
		t.Fatalf("%+v", s.headOf(2).Patches)
	}
	s.wantSequel(t, 1, s.following(2))
}

// TestSequelsAreRenewed: refreshed signatures, and what was lost or damaged.
func TestSequelsAreRenewed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	s.publish(game(t, small(2)), publish.Request{})
	e := release.Entry{Product: "lathe", Channel: "stable", Target: linux, Number: 1}
	want := s.sequel(t, 1)
	must(t, s.fs.Remove(e.SequelPath()))
	must(t, platform.WriteFile(s.fs, "sequels/left.new", []byte("half of one")))
	must(t, platform.WriteFile(s.fs, "sequels/"+strings.Repeat("0", 64)+".sequel", []byte("of a release that is gone")))
	s.with(func(f *publish.Folder) error { return f.Refresh(context.Background(), s.keys.online()) })
	s.wantSequel(t, 1, want)
	entries, err := s.fs.ReadDir("sequels")
	must(t, err)
	names := slices.Collect(func(yield func(string) bool) {
		for _, e := range entries {
			yield(e.Name())
		}
	})
	if len(names) != 14 { // for each target relative, packed and plain, two empty ones, and two for new players
		t.Errorf("%q", names)
	}
	first := release.Entry{Product: "lathe", Channel: "stable", Target: linux}
	unnamed := release.Entry{Channel: "stable", Target: linux}
	a, errA := platform.ReadFile(s.fs, first.PackedSequelPath(), 1<<20)
	b, errB := platform.ReadFile(s.fs, unnamed.PackedSequelPath(), 1<<20)
	must(t, errA)
	must(t, errB)
	if !bytes.Equal(a, b) {
		t.Error("new players get another sequel with the product's name than without it")
	}
	s.clock = s.clock.AddDate(0, 0, 80) // the snapshot is signed anew
	s.with(func(f *publish.Folder) error { return f.Refresh(context.Background(), s.keys.online()) })
	if got := s.sequel(t, 1); slices.Equal(got, want) || len(got) != len(want) {
		t.Errorf("%q after %q", got, want)
	}
}

// TestNewPlayersSequelOfTwoProducts: who doesn't name a product gets a sequel only while there is one product to mean.
func TestNewPlayersSequelOfTwoProducts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	exists := func(product string) bool {
		_, err := platform.ReadFile(s.fs, release.Entry{Product: product, Channel: "stable", Target: linux}.PackedSequelPath(), 1<<20)
		return err == nil
	}
	if !exists("") || !exists("lathe") {
		t.Fatal("new players of the only product have no sequel")
	}
	s.set(`Product = "lathe"`, `Product = "drill"`)
	s.publish(game(t, small(2)), publish.Request{})
	if exists("") || !exists("lathe") || !exists("drill") {
		t.Errorf("sequels for new players: without a name %t, of lathe %t, of drill %t", exists(""), exists("lathe"), exists("drill"))
	}
}

// TestSequelsAreMirrored: an output has those of its list, and none that is old.
func TestSequelsAreMirrored(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	s.publish(game(t, small(2)), publish.Request{})
	to := memory(t)
	update := func() (sum places.Result) {
		s.with(func(f *publish.Folder) (err error) {
			sum, err = updatePlaceOf(context.Background(), f, publish.FolderPlace(to), true)
			return err
		})
		return sum
	}
	update()
	same := func() {
		t.Helper()
		for _, fsys := range []platform.FS{s.fs, to} {
			entries, err := fsys.ReadDir("sequels")
			must(t, err)
			for _, e := range entries {
				ours, err := platform.ReadFile(s.fs, "sequels/"+e.Name(), release.MaxSequel)
				must(t, err)
				theirs, err := platform.ReadFile(to, "sequels/"+e.Name(), release.MaxSequel)
				must(t, err)
				if !bytes.Equal(ours, theirs) {
					t.Errorf("%s differs", e.Name())
				}
			}
		}
	}
	same()
	if sum := update(); sum.Files != 0 {
		t.Errorf("nothing has changed: %+v", sum)
	}
	s.publish(game(t, small(3)), publish.Request{})
	update()
	same()
	if _, err := to.Lstat("sequels"); err != nil || isEmpty(to, "sequels") {
		t.Errorf("no sequels: %v", err)
	}
}

func isEmpty(fsys platform.FS, name string) bool {
	entries, err := fsys.ReadDir(name)
	return err != nil || len(entries) == 0 || slices.ContainsFunc(entries, fs.DirEntry.IsDir)
}
