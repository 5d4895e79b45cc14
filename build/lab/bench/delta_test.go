package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/qa/fileset"
	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// TestMain lets this test's program stand in for the bench's where that starts itself to apply something.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--apply") {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// put writes a file below a folder.
func put(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestStepsAreReadOnceAndChosen(t *testing.T) {
	dir := t.TempDir()
	if _, err := readSteps(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no list: %v", err)
	}
	put(t, dir, "STEPS", "native-a-1.0.1 native/a/1.0.0 native/a/1.0.1\nloose-b-2.1.0 packs/b/2.0.9 packs/b/2.1.0\n\nnot a step at all\n")
	put(t, dir, "STEPS.more", "native-a-1.0.1 x y\nnative-c-3.0.0 native/c/2.9.9 native/c/3.0.0\n")
	all, err := readSteps(dir)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	if all[0].old != filepath.Join(dir, "native/a/1.0.0") || all[0].kind() != "native" || !strings.HasSuffix(all[0].name, "-1.0.1") {
		t.Errorf("%+v: kind %s", all[0], all[0].kind())
	}
	for i, want := range []bool{true, false, false} {
		if all[i].patchRelease() != want {
			t.Errorf("%s: patch release %v", all[i].name, !want)
		}
	}
	for _, test := range []struct {
		names []string
		every bool
		want  string
	}{
		{nil, false, "loose-b-2.1.0"}, {nil, true, "native-a-1.0.1 loose-b-2.1.0 native-c-3.0.0"},
		{[]string{"native"}, false, "native-a-1.0.1 native-c-3.0.0"}, {[]string{"zips"}, false, ""},
	} {
		var got []string
		chosen, err := choose(all, test.names, test.every, []string{"loose-b-2.1.0"})
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if strings.Join(got, " ") != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%v, all %v: %v, %v", test.names, test.every, got, err)
		}
	}
}

func TestLayAndBundle(t *testing.T) {
	from, to, other := t.TempDir(), t.TempDir(), t.TempDir()
	put(t, from, "b/two.txt", "2")
	put(t, from, "a.txt", "1")
	put(t, from, ".hidden/x", "no")
	put(t, from, "b/.npmignore", "no")
	if err := lay(from, to); err != nil {
		t.Fatal(err)
	}
	if names, err := filesBelow(to); err != nil || !slices.Equal(names, []string{"a.txt", "b/two.txt"}) {
		t.Errorf("%v, %v", names, err)
	}
	first, err := bundle(to, filepath.Join(other, "1.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(to, "a.txt"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	second, err := bundle(to, filepath.Join(other, "2.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := fileset.SameFile(first, second); err != nil {
		t.Errorf("the same files make another tar: %v", err)
	}
	for source, want := range map[string]string{"a.txt": moduleFile, "p.zip": "Pack.zip"} {
		put(t, from, source, "x")
		folder := t.TempDir()
		if err := lay(filepath.Join(from, source), folder); err != nil {
			t.Fatal(err)
		}
		if name, err := bundle(folder, filepath.Join(other, "none.tar")); err != nil || name != filepath.Join(folder, want) {
			t.Errorf("%s: %s, %v", source, name, err)
		}
	}
}

func TestSameTreeSeesEveryDifference(t *testing.T) {
	long := strings.Repeat("x", 3*fileset.SameBlock)
	for name, change := range map[string]func(folder string){
		"nothing": func(string) {},
		"missing": func(f string) { os.Remove(filepath.Join(f, "a")) },
		"more":    func(f string) { put(t, f, "d", "") },
		"byte":    func(f string) { put(t, f, "b/c", long[:fileset.SameBlock]+"y"+long[fileset.SameBlock+1:]) },
		"shorter": func(f string) { put(t, f, "b/c", long[1:]) },
		"longer":  func(f string) { put(t, f, "b/c", long+"x") },
		"empty":   func(f string) { put(t, f, "b/c", "") },
	} {
		got, want := t.TempDir(), t.TempDir()
		for _, folder := range []string{got, want} {
			put(t, folder, "a", "1")
			put(t, folder, "b/c", long)
		}
		change(got)
		if err := sameTree(got, want); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseRsync(t *testing.T) {
	text := "Number of files: 3\nTotal bytes sent: 1,234\nTotal bytes received: 1,000,001\n"
	if n, err := parseRsync(text); err != nil || n != 1_001_235 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := parseRsync("Total bytes sent: 12\n"); err == nil {
		t.Error("one way was taken for both")
	}
}

func TestNewestIsByNumber(t *testing.T) {
	if got := newest([]string{"m/10.targets.json", "m/2.targets.json", "m/9.targets.json"}); got != "m/10.targets.json" {
		t.Error(got)
	}
	if got := newest([]string{"m/timestamp.json"}); got != "m/timestamp.json" {
		t.Error(got)
	}
}

func TestEstimateTakesTheCheapest(t *testing.T) {
	for _, test := range []struct {
		cost          estimate
		best, without int64
	}{
		{estimate{Patch: 10, Chunks: 40, Whole: 50}, 10, 40},
		{estimate{Patch: -1, Chunks: 60, Whole: 50}, 50, 50},
		{estimate{Patch: 45, Chunks: 40, Whole: 50}, 40, 40},
		{estimate{Patch: 45, Expanded: 5, Chunks: 60, Whole: 50}, 5, 50},
		{estimate{Patch: -1, Expanded: -1, Chunks: 60, Whole: 50}, 50, 50},
	} {
		if test.cost.best() != test.best || test.cost.withoutPatch() != test.without {
			t.Errorf("%+v: %d and %d", test.cost, test.cost.best(), test.cost.withoutPatch())
		}
	}
}

// TestBoundsOfBytes holds results of each kind against what is promised for it.
func TestBoundsOfBytes(t *testing.T) {
	native := step{name: "native-x-1.0.1", old: "n/x/1.0.0", new: "n/x/1.0.1"}
	minor := step{name: "native-x-1.1.0", old: "n/x/1.0.9", new: "n/x/1.1.0"}
	loose := step{name: "loose-x-1.0.1", old: "p/x/1.0.0", new: "p/x/1.0.1"}
	for _, test := range []struct {
		step   step
		patch  int64
		peer   int64
		casync int64
		words  [2]string
	}{
		{native, 75, 100, 1000, [2]string{"holds", "holds"}},
		{native, 76, 100, 1000, [2]string{"DOES NOT HOLD", "holds"}},
		{minor, 100, 100, 1000, [2]string{"holds", "holds"}},
		{loose, 100, 100, 999, [2]string{"holds", "DOES NOT HOLD"}},
		{loose, 101, 100, 1000, [2]string{"DOES NOT HOLD", "holds"}},
		{native, -1, 950, 950, [2]string{"holds (packed inside: whole)", "holds"}},
	} {
		b := &bench{}
		r := &result{step: test.step, size: 1000, peers: map[string]int64{"p": test.peer, "casync": test.casync},
			shop: &shop{cost: estimate{Patch: test.patch, Chunks: 900, Whole: 950}}}
		b.judgeDelta([]*result{r})
		if r.words != test.words || b.failed != strings.Contains(strings.Join(test.words[:], ""), "NOT") {
			t.Errorf("%s, patch %d, peer %d: %q, failed %v", test.step.name, test.patch, test.peer, r.words, b.failed)
		}
		if b.failed != (len(b.broken) == 1) {
			t.Errorf("the list of what is broken is %q", b.broken)
		}
	}
}

func TestPublishedFigureCountsAsAPeer(t *testing.T) {
	r := &result{step: step{name: "loose-three-0.186.1"}, peers: map[string]int64{"bsdiff": 613}}
	if name, n := r.bestPeer(); name != "published" || n != 431 {
		t.Errorf("%s with %d", name, n)
	}
	r.peers["bsdiff"] = 400
	if name, n := r.bestPeer(); name != "bsdiff" || n != 400 {
		t.Errorf("%s with %d", name, n)
	}
}

func TestInstalledNamesWhatIsMissing(t *testing.T) {
	there, missing := installed([]peer{{name: "go", needs: []string{"go"}}, {name: "none", needs: []string{"go", "collet-no-such-program"}}})
	if len(there) != 1 || there[0].name != "go" || !slices.Equal(missing, []string{"none"}) {
		t.Errorf("%v and %v", there, missing)
	}
}

// TestTables prints what a run prints, so that every column has its value.
func TestTables(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out}
	r := &result{step: step{name: "loose-a-1.0.1"}, size: 1000, peers: map[string]int64{"casync": 500, "bsdiff": 40}, applies: applied{Seconds: 0.1, Bytes: 9_000_000}, peak: 65,
		shop: &shop{meta: 7, cost: estimate{Patch: 30, Chunks: 100, Whole: 200}, made: ran{wall: time.Second, peak: 100}}}
	b.judgeDelta([]*result{r})
	if err := errors.Join(b.printBytes([]*result{r}, peers()), b.printWork([]*result{r})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"loose-a-1.0.1", "bsdiff", "0.750", "0.200", "holds", "speed DOES NOT HOLD, memory DOES NOT HOLD"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if len(b.broken) != 2 {
		t.Errorf("broken: %q", b.broken)
	}
}

// offerSmall writes a release folder by hand with two releases of a few files, and a patch between them.
func offerSmall(t *testing.T) *shop {
	t.Helper()
	s := &shop{b: &bench{}, dir: t.TempDir()}
	const target = "Linux-x64"
	text := strings.Repeat("the same line of a file that changes a little\n", 400)
	for version, files := range map[int]map[string]string{
		1: {"Resources/a.txt": text, "Resources/gone": "gone", "Resources/kept.txt": "kept"},
		2: {"Resources/a.txt": text + "more", "Resources/b/moved.txt": "kept", "Resources/twin.txt": text + "more"},
	} {
		files["PlatformBinaries/"+target+"/Lathe.so"] = "module"
		for name, data := range files {
			put(t, s.game(version), name, data)
		}
	}
	var sides [3]delta.SetSide
	var heads [3]release.Head
	for version := range sides {
		if version == 0 {
			continue
		}
		heads[version] = release.Head{Product: "bench", Channel: "stable", Target: target, Number: uint64(version), Version: "v", Published: time.Unix(1_700_000_000, 0).UTC()}
		sides[version].Listing = listSmall(t, s.game(version), heads[version])
		sides[version].Source = oldSet{s.game(version), heads[version], sides[version].Listing}
		s.describe(t, &heads[version], sides[version].Listing)
	}
	var patch bytes.Buffer
	if _, err := delta.MakeSetPatch(t.Context(), &patch, sides[1], sides[2], delta.SetPatchOptions{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	heads[2].Patches = []release.PatchRef{{From: heads[1].Listing.Sum, Object: s.object(t, patch.Bytes())}}
	for version, number := range map[int]int{1: oldNumber, 2: patchedNumber} {
		data, err := heads[version].Encode()
		if err != nil {
			t.Fatal(err)
		}
		ref := release.ObjectOf(data)
		s.head[number] = filepath.Join(s.folder(), ref.HeadPath())
		put(t, s.folder(), ref.HeadPath(), string(data))
	}
	return s
}

// listSmall is the listing of a game folder.
func listSmall(t *testing.T, game string, h release.Head) release.Listing {
	t.Helper()
	names, err := filesBelow(game)
	if err != nil {
		t.Fatal(err)
	}
	var files []release.ListedFile
	for _, name := range names {
		f := release.ListedFile{Use: release.UseResource, Mode: release.PlainMode, Path: strings.TrimPrefix(name, "Resources/")}
		if rest, is := strings.CutPrefix(name, "PlatformBinaries/"+h.Target+"/"); is {
			f.Use, f.Mode, f.Path = release.UseRuntime, release.ProgramMode, rest
		}
		data, err := os.ReadFile(filepath.Join(game, name))
		if err != nil {
			t.Fatal(err)
		}
		f.Size, f.Sum = int64(len(data)), release.ObjectOf(data).Sum
		files = append(files, f)
	}
	return release.NewListing(files)
}

// object writes an object.
func (s *shop) object(t *testing.T, data []byte) release.Object {
	ref := release.ObjectOf(data)
	put(t, s.folder(), ref.Path(), string(data))
	return ref
}

// describe writes listing and whole objects, stored, and completes a head with them.
func (s *shop) describe(t *testing.T, h *release.Head, l release.Listing) {
	t.Helper()
	packed, ref, err := l.Pack()
	if err != nil {
		t.Fatal(err)
	}
	s.object(t, packed)
	h.Listing, h.Bytes, h.Count = ref, l.Bytes(), len(l)
	var sources []release.Source
	for _, f := range l {
		if slices.ContainsFunc(sources, func(s release.Source) bool { return s.Content == f.Sum }) {
			continue
		}
		data, err := os.ReadFile(place(s.game(int(h.Number)), *h, f))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, release.Source{Content: f.Sum, Whole: s.object(t, data), Encoding: release.EncodedStored})
	}
	if packed, h.Sources, err = release.NewSources(sources).Pack(); err != nil {
		t.Fatal(err)
	}
	s.object(t, packed)
}

// TestApplyInAProcessOfItsOwn makes the new set from the old one: changed, moved, twice there, and gone.
func TestApplyInAProcessOfItsOwn(t *testing.T) {
	s := offerSmall(t)
	b := &bench{}
	a, peak, err := b.applies(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if a.Objects != 1 || a.Bytes != 400*46+4 || a.Seconds <= 0 {
		t.Errorf("%+v", a)
	}
	if peakOf(ended(t)) > 0 && peak <= 0 {
		t.Error("no peak")
	}
	object, err := s.patchObject()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.folder(), object)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.applies(t.Context(), s); err == nil {
		t.Error("a damaged patch was applied")
	}
}

// ended is the state of a process that has ended.
func ended(t *testing.T) *os.ProcessState {
	t.Helper()
	p, err := os.StartProcess(os.Args[0], []string{os.Args[0], "-test.run=^$"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestUnpackComparesWithTheFiles(t *testing.T) {
	s := offerSmall(t)
	o := applyOptions{Apply: s.folder(), OldHead: s.head[oldNumber], OldSet: s.game(1), Kind: "stored"}
	got, err := o.unpack(t.Context())
	if err != nil || got.Objects != 4 || got.Bytes != 400*46+4+4+6 {
		t.Errorf("%+v, %v", got, err)
	}
	put(t, s.game(1), "Resources/kept.txt", "kepT")
	if _, err := o.unpack(t.Context()); err == nil {
		t.Error("a file that is something else was taken for the object")
	}
	o.Kind = "rot13"
	if _, err := o.unpack(t.Context()); err == nil {
		t.Error("an encoding that does not exist was unpacked")
	}
	if chunk.Zstd.String() != string(release.EncodedZstd) || chunk.Brotli.String() != string(release.EncodedBrotli) {
		t.Error("encodings have two names")
	}
}

func TestTouchAndHash(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "1")
	old := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(filepath.Join(dir, "a"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := touch(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.ModTime().Equal(old) {
		t.Error("the time stayed", err)
	}
	if took, err := hashTree(dir); err != nil || took <= 0 {
		t.Error(took, err)
	}
	put(t, dir, "empty", "")
	if _, err := hashTree(dir); err == nil {
		t.Error("a file without content counts as hashed")
	}
}

// TestTwins compares deflated packs with the same packs stored.
func TestTwins(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out}
	of := func(name string, expanded int64) *result {
		return &result{step: step{name: name}, shop: &shop{cost: estimate{Patch: 1000, Expanded: expanded, Chunks: 2000, Whole: 2000}}}
	}
	b.judgeTwins([]*result{of("zipz-a-1.0.1", 1100), of("zipd-a-1.0.1", 1050), of("zips-a-1.0.1", -1), of("zipz-b-1.0.1", 5), of("loose-a-1.0.1", 9)})
	if b.failed || strings.Count(out.String(), "holds") != 2 || strings.Contains(out.String(), "b-1.0.1") {
		t.Errorf("%q, %s", b.broken, &out)
	}
	b.judgeTwins([]*result{of("zipz-phaser-4.2.1", 36_000)})
	if want := "ZipDiff (published figure)"; b.failed || len(b.ratios) != 3 || !strings.Contains(out.String(), want) {
		t.Errorf("%q, no %s in %s", b.broken, want, &out)
	}
	b.judgeTwins([]*result{{step: step{name: "zipz-c-1.0.1"}, shop: &shop{cost: estimate{Patch: 1200, Chunks: 2000, Whole: 2000}}}, of("zips-c-1.0.1", -1)})
	if len(b.broken) != 1 {
		t.Errorf("broken: %q", b.broken)
	}
}
