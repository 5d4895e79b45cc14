package publish_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/netproto/solid"
	"collet/platform"
)

// manyFiles is a game for two targets with 60 files.
func manyFiles(version int) tree {
	set := tree{
		"PlatformBinaries/Linux-x64/Lathe.so": prose(uint64(version), 40_000), "PlatformBinaries/Windows-win64/Lathe.dll": prose(uint64(100+version), 41_000),
	}
	for i := range 60 {
		set[fmt.Sprintf("Resources/Code/Tool%02d.js", i)] = prose(uint64(500+i/4), 9000) + fmt.Sprint(i)
	}
	return set
}

// form reads the solid form of a release as a client does, and checks that its parts unpack to the set's contents.
func (s *fixture) form(t *testing.T, target string, number uint64) solid.Form {
	t.Helper()
	var h release.Head
	s.with(func(f *publish.Folder) error {
		list, err := f.Show(publish.Which{Target: target, Number: number})
		h = list[0].Head
		return err
	})
	index, found := h.Solid()
	if !found {
		return solid.Form{}
	}
	data, err := platform.ReadFile(s.fs, index.Path(), solid.MaxIndex)
	must(t, err)
	must(t, index.Verify(data))
	packed, err := platform.ReadFile(s.fs, h.Listing.Object.Path(), 1<<20)
	must(t, err)
	listing, err := release.UnpackListing(packed, h.Listing)
	must(t, err)
	form, err := solid.OpenForm(data, listing)
	must(t, err)
	seen := 0
	for _, g := range form.Groups {
		seen += s.checkGroup(t, form, g)
	}
	if seen != len(form.Contents) {
		t.Errorf("%d of %d contents are in groups", seen, len(form.Contents))
	}
	return form
}

// checkGroup unpacks a group and counts the contents that are right.
func (s *fixture) checkGroup(t *testing.T, form solid.Form, g solid.Group) (right int) {
	t.Helper()
	d, err := solid.NewDecoder(g.Size(), nil, nil)
	must(t, err)
	for _, p := range g.Parts {
		file, err := s.fs.OpenFile(p.Path(), 0, 0)
		must(t, err)
		must(t, d.Part(file, p.Size, nil))
		must(t, file.Close())
	}
	at := int64(0)
	for _, m := range g.Members {
		data := d.Data()[at : at+m.Size]
		if at += m.Size; m.Content == solid.Gone {
			continue
		}
		if m.IsForm() {
			var content bytes.Buffer
			must(t, deflate.Rebuild(t.Context(), &content, bytes.NewReader(data), m.Size, form.Contents[m.Content].Size, m.Recipe))
			data = content.Bytes()
		}
		if m.Calls && solid.DecodeCalls(data, 0, m.Size) != len(data) {
			t.Errorf("content %d is not decoded to its end", m.Content)
		}
		if release.ObjectOf(data).Sum == form.Contents[m.Content].Sum {
			right++
		}
	}
	return right
}

// parts are the names of a form's parts.
func parts(form solid.Form) (names []string) {
	for _, g := range form.Groups {
		for _, p := range g.Parts {
			names = append(names, p.Path())
		}
	}
	return names
}

func TestSolid(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	sum := s.publish(game(t, manyFiles(1)), publish.Request{Effort: publish.EffortBalanced})
	for _, r := range sum.Releases {
		if r.Solid.Bytes == 0 || r.Solid.Bytes > r.Whole || r.Solid.Groups != 2 || r.Solid.Parts != 2 {
			t.Errorf("%s: %+v of %d", r.Entry.Target, r.Solid, r.Whole)
		}
	}
	first := s.form(t, linux, 1)
	if a, b := parts(first), parts(s.form(t, windows, 1)); a[0] != b[0] || a[1] == b[1] {
		t.Errorf("targets have parts %v and %v", a, b)
	}

	// The next release packs what is new.
	next := manyFiles(1).with(tree{"Resources/Code/Tool07.js": prose(9, 5000), "PlatformBinaries/Linux-x64/Lathe.so": prose(77, 40_000)})
	sum = s.publish(game(t, next), publish.Request{})
	if n := sum.Releases[0].Solid.Packed; n != 45_000 {
		t.Errorf("%d bytes are packed again", n)
	}
	second := s.form(t, linux, 2)
	if a, b := parts(first), parts(second); !slices.Contains(b, a[0]) || slices.Contains(b, a[1]) {
		t.Errorf("parts %v after %v", b, a)
	}

	// Everything that walks over a release knows the parts.
	web := memory(t)
	s.updatePlace(publish.FolderPlace(web), false)
	for _, name := range append(parts(first), parts(second)...) {
		if _, err := web.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	s.with(func(f *publish.Folder) error {
		plan, err := f.PlanCollect(context.Background(), 0)
		if len(plan.Remove) > 0 {
			t.Errorf("gc would remove %v", plan.Remove)
		}
		return err
	})
	must(t, s.fs.Remove(parts(second)[0]))
	s.with(func(f *publish.Folder) error {
		findings, _, err := f.Verify(context.Background())
		if len(findings) != 1 || findings[0].Name != parts(second)[0] {
			t.Errorf("verify finds %v", findings)
		}
		return err
	})

	// A part that is gone is made again by the next release.
	s.publish(game(t, next.with(tree{"Resources/New.txt": "new"})), publish.Request{})
	s.form(t, linux, 3)
}

// TestSolidIsReproducible: other workers, and a run after one that was interrupted at any report, make the same objects.
func TestSolidIsReproducible(t *testing.T) {
	t.Parallel()
	var want []string
	interrupted := 0
	defer func() {
		if interrupted < 3 {
			t.Errorf("only %d runs were interrupted", interrupted)
		}
	}()
	for _, workers := range []int{1, 3} {
		s := newFixture(t)
		s.workers = workers
		s.publish(game(t, manyFiles(1)), publish.Request{})
		got := slices.Sorted(maps.Keys(s.filesBelow("objects")))
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("other objects with %d workers", workers)
		}
	}
	for at := 0; interrupted == at; at++ {
		s := newFixture(t)
		s.workers = 1
		if s.interrupt(game(t, manyFiles(1)), "pack together", at) {
			interrupted++
		}
		s.publish(game(t, manyFiles(1)), publish.Request{})
		if got := slices.Sorted(maps.Keys(s.filesBelow("objects"))); !slices.Equal(got, want) {
			t.Errorf("other objects after a run that was interrupted at report %d", at)
		}
	}
}

// TestPackingNamesFiles packs files together of which each fills a frame: the progress names each of them.
func TestPackingNamesFiles(t *testing.T) {
	t.Parallel()
	s, named := newFixture(t), map[string]bool{}
	o := s.options()
	o.Progress = func(p publish.Progress) {
		if p.Doing == "pack together" && p.What != "" {
			named[p.What] = true
		}
	}
	f, err := publish.Open(s.fs, o)
	must(t, err)
	defer f.Close()
	files := tree{"PlatformBinaries/Linux-x64/Lathe.so": prose(1, 1000), "Resources/a.dat": noise(1, 1<<20), "Resources/b.dat": noise(2, 1<<20), "Resources/c.dat": noise(3, 1<<20)}
	_, err = f.Publish(t.Context(), game(t, files), publish.Request{Effort: publish.EffortFast}, s.keys.online())
	must(t, err)
	if got := slices.Sorted(maps.Keys(named)); len(got) < 3 {
		t.Errorf("the progress names %q", got)
	}
}

// interrupt publishes, and is interrupted at a report of what it is doing. It reports whether it came so far.
func (s *fixture) interrupt(game platform.FS, doing string, at int) bool {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o, seen := s.options(), 0
	o.Progress = func(p publish.Progress) {
		if p.Doing != doing {
			return
		}
		if seen == at {
			cancel()
		}
		seen++
	}
	f, err := publish.Open(s.fs, o)
	must(s.t, err)
	_, err = f.Publish(ctx, game, publish.Request{Effort: publish.EffortFast}, s.keys.online())
	if err != nil && !errors.Is(err, context.Canceled) {
		s.t.Fatal(err)
	}
	must(s.t, f.Close())
	return seen > at
}

// TestSolidIsWorthIt: small sets, and one small file, have no solid form.
func TestSolidIsWorthIt(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]tree{
		"few":   {"PlatformBinaries/Linux-x64/Lathe.so": prose(1, 40_000), "Resources/A.txt": "a", "Resources/B.txt": "b"},
		"one":   {"PlatformBinaries/Linux-x64/Lathe.so": prose(1, 2<<20)},
		"noise": {"PlatformBinaries/Linux-x64/Lathe.so": noise(1, 17<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			sum := s.publish(game(t, files), publish.Request{Effort: publish.EffortFast})
			if form := s.form(t, linux, 1); form.Groups != nil || sum.Releases[0].Solid.Bytes != 0 {
				t.Errorf("%+v", sum.Releases[0].Solid)
			}
		})
	}
}

// TestSolidIsPromoted: the release keeps its solid form in another channel.
func TestSolidIsPromoted(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, manyFiles(1)), publish.Request{Channel: "beta"})
	s.with(func(f *publish.Folder) error {
		_, err := f.Promote(context.Background(), publish.Promotion{Which: publish.Which{Channel: "beta", Number: 1}, Into: "stable", Percent: 100}, s.keys.online())
		return err
	})
	if form := s.form(t, linux, 1); len(form.Groups) != 2 {
		t.Errorf("%+v", form)
	}
}

// first reads the sequel for new players, which only has the packed form.
func (s *fixture) first(t *testing.T) []string {
	t.Helper()
	return s.sequelAt(t, release.Entry{Product: "lathe", Channel: "stable", Target: linux}.PackedSequelPath(), release.Entry{Product: "lathe", Channel: "stable", Target: linux})
}

// TestSequelForNewPlayers: lists, head, listing and the index of the solid form.
func TestSequelForNewPlayers(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, manyFiles(1)), publish.Request{})
	names := s.first(t)
	if len(names) != 5 || !strings.HasPrefix(names[2], "releases/") {
		t.Fatalf("%q", names)
	}
	small := newFixture(t)
	small.publish(game(t, tiny(1)), publish.Request{})
	if names := small.first(t); len(names) != 5 {
		t.Errorf("without a solid form: %q", names)
	}
	s.with(func(f *publish.Folder) error {
		_, err := f.Change(context.Background(), publish.Which{Number: 1}, s.keys.online(), func(e *release.Entry) { e.Percent = 50 })
		return err
	})
	if names := s.first(t); len(names) != 3 {
		t.Errorf("offered to a half: %q", names)
	}
}

// TestSolidCalls: a program for x86 is in its group with translated calls, and one for another processor as it is.
func TestSolidCalls(t *testing.T) {
	t.Parallel()
	program := func(machine elf.Machine) string {
		head := append([]byte(elf.ELFMAG), byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT))
		head = append(head, make([]byte, 18-len(head))...)
		code := binary.LittleEndian.AppendUint16(head, uint16(machine))
		for i := range 5000 {
			code = append(code, prose(uint64(i), 11)...)
			code = binary.LittleEndian.AppendUint32(append(code, 0xe8), uint32(40-len(code)))
		}
		return string(code)
	}
	s, sizes := newFixture(t), map[elf.Machine]int64{}
	for number, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		files := manyFiles(1).with(tree{"PlatformBinaries/Linux-x64/Lathe.so": program(machine), "Resources/Tool.so": program(machine) + "!"})
		s.publish(game(t, files), publish.Request{Effort: publish.EffortFast})
		calls, form := 0, s.form(t, linux, uint64(number)+1)
		for _, g := range form.Groups {
			for _, m := range g.Members {
				if m.Calls {
					calls++
				}
			}
			sizes[machine] = g.Packed() // the module's is the last one
		}
		if want := map[elf.Machine]int{elf.EM_X86_64: 2}[machine]; calls != want {
			t.Errorf("%v: %d contents with calls, want %d", machine, calls, want)
		}
	}
	if x, arm := sizes[elf.EM_X86_64], sizes[elf.EM_AARCH64]; x > arm*9/10 {
		t.Errorf("%d bytes with translated calls, %d without", x, arm)
	}
}

// TestSolidForms: a deflated pack is in its group as its form. The next release keeps it, and one that packs it anew takes its form over.
func TestSolidForms(t *testing.T) {
	t.Parallel()
	var want []string
	for _, workers := range []int{1, 3} {
		s := newFixture(t)
		s.workers = workers
		game1 := manyFiles(1).with(tree{"Resources/Core.zip": deflatedPack(t, 1, 40)})
		s.publish(game(t, game1), publish.Request{})
		form := s.form(t, linux, 1)
		if want == nil {
			want = parts(form)
		}
		if got := parts(form); !slices.Equal(got, want) {
			t.Errorf("%d workers make parts %v, not %v", workers, got, want)
		}
		if n := form.Groups[0].Deflated(); n < 200_000 || form.Groups[1].Deflated() > 0 {
			t.Errorf("%d bytes are forms", n)
		}
		if workers == 1 {
			continue
		}
		for i := range 20 {
			game1[fmt.Sprintf("Resources/Code/Tool%02d.js", i)] = prose(uint64(900+i), 30_000)
		}
		s.publish(game(t, game1), publish.Request{})
		if next := s.form(t, linux, 2); next.Groups[0].Deflated() != form.Groups[0].Deflated() {
			t.Errorf("%d bytes are forms in the next release", next.Groups[0].Deflated())
		}
	}
}
