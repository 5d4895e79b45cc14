package delta_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// tree is a set in memory: content by path.
type tree map[string]string

// listing is the tree's; modules are programs.
func (t tree) listing() release.Listing {
	var files []release.ListedFile
	for name, content := range t {
		f := release.ListedFile{Path: name, Use: release.UseResource, Mode: release.PlainMode, Size: int64(len(content)), Sum: sha(content)}
		if path.Ext(name) == ".so" {
			f.Use, f.Mode = release.UseRuntime, release.ProgramMode
		}
		files = append(files, f)
	}
	return release.NewListing(files)
}

func (t tree) side() delta.SetSide {
	l := t.listing()
	return delta.SetSide{Listing: l, Source: treeSource{t, l}}
}

func (t tree) with(changes tree, gone ...string) tree {
	next := tree{}
	for name, content := range t {
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

type treeSource struct {
	tree    tree
	listing release.Listing
}

func (s treeSource) Open(i int) (delta.SetFile, error) {
	return stringFile{strings.NewReader(s.tree[s.listing[i].Path])}, nil
}

type stringFile struct{ *strings.Reader }

func (stringFile) Close() error { return nil }

// taken is a sink in memory.
type taken struct {
	contents []*bytes.Buffer
	ended    int
}

func (k *taken) Begin(i int) (io.Writer, error) {
	if i != len(k.contents) || i != k.ended {
		return nil, fmt.Errorf("content %d begins after %d, %d ended", i, len(k.contents), k.ended)
	}
	k.contents = append(k.contents, &bytes.Buffer{})
	return k.contents[i], nil
}

func (k *taken) End(i int) error {
	if k.ended++; i != k.ended-1 {
		return fmt.Errorf("content %d ends, want %d", i, k.ended-1)
	}
	return nil
}

// makePatch makes a set patch in memory.
func makePatch(t rapid.TB, old, fresh tree, o delta.SetPatchOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	stats, err := delta.MakeSetPatch(context.Background(), &out, old.side(), fresh.side(), o)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Bytes != int64(out.Len()) {
		t.Fatalf("the statistics say %d bytes, the patch has %d", stats.Bytes, out.Len())
	}
	return out.Bytes()
}

// applyPatch builds the new tree as a client does.
func applyPatch(patch io.Reader, old tree, to release.Digest) (tree, error) {
	side := old.side()
	p, err := delta.OpenSetPatch(patch, side.Listing, to)
	if err != nil {
		return nil, err
	}
	if !p.HasListing() && p.Listing() != nil {
		return nil, fmt.Errorf("known %t, and a listing of %d files", p.HasListing(), len(p.Listing()))
	}
	contents := map[release.Digest]string{}
	for _, f := range side.Listing {
		contents[f.Sum] = old[f.Path]
	}
	var sink taken
	if err := p.Apply(context.Background(), side.Source, &sink); err != nil {
		return nil, err
	}
	if len(sink.contents) != len(p.Contents()) || sink.ended != len(p.Contents()) {
		return nil, fmt.Errorf("%d contents of %d came, %d ended", len(sink.contents), len(p.Contents()), sink.ended)
	}
	for i, c := range p.Contents() {
		if contents[c.Sum] = sink.contents[i].String(); int64(len(contents[c.Sum])) != c.Size {
			return nil, fmt.Errorf("content %d has %d bytes, want %d", i, len(contents[c.Sum]), c.Size)
		}
	}
	fresh := tree{}
	for _, f := range p.Listing() {
		content, there := contents[f.Sum]
		if !there {
			return nil, fmt.Errorf("no file has the content of %s", f.Path)
		}
		fresh[f.Path] = content
	}
	return fresh, nil
}

// sha is the digest of a text.
func sha(text string) release.Digest { return object(text).Sum }

func object(text string) release.Object { return release.ObjectOf([]byte(text)) }

func formatFault(err error) *release.FormatError {
	var fault *release.FormatError
	errors.As(err, &fault)
	return fault
}

func digestOf(t rapid.TB, l release.Listing) release.Digest {
	t.Helper()
	d, err := l.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// steps makes a patch, applies it and compares.
func steps(t rapid.TB, old, fresh tree, o delta.SetPatchOptions) []byte {
	t.Helper()
	patch := makePatch(t, old, fresh, o)
	got, err := applyPatch(bytes.NewReader(patch), old, digestOf(t, fresh.listing()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(fresh) {
		t.Fatalf("%d files, want %d", len(got), len(fresh))
	}
	for name, content := range fresh {
		if got[name] != content {
			t.Fatalf("%s differs", name)
		}
	}
	return patch
}

// prose is text that looks like something and is the same each time.
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

// pack is a set of many files of text.
func pack(n int) tree {
	t := tree{}
	for i := range n {
		t[fmt.Sprintf("src/part%02d/file%04d.%s", i%37, i, []string{"js", "json", "glsl"}[i%3])] = prose(uint64(i), 800+i*7%3000)
	}
	return t
}

func TestSetPatchOfSmallChangesIsSmall(t *testing.T) {
	t.Parallel()
	old := pack(1277)
	fresh := old.with(nil)
	n := 0
	for _, f := range old.listing() {
		if n++; n == 200 || n == 600 || n == 1100 {
			c := old[f.Path]
			fresh[f.Path] = c[:100] + "const REVISION = '186.1';" + c[120:]
		}
	}
	patch := steps(t, old, fresh, delta.SetPatchOptions{})
	t.Logf("three changed files of 1,277: %d bytes", len(patch))
	if len(patch) >= 400 {
		t.Errorf("%d bytes, want less than 400", len(patch))
	}
}

func TestSetPatchSteps(t *testing.T) {
	t.Parallel()
	base := pack(60).with(tree{"Game.so": noise(1, 50_000), "empty": "", "art/a.png": noise(2, 9000), "art/b.png": noise(3, 9000)})
	moved := tree{}
	for name, content := range base {
		moved["v2/"+name] = content
	}
	for _, test := range []struct {
		name       string
		old, fresh tree
		most       int // bytes
	}{
		{"nothing", base, base, 60},
		{"from nothing", tree{}, base, 200_000},
		{"to nothing", base, tree{}, 200},
		{"both empty", tree{}, tree{}, 30},
		{"one removed", base, base.with(nil, "empty"), 60},
		{"all moved", base, moved, 450},
		{"copied", base, base.with(tree{"art/c.png": base["art/a.png"], "art/d.png": base["art/b.png"]}), 80},
		{"swapped", base, base.with(tree{"art/a.png": base["art/b.png"], "art/b.png": base["art/a.png"]}), 80},
		{"the same new content twice", base, base.with(tree{"x": "new", "y": "new", "z/z": "new"}), 150},
		{"a new empty file", base.with(nil, "empty"), base.with(tree{"void": ""}, "empty"), 120},
		{"only empty files", tree{"a": "x"}, tree{"b": "", "c": ""}, 120},
		{"renamed and changed", base, base.with(tree{"art/e.png": base["art/a.png"] + "tail"}, "art/a.png"), 160},
		{"another use", tree{"Game.so": "m", "b": "x"}, tree{"Game.dll": "m", "b.so": "x"}, 90},
	} {
		t.Run(test.name, func(t *testing.T) {
			patch := steps(t, test.old, test.fresh, delta.SetPatchOptions{})
			if len(patch) > test.most {
				t.Errorf("%d bytes, want at most %d", len(patch), test.most)
			}
		})
	}
}

func TestSetPatchOfMetaOnly(t *testing.T) {
	t.Parallel()
	old := tree{"a.so": "module", "b": "x"}
	side := old.side()
	l := release.NewListing(side.Listing)
	l[0].Use, l[1].Mode = release.UseCompanion, release.ProgramMode
	var out bytes.Buffer
	if _, err := delta.MakeSetPatch(context.Background(), &out, side, delta.SetSide{Listing: l, Source: side.Source}, delta.SetPatchOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := delta.OpenSetPatch(&out, side.Listing, digestOf(t, l))
	if err != nil || len(p.Contents()) != 0 || p.Listing()[0] != l[0] || p.Listing()[1] != l[1] {
		t.Fatalf("%v, %v", p, err)
	}
}

// longOptions make long contents of what is above 64 KiB.
var longOptions = delta.SetPatchOptions{LongResource: 64 << 10}

func TestSetPatchOfLongContents(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	big := noise(5, 1<<20)
	edited := big[:100_000] + noise(6, 5000) + big[105_000:300_000] + "inserted" + big[300_000:700_000] + big[710_000:]
	twice := big[500_000:] + big[:500_000] + big[:100_000]
	for _, test := range []struct {
		name       string
		old, fresh tree
		most       int
	}{
		{"edited", tree{"big.pack": big, "x": "y"}, tree{"big.pack": edited, "x": "z"}, 5400},
		{"parts in another order", tree{"big.pack": big}, tree{"big.pack": twice}, 200},
		{"renamed and edited", tree{"big1.pack": big, "other.pack": "small"}, tree{"big2.pack": edited}, 5400},
		{"two", tree{"a.pack": big, "b.pack": edited}, tree{"a.pack": big[:500_000] + "!" + big[500_000:], "b.pack": edited[10:]}, 300},
		{"nothing in common", tree{"a.pack": big}, tree{"a.pack": noise(8, 100_000)}, 110_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			patch := steps(t, test.old, test.fresh, longOptions)
			if len(patch) > test.most {
				t.Errorf("%d bytes, want at most %d", len(patch), test.most)
			}
		})
	}
}

func TestSetPatchThatWouldNeedTooMuchMemory(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	old := tree{"a.so": noise(1, 300_000), "b.so": noise(2, 300_000)}
	fresh := tree{"a.so": old["a.so"][:150_000] + "x" + old["a.so"][150_000:], "b.so": noise(3, 400_000), "c": "d", "e": ""}
	patch := steps(t, old, fresh, delta.SetPatchOptions{MaxMemory: 64<<20 + 3_000_000})
	if len(patch) > 402_000 {
		t.Errorf("%d bytes", len(patch))
	}
}

func TestSetPatchTooLarge(t *testing.T) {
	t.Parallel()
	_, err := delta.MakeSetPatch(context.Background(), io.Discard, tree{}.side(), tree{"a": noise(1, 10_000)}.side(), delta.SetPatchOptions{MaxBytes: 5000})
	if !errors.Is(err, delta.ErrPatchTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestSetPatchStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	old, fresh := tree{"a": prose(1, 20_000)}, tree{"a": prose(2, 20_000)}
	if _, err := delta.MakeSetPatch(ctx, io.Discard, old.side(), fresh.side(), delta.SetPatchOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("make: %v", err)
	}
	patch := makePatch(t, old, fresh, delta.SetPatchOptions{})
	p, err := delta.OpenSetPatch(bytes.NewReader(patch), old.listing(), digestOf(t, fresh.listing()))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(ctx, old.side().Source, &taken{}); !errors.Is(err, context.Canceled) {
		t.Errorf("apply: %v", err)
	}
}

func TestSetPatchProgressRises(t *testing.T) {
	t.Parallel()
	var last, of int64
	o := delta.SetPatchOptions{Progress: func(done, total int64) {
		if done < last || total < done {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last, of = done, total
	}}
	makePatch(t, pack(10), pack(20), o)
	if last == 0 || last != of {
		t.Errorf("ended at %d of %d", last, of)
	}
}

// fails is a source and a sink that do not work.
type fails struct{ err error }

func (f fails) Open(int) (delta.SetFile, error) { return nil, f.err }
func (f fails) Begin(int) (io.Writer, error)    { return nil, f.err }
func (f fails) End(int) error                   { return f.err }
func (f fails) Read([]byte) (int, error)        { return 0, f.err }

func TestSetPatchFaultsOfOthersPassThrough(t *testing.T) {
	t.Parallel()
	mine := errors.New("disk on fire")
	old, fresh := tree{"a": prose(1, 5000)}, tree{"a": prose(1, 4000) + "x"}
	patch, to := makePatch(t, old, fresh, delta.SetPatchOptions{}), digestOf(t, fresh.listing())
	open := func(r io.Reader) *delta.SetPatch {
		p, err := delta.OpenSetPatch(r, old.listing(), to)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := open(bytes.NewReader(patch)).Apply(context.Background(), fails{mine}, &taken{}); !errors.Is(err, mine) {
		t.Errorf("source: %v", err)
	}
	if err := open(bytes.NewReader(patch)).Apply(context.Background(), old.side().Source, fails{mine}); !errors.Is(err, mine) {
		t.Errorf("sink: %v", err)
	}
	for _, n := range []int{0, 2, 10} {
		if _, err := delta.OpenSetPatch(io.MultiReader(bytes.NewReader(patch[:n]), fails{mine}), old.listing(), to); err != mine {
			t.Errorf("reader after %d bytes: %v", n, err)
		}
	}
	cut := io.MultiReader(bytes.NewReader(patch[:len(patch)-9]), fails{mine})
	if err := open(cut).Apply(context.Background(), old.side().Source, &taken{}); !errors.Is(err, mine) {
		t.Errorf("reader in the middle: %v", err)
	}
}

// peersFault reports whether err blames the patch.
func peersFault(err error) bool {
	var format *release.FormatError
	var content *delta.ContentError
	var patch *delta.PatchError
	var damage *chunk.DamageError
	return errors.As(err, &format) || errors.As(err, &content) || errors.As(err, &patch) || errors.As(err, &damage)
}

func TestSetPatchDamagedAnywhereIsNoticed(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	old := pack(12).with(tree{"big.pack": noise(5, 100_000)})
	fresh := pack(12).with(tree{"src/part03/file0003.js": prose(99, 900), "new": noise(9, 100), "big.pack": noise(5, 50_000) + "x" + noise(6, 30_000)})
	patch, to := makePatch(t, old, fresh, longOptions), digestOf(t, fresh.listing())
	try := func(what string, damaged []byte) {
		got, err := applyPatch(bytes.NewReader(damaged), old, to)
		if err == nil {
			for name, content := range fresh {
				if got[name] != content {
					t.Fatalf("%s: taken, and %s is wrong", what, name)
				}
			}
			return // bits that mean nothing
		}
		if !peersFault(err) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	step := max(1, len(patch)/400) * testlevel.Stride(8, 16)
	for i := 0; i < len(patch); i += step {
		damaged := bytes.Clone(patch)
		damaged[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d changed", i), damaged)
		if _, err := applyPatch(bytes.NewReader(patch[:i]), old, to); !peersFault(err) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if _, err := applyPatch(bytes.NewReader(append(bytes.Clone(patch), 0)), old, to); !peersFault(err) {
		t.Errorf("a byte behind the end: %v", err)
	}
}

func TestSetPatchForOtherSetsIsRefused(t *testing.T) {
	t.Parallel()
	old, fresh := pack(5), pack(6)
	patch := makePatch(t, old, fresh, delta.SetPatchOptions{})
	for what, patch := range map[string][]byte{"computed": patch, "sums": makePatch(t, old, fresh, delta.SetPatchOptions{Sums: true})} {
		if _, err := applyPatch(bytes.NewReader(patch), pack(4), digestOf(t, fresh.listing())); !peersFault(err) {
			t.Errorf("%s, from elsewhere: %v", what, err)
		}
		if _, err := applyPatch(bytes.NewReader(patch), old, digestOf(t, pack(7).listing())); !peersFault(err) {
			t.Errorf("%s, to elsewhere: %v", what, err)
		}
	}
	wrong := tree{}
	for name, content := range old {
		wrong[name] = strings.ToUpper(content)
	}
	p, err := delta.OpenSetPatch(bytes.NewReader(makePatch(t, old, old.with(tree{"src/part00/file0000.js": old["src/part00/file0000.js"] + "!"}), delta.SetPatchOptions{})), old.listing(),
		digestOf(t, old.with(tree{"src/part00/file0000.js": old["src/part00/file0000.js"] + "!"}).listing()))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Reads(); len(got) != 1 || old.listing()[got[0]].Path != "src/part00/file0000.js" {
		t.Errorf("reads %v", got)
	}
	if err := p.Apply(context.Background(), treeSource{wrong, old.listing()}, &taken{}); !peersFault(err) {
		t.Errorf("old files that are not what they should be: %v", err)
	}
}

// TestSetPatchOfAnything makes trees out of each other by chance.
func TestSetPatchOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b.js", "c/d.js", "c/e.js", "c/e.json", "f/g/h.so", "i.so", "j", "k/l", "m/n.txt"}
		contents := []string{"", "x", prose(1, 3000), prose(1, 2000) + "end", noise(2, 500), noise(2, 300) + noise(3, 400), noise(4, 3000), noise(4, 1400) + "-" + noise(4, 3000)[1400:]}
		draw := func(label string) tree {
			made := tree{}
			for _, name := range names {
				if i := rapid.IntRange(-4, len(contents)-1).Draw(t, label+name); i >= 0 {
					made[name] = contents[i]
				}
			}
			return made
		}
		o := delta.SetPatchOptions{LongResource: rapid.SampledFrom([]int64{0, 1 << 9, 2 << 10}).Draw(t, "long")}
		steps(t, draw("old "), draw("new "), o)
	})
}

// TestAlienContents: a set patch names the contents that share next to nothing with the old set, in groups of every kind.
func TestAlienContents(t *testing.T) {
	t.Parallel()
	pack, text := noise(1, 60_000), noise(2, 40_000)
	old := tree{"a.pak": pack, "b.pak": noise(3, 50_000), "c.txt": text}
	fresh := tree{
		"a.pak": pack[:30_000] + "edit" + pack[30_000:], "b.pak": noise(4, 50_000), "c.txt": text + "more",
		"new.pak": noise(5, 70_000), "part.txt": text[:10_000] + noise(6, 30_000), "scrap.txt": text[:1_000] + noise(7, 30_000), "empty": "",
	}
	for name, o := range map[string]delta.SetPatchOptions{"patches": {}, "whole": {MaxMemory: 1}} {
		stats, err := delta.MakeSetPatch(t.Context(), io.Discard, old.side(), fresh.side(), o)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"b.pak", "new.pak", "scrap.txt"}
		if name == "whole" { // new files without an old version share nothing there
			want = []string{"b.pak", "new.pak", "part.txt", "scrap.txt"}
		}
		var got []string
		for _, f := range fresh.listing() {
			if slices.Contains(stats.Alien, f.Sum) {
				got = append(got, f.Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: alien are %q, want %q", name, got, want)
		}
	}
}
