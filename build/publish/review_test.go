package publish_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/build/publish"
	"collet/build/publish/check"
	"collet/netproto/release"
	"collet/platform"
)

// TestReviewReadsLittle: of an unchanged set only the beginnings of modules are read.
func TestReviewReadsLittle(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.clock = time.Now().Add(time.Hour) // the files were changed long ago
	dir := t.TempDir()
	writeTree(t, dir, small(1))
	g := &counted{FS: openDir(t, dir)}
	var found []publish.Review
	r := publish.Request{Review: func(_ context.Context, f publish.Review) error { found = append(found, f); return nil }}
	s.publish(g, r)
	g.read.Store(0)
	s.publish(g, r)
	most := int64(len(small(1)["notes/en.md"]))
	for name, text := range small(1) {
		if release.UseOf(release.Binary, name) == release.UseRuntime {
			most += min(int64(len(text)), check.HeadSize)
		}
	}
	if n := g.read.Load(); n > most {
		t.Errorf("%d bytes of an unchanged set were read, at most %d are needed", n, most)
	}
	isUnchanged := func(f check.Finding) bool {
		return f.What == "nothing has changed for Linux-x64 since release 1" && !f.Refused
	}
	if len(found) != 2 || !slices.ContainsFunc(found[1].Findings, isUnchanged) || slices.ContainsFunc(found[0].Findings, isUnchanged) {
		t.Errorf("found %+v", found)
	}
}

// TestRefusedReview: nothing is made of what is refused.
func TestRefusedReview(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	refused := errors.New("refused")
	f := s.open()
	_, err := f.Publish(t.Context(), game(t, small(1)), publish.Request{Review: func(context.Context, publish.Review) error { return refused }}, s.keys.online())
	must(t, f.Close())
	if entries, readErr := s.fs.ReadDir("objects"); !errors.Is(err, refused) || len(entries) > 0 {
		t.Errorf("%v, and %d folders of objects, %v", err, len(entries), readErr)
	}
}

// TestDryRun: no client sees a dry run, it says what the publication will cost, and the publication uses what it made.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	before, err := platform.ReadFile(s.fs, "metadata/timestamp.json", 1<<20)
	must(t, err)
	cost := func(f *publish.Folder, e release.Entry) int64 {
		u, err := f.Update(t.Context(), e, 5, acquire.Link{})
		must(t, err)
		if len(u.From) != 1 || u.Before != 1 || len(u.Files) == 0 {
			t.Fatalf("%+v", u)
		}
		return u.From[0].Cost.Bytes
	}
	f := s.open()
	sum, err := f.Publish(t.Context(), game(t, small(2)), publish.Request{DryRun: true, Effort: publish.EffortFast}, nil)
	must(t, err)
	will := cost(f, sum.Releases[0].Entry)
	must(t, f.Close())
	after, err := platform.ReadFile(s.fs, "metadata/timestamp.json", 1<<20)
	if must(t, err); !bytes.Equal(before, after) {
		t.Error("a dry run changed the signed lists")
	}
	whole := countFiles(t, s.fs, "objects")
	s.publish(game(t, small(2)), publish.Request{})
	if now := countFiles(t, s.fs, "objects"); now != whole {
		t.Errorf("the publication has %d objects, the dry run had %d", now, whole)
	}
	s.with(func(f *publish.Folder) error {
		if is := cost(f, sum.Releases[0].Entry); is < will || is > will+will/10 { // the list has one release more now, about a hundred packed bytes
			t.Errorf("it costs %d bytes, and the dry run said %d", is, will)
		}
		return nil
	})
}

func countFiles(t *testing.T, fsys platform.FS, folder string) (n int) {
	t.Helper()
	entries, err := fsys.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() {
			n += countFiles(t, fsys, folder+"/"+e.Name())
		} else {
			n++
		}
	}
	return n
}
