package publish_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"collet/app/acquire"
	"collet/build/advice"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	linux   = "Linux-x64"
	windows = "Windows-win64"
)

func TestPublishTwoReleases(t *testing.T) {
	t.Parallel()
	s := newFixtureOn(t, openDir(t, t.TempDir()))
	one, two := small(1), small(2)
	sum := s.publish(game(t, one), publish.Request{})
	if len(sum.Releases) != 2 || sum.Releases[0].Entry.Number != 1 || sum.Releases[0].Files != 5 {
		t.Fatalf("%+v", sum)
	}
	old := s.wants(query("stable", linux, 0), 1, one.setOf(linux))
	s.wants(query("stable", windows, 0), 1, one.setOf(windows))
	sum = s.publish(game(t, two), publish.Request{})
	fresh := s.wants(query("stable", linux, 1), 2, two.setOf(linux))
	must(t, same(s.patched(old, fresh, one.setOf(linux)), two.setOf(linux)))
	if p := sum.Releases[0].Patches; len(p) != 1 || p[0].From != 1 || p[0].Bytes == 0 || p[0].Bytes > 400 || p[0].Whole < 3*p[0].Bytes {
		t.Errorf("%+v", p)
	}
	tag, note, found := fresh.head.Note("de")
	data, err := get(s.fs, note)
	if tag != "en" || !found || err != nil || string(data) != "release 2" {
		t.Errorf("notes: %q, %v", data, err)
	}
	if m, found := fresh.listing.Find("Lathe.so"); !found || m.Use != release.UseRuntime || m.Mode != release.ProgramMode {
		t.Errorf("%+v", m)
	}
	s.with(func(f *publish.Folder) error {
		findings, checked, err := f.Verify(context.Background())
		if len(findings) > 0 || checked == 0 {
			t.Errorf("%v", findings)
		}
		return err
	})
}

func TestPublishAgainIsNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	g := game(t, small(1))
	s.publish(g, publish.Request{Number: 7})
	before, err := platform.ReadFile(s.fs, "metadata/timestamp.json", 1<<20)
	must(t, err)
	sum := s.publish(g, publish.Request{Number: 7})
	after, err := platform.ReadFile(s.fs, "metadata/timestamp.json", 1<<20)
	must(t, err)
	if len(sum.Releases) != 2 || !sum.Releases[0].Already || sum.Objects != 0 || string(before) != string(after) {
		t.Errorf("%+v", sum)
	}
	sum = s.publish(g, publish.Request{}) // the same set under a new number
	if p := sum.Releases[0]; p.Already || p.Entry.Number != 8 || sum.Objects != 0 || p.Patches[0].Bytes != 0 || p.Patches[0].Why == "" {
		t.Errorf("%+v", p)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{Number: 5})
	for _, test := range []struct {
		what string
		game tree
		r    publish.Request
		want string
	}{
		{"other files under a number", small(2), publish.Request{Number: 5}, "published with other files"},
		{"a lower number", small(2), publish.Request{Number: 4}, "below 5"},
		{"a target that is not there", small(2), publish.Request{Target: "macOS-arm64"}, "it has Linux-x64, Windows-win64"},
		{"two paths that are one", small(2).with(tree{"Resources/core.ZIP": ""}), publish.Request{}, "same file"},
		{"a patch from nowhere", small(2), publish.Request{PatchFrom: []uint64{3}}, "no earlier release"},
		{"notes that are too long", small(2).with(tree{"notes/de.md": strings.Repeat("x", release.MaxNote+1)}), publish.Request{}, "release notes"},
	} {
		f := s.open()
		_, err := f.Publish(context.Background(), game(t, test.game), test.r, s.keys.online())
		must(t, f.Close())
		var fault *advice.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.what, err)
		}
	}
	f := s.open()
	defer f.Close()
	var lacking *trust.KeysError
	if _, err := f.Publish(context.Background(), game(t, small(2)), publish.Request{}, s.keys.all[:3]); !errors.As(err, &lacking) || lacking.Role != trust.RoleTargets {
		t.Errorf("without keys: %v", err)
	}
	if _, err := publish.Open(s.fs, s.options()); err == nil || !strings.Contains(err.Error(), "another command") {
		t.Errorf("two at a time: %v", err)
	}
}

func TestPatchesFromTheLastReleases(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.set("Patches = 5", "Patches = 2")
	var readers []reader
	for n := 1; n <= 4; n++ {
		s.publish(game(t, small(n)), publish.Request{})
		readers = append(readers, s.wants(query("stable", linux, 0), uint64(n), small(n).setOf(linux)))
	}
	if n := len(readers[3].head.Patches); n != 2 {
		t.Errorf("release 4 has %d patches", n)
	}
	for _, old := range readers[1:3] {
		must(t, same(s.patched(old, readers[3], small(int(old.Number)).setOf(linux)), small(4).setOf(linux)))
	}
	s.publish(game(t, small(5)), publish.Request{PatchFrom: []uint64{1}})
	last := s.wants(query("stable", linux, 0), 5, small(5).setOf(linux))
	if _, found := last.head.PatchFrom(readers[0].head.Listing.Sum); !found || len(last.head.Patches) != 3 {
		t.Errorf("patches %v", last.head.Patches)
	}
	none := 0
	s.publish(game(t, small(6)), publish.Request{Patches: &none})
	if last = s.wants(query("stable", linux, 0), 6, small(6).setOf(linux)); len(last.head.Patches) != 0 {
		t.Errorf("patches %v", last.head.Patches)
	}
}

func TestAPatchThatSavesNothingIsNotPublished(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, tree{"PlatformBinaries/Linux-x64/a.so": noise(1, 50_000)}), publish.Request{})
	sum := s.publish(game(t, tree{"PlatformBinaries/Linux-x64/a.so": noise(2, 50_000)}), publish.Request{})
	if p := sum.Releases[0].Patches; len(p) != 1 || p[0].Bytes != 0 || !strings.Contains(p[0].Why, "too little") {
		t.Errorf("%+v", p)
	}
}

func TestLargeFilesGetChunks(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.set("ChunkMinimum = 1", "ChunkMinimum = 131072")
	big := noise(1, 400_000)
	one := small(1).with(tree{"Resources/Big.zip": big})
	two := small(2).with(tree{"Resources/Big.zip": big[:200_000] + "inserted" + big[200_000:]})
	s.publish(game(t, one), publish.Request{})
	s.publish(game(t, two), publish.Request{})
	r := s.wants(query("stable", linux, 0), 2, two.setOf(linux))
	indexed := 0
	for _, source := range r.sources {
		if !source.Index.IsZero() {
			indexed++
		}
	}
	if indexed != 1 {
		t.Errorf("%d files have an index", indexed)
	}
	s.with(func(f *publish.Folder) error {
		list, err := f.Estimate(context.Background(), "", linux, 1, 2, acquire.Link{})
		if err != nil {
			return err
		}
		e := list[0]
		if e.Takes != acquire.Patched || e.Cost.Bytes != e.Lists+e.Patch.Bytes || e.Lists < 1000 || e.Lists > 2000 || e.By[acquire.Patched] != e.Fresh || e.Patch.Bytes > 1000 || e.Chunks.Bytes > 60_000 || e.Whole.Bytes < 400_000 || e.Contents != 3 || e.Files != 3 {
			t.Errorf("%+v", e)
		}
		back, err := f.Estimate(context.Background(), "", linux, 2, 1, acquire.Link{Rate: 100e3})
		if err != nil {
			return err
		}
		if e := back[0]; e.Takes != acquire.Chunked || e.Cost.Bytes > e.Chunks.Bytes+e.Lists || e.Patch.Bytes != -1 || e.Chunks.Bytes > 60_000 {
			t.Errorf("%+v", e)
		}
		findings, _, err := f.Verify(context.Background())
		if len(findings) > 0 {
			t.Errorf("%v", findings)
		}
		return err
	})
}

func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1).with(tree{"Resources/Big.zip": noise(1, 300_000)})), publish.Request{})
	r := s.wants(query("stable", linux, 0), 1, small(1).with(tree{"Resources/Big.zip": noise(1, 300_000)}).setOf(linux))
	for _, o := range []release.Object{r.sources[0].Whole, r.head.Sources, r.head.Notes["en"]} {
		data, err := get(s.fs, o)
		must(t, err)
		data[0] ^= 1
		must(t, platform.WriteFile(s.fs, o.Path(), data))
		s.with(func(f *publish.Folder) error {
			findings, _, err := f.Verify(context.Background())
			if len(findings) != 1 {
				t.Errorf("%s: %v", o.Path(), findings)
			}
			return err
		})
		must(t, s.fs.Remove(o.Path()))
		s.with(func(f *publish.Folder) error {
			findings, _, err := f.Verify(context.Background())
			if len(findings) != 1 {
				t.Errorf("%s: %v", o.Path(), findings)
			}
			return err
		})
		data[0] ^= 1
		must(t, platform.WriteFile(s.fs, o.Path(), data))
	}
}

func TestADamagedOldReleaseDoesNotStopANewOne(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	one := s.wants(query("stable", linux, 0), 1, small(1).setOf(linux))
	must(t, s.fs.Remove(one.head.Sources.Path()))
	sum := s.publish(game(t, small(2)), publish.Request{})
	s.wants(query("stable", linux, 0), 2, small(2).setOf(linux))
	if p := sum.Releases[0].Patches; len(p) != 1 || p[0].Bytes != 0 || !strings.Contains(p[0].Why, "damaged") {
		t.Errorf("%+v", p)
	}
	// A whole object that went is made again, under its name.
	two := s.wants(query("stable", windows, 0), 2, small(2).setOf(windows))
	must(t, s.fs.Remove(two.sources[0].Whole.Path()))
	s.publish(game(t, small(2)), publish.Request{})
	s.wants(query("stable", windows, 0), 3, small(2).setOf(windows))
}
