package delta_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// sourcesOf invents where the contents of a tree lie: one in four of each encoding, some with an index.
func (t tree) sources() release.Sources {
	var list []release.Source
	seen := map[release.Digest]bool{}
	for _, content := range t {
		s := release.Source{Content: sha(content), Encoding: release.EncodedStored}
		if seen[s.Content] {
			continue
		}
		seen[s.Content] = true
		s.Whole = release.Object{Sum: s.Content, Size: int64(len(content))}
		switch len(content) % 4 {
		case 1:
			s.Encoding, s.Whole = release.EncodedZstd, object("zstd of "+content)
		case 2:
			s.Encoding, s.Whole = release.EncodedBrotli, object("brotli of "+content)
		case 3:
			s.Index, s.Entry = object(fmt.Sprint("index ", len(content)/4%2)), uint32(len(content))
		}
		list = append(list, s)
	}
	return release.NewSources(list)
}

// history makes the changes of the last of several releases, each from what the one before has, as a publisher does.
func history(t testing.TB, limit int64, releases ...tree) []byte {
	t.Helper()
	var object []byte
	for i := 1; i < len(releases); i++ {
		before, now := releases[i-1].listing(), releases[i].listing()
		steps := []delta.ChangeStep{{From: delta.MarkOf(digestOf(t, before)), Paths: delta.ChangedPaths(before, now)}}
		if object != nil {
			earlier, err := tableOf(t, object).Steps(object)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, earlier...)
		}
		var err error
		if object, err = delta.EncodeChanges(steps, now, releases[i].sources(), limit); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

func tableOf(t testing.TB, object []byte) *delta.Changes {
	t.Helper()
	c, err := delta.ReadChangesTable(object[:min(len(object), delta.MaxChangesTable)])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantApplied checks that a client of a release comes to another with no more bytes than Reach says.
func wantApplied(t testing.TB, object []byte, from, to tree) (reach int64) {
	t.Helper()
	c, old := tableOf(t, object), from.listing()
	reach = c.Reach(digestOf(t, old))
	if reach == 0 || reach > int64(len(object)) {
		t.Fatalf("%d of %d bytes are to be read", reach, len(object))
	}
	list, sources, err := c.Apply(object[:reach:reach], old, digestOf(t, old), digestOf(t, to.listing()))
	if err != nil || !slices.Equal(list, to.listing()) {
		t.Fatalf("%v, %v", list, err)
	}
	all := to.sources()
	for _, s := range sources {
		if want, found := all.Find(s.Content); !found || s != want {
			t.Errorf("content %v comes from %+v, want %+v", s.Content, s, want)
		}
	}
	for _, f := range list {
		had := slices.ContainsFunc(old, func(o release.ListedFile) bool { return o.Sum == f.Sum })
		if _, found := sources.Find(f.Sum); !found && !had {
			t.Errorf("nothing says where %q comes from", f.Path)
		}
	}
	return reach
}

// vectorHistory is that of the vector. It never changes.
func vectorHistory() []tree {
	one := tree{"a/one.js": "1", "a/two.js": "22", "b.so": "333", "c": "keeps"}
	two := one.with(tree{"a/two.js": "22222", "d/new.zip": "3333333", "d/same.zip": "3333333"})
	three := two.with(tree{"a/one.js": "1111", "a/two.js": "222222"}, "d/new.zip")
	return []tree{one, two, three}
}

// TestChangesVector: what was published once is read for ever, and equal releases have equal changes.
func TestChangesVector(t *testing.T) {
	t.Parallel()
	name := filepath.Join("testdata", "changes.hex")
	releases := vectorHistory()
	made := history(t, release.MaxChanges, releases...)
	if *update {
		if err := os.WriteFile(name, hexLines(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil || !bytes.Equal(made, want) {
		t.Errorf("%x, %v\nwant %x", made, err, want)
	}
	last := releases[len(releases)-1]
	near, far := wantApplied(t, want, releases[1], last), wantApplied(t, want, releases[0], last)
	if near >= far || far != int64(len(want)) {
		t.Errorf("%d bytes from the release before, %d from the first, %d in all", near, far, len(want))
	}
}

// TestChangesOfAnyHistory: from every release of random histories every later one is reached, with files that come, go and
// come back, contents that move, and releases that change nothing.
func TestChangesOfAnyHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40 / testlevel.Stride(2, 8)) {
		r := rand.New(rand.NewPCG(seed, 1))
		now := tree{"x.so": "module"}
		releases := []tree{now}
		for range 1 + r.IntN(8) {
			changes, gone := tree{}, []string(nil)
			for range r.IntN(6) {
				name := fmt.Sprintf("dir%d/file%d", r.IntN(3), r.IntN(9))
				if r.IntN(3) == 0 {
					gone = append(gone, name)
				} else {
					changes[name] = strings.Repeat("c", r.IntN(12))
				}
			}
			now = now.with(changes, gone...)
			releases = append(releases, now)
		}
		object := history(t, release.MaxChanges, releases...)
		for _, from := range releases[:len(releases)-1] {
			wantApplied(t, object, from, now)
		}
	}
}

// scripts is a large tree.
func scripts(n int) tree {
	t := tree{}
	for i := range n {
		t[fmt.Sprintf("scripts/part%02d/module%05d.js", i%60, i)] = fmt.Sprint("content of ", i)
	}
	return t
}

// TestChangesAreSmall: a hundred changed files of ten thousand cost about their digests and names. Older changes come
// later in the object, beyond what newer clients read.
func TestChangesAreSmall(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	one := scripts(10_000)
	two, three := one.with(nil), one.with(nil)
	for i := range 1000 {
		two[fmt.Sprintf("scripts/part%02d/module%05d.js", i%60, i)] = fmt.Sprint("newer ", i, i)
	}
	for name, content := range two {
		three[name] = content
	}
	for i := range 100 {
		three[fmt.Sprintf("scripts/part%02d/module%05d.js", i*97%60, i*97)] = fmt.Sprint("newest ", i, i)
	}
	object := history(t, release.MaxChanges, one, two, three)
	near, far := wantApplied(t, object, two, three), wantApplied(t, object, one, three)
	if near > 8500 || far > 85_000 {
		t.Errorf("%d bytes for 100 files and %d for 1100", near, far)
	}
	t.Logf("%d bytes for 100 files, %d for 1100", near, far)
}

// TestOldChangesAreLeftOut: below the limit the newest steps stay, and clients with older listings are not covered.
func TestOldChangesAreLeftOut(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	releases := []tree{scripts(50)}
	for i := range 20 {
		releases = append(releases, releases[i].with(tree{fmt.Sprintf("new%02d", i): fmt.Sprint(i)}))
	}
	whole := history(t, release.MaxChanges, releases...)
	object := history(t, int64(len(whole)/2), releases...)
	if len(object) > len(whole)/2 || len(object) < len(whole)/4 {
		t.Errorf("%d bytes of %d", len(object), len(whole))
	}
	wantApplied(t, object, releases[19], releases[20])
	c := tableOf(t, object)
	if reach := c.Reach(digestOf(t, releases[0].listing())); reach != 0 {
		t.Errorf("the first release is still reached with %d bytes", reach)
	}
	if _, _, err := c.Apply(object, releases[0].listing(), digestOf(t, releases[0].listing()), digestOf(t, releases[20].listing())); err == nil {
		t.Error("applied to a release that was left out")
	}
	if none := history(t, 10, releases...); none != nil {
		t.Errorf("%d bytes where not even the last step fits", len(none))
	}
}

// TestChangesKeepTheirCaps: a publisher makes no more steps than a reader takes.
func TestChangesKeepTheirCaps(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	to := tree{"a": "1"}
	steps := make([]delta.ChangeStep, delta.MaxChangeSteps+50)
	for i := range steps {
		steps[i] = delta.ChangeStep{From: delta.MarkOf(sha(fmt.Sprint(i))), Paths: []string{"a", fmt.Sprint("gone", i)}}
	}
	object, err := delta.EncodeChanges(steps, to.listing(), to.sources(), release.MaxChanges)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tableOf(t, object).Steps(object)
	if err != nil || len(got) != delta.MaxChangeSteps || got[delta.MaxChangeSteps-1].Paths[0] != fmt.Sprint("gone", delta.MaxChangeSteps-1) {
		t.Fatalf("%d steps, %v", len(got), err)
	}
	if _, err := delta.EncodeChanges(steps, to.listing(), nil, release.MaxChanges); err == nil {
		t.Error("changes were made without sources")
	}
	if _, err := tableOf(t, object).Steps(object[:len(object)-1]); formatFault(err) == nil {
		t.Errorf("changes that are cut off: %v", err)
	}
}

func TestChangedPaths(t *testing.T) {
	t.Parallel()
	old := tree{"a": "1", "b": "2", "c": "3", "e.so": "5"}
	for _, c := range []struct {
		fresh tree
		want  []string
	}{
		{old, nil},
		{tree{}, []string{"a", "b", "c", "e.so"}},
		{old.with(tree{"0": "x", "b": "y", "z": "z"}, "a", "e.so"), []string{"0", "a", "b", "e.so", "z"}},
	} {
		if got := delta.ChangedPaths(old.listing(), c.fresh.listing()); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	moded := old.listing()
	moded[0].Mode = release.ProgramMode
	if got := delta.ChangedPaths(old.listing(), moded); !slices.Equal(got, []string{"a"}) {
		t.Errorf("another mode changes %v", got)
	}
}
