package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"collet/build/publish"
	"collet/netproto/release"
	"collet/platform"
)

// change changes the lines of a release.
func (s *fixture) change(w publish.Which, do func(*release.Entry)) {
	s.t.Helper()
	s.with(func(f *publish.Folder) error {
		changed, err := f.Change(context.Background(), w, s.keys.online(), do)
		if err == nil && !changed {
			err = errors.New("nothing changed")
		}
		return err
	})
}

// offered is the number of the release that a client is given, or 0.
func (s *fixture) offered(q release.Query) uint64 {
	s.t.Helper()
	r, err := s.read(s.fs, q)
	if errors.Is(err, release.ErrNoRelease) {
		return 0
	}
	must(s.t, err)
	return r.Number
}

func TestRolloutHoldKill(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for n := 1; n <= 2; n++ {
		s.publish(game(t, small(n)), publish.Request{})
	}
	zero := 0
	s.publish(game(t, small(3)), publish.Request{Percent: &zero})
	if n := s.offered(query("stable", linux, 2)); n != 2 {
		t.Errorf("at 0 percent: offered %d", n)
	}
	three := publish.Which{Number: 3}
	s.change(three, func(e *release.Entry) { e.Percent = 50 })
	got := 0
	for i := range 60 {
		q := query("stable", linux, 2)
		q.Install = fmt.Sprint("install ", i)
		if s.offered(q) == 3 {
			got++
		}
	}
	if got < 18 || got > 42 {
		t.Errorf("at 50 percent %d of 60 were offered it", got)
	}
	s.change(three, func(e *release.Entry) { e.Percent = 100 })
	if n := s.offered(query("stable", linux, 2)); n != 3 {
		t.Errorf("at 100 percent: offered %d", n)
	}
	s.change(three, func(e *release.Entry) { e.Hold = true })
	if n, keeps := s.offered(query("stable", linux, 2)), s.offered(query("stable", linux, 3)); n != 2 || keeps != 3 {
		t.Errorf("held: offered %d, a client that has it gets %d", n, keeps)
	}
	s.change(three, func(e *release.Entry) { e.Hold = false })
	s.change(publish.Which{Number: 3, Target: linux}, func(e *release.Entry) { e.Killed = true })
	if n, other := s.offered(query("stable", linux, 3)), s.offered(query("stable", windows, 3)); n != 2 || other != 3 {
		t.Errorf("killed for one target: %d there, %d elsewhere", n, other)
	}
	f := s.open()
	defer f.Close()
	ctx, keys := context.Background(), s.keys.online()
	if _, err := f.Change(ctx, publish.Which{Number: 3, Target: linux}, keys, func(e *release.Entry) { e.Killed = false }); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("revived: %v", err)
	}
	if _, err := f.Change(ctx, publish.Which{Number: 3, Target: linux}, keys, func(e *release.Entry) { e.Percent = 50 }); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("rolled out again: %v", err)
	}
	if _, err := f.Change(ctx, publish.Which{Number: 9}, keys, func(*release.Entry) {}); err == nil || !strings.Contains(err.Error(), "no release 9") {
		t.Errorf("a release that is not there: %v", err)
	}
	if changed, err := f.Change(ctx, publish.Which{Number: 2}, keys, func(*release.Entry) {}); changed || err != nil {
		t.Errorf("nothing to change: %v, %v", changed, err)
	}
}

func TestPromote(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	old := s.wants(query("stable", linux, 0), 1, small(1).setOf(linux))
	s.publish(game(t, small(5)), publish.Request{Channel: "beta", Number: 5, Version: "five"})
	promote := func(to string, number uint64, percent int) (sum publish.Summary, err error) {
		f := s.open()
		defer f.Close()
		return f.Promote(context.Background(), publish.Promotion{Which: publish.Which{Channel: "beta", Number: 5}, Into: to, Number: number, Percent: percent}, s.keys.online())
	}
	sum, err := promote("stable", 0, 100)
	must(t, err)
	if len(sum.Releases) != 2 || len(sum.Releases[0].Patches) != 1 {
		t.Errorf("%+v", sum)
	}
	fresh := s.wants(query("stable", linux, 1), 5, small(5).setOf(linux))
	if fresh.head.Version != "five" || fresh.head.Channel != "stable" || len(fresh.head.Notes) != 1 {
		t.Errorf("%+v", fresh.head)
	}
	must(t, same(s.patched(old, fresh, small(1).setOf(linux)), small(5).setOf(linux)))
	if _, err := promote("stable", 0, 100); err == nil || !strings.Contains(err.Error(), "--as-number 6") {
		t.Errorf("again: %v", err)
	}
	if _, err := promote("beta", 0, 100); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("into the same channel: %v", err)
	}
	must(t, func() error { _, err := promote("lan-party", 77, 10); return err }())
	if n := s.wants(query("lan-party", linux, 77), 77, small(5).setOf(linux)); n.Percent != 10 {
		t.Errorf("%+v", n)
	}
}

func TestGC(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.set("Keep = 10", "Keep = 2")
	for n := 1; n <= 5; n++ {
		s.publish(game(t, small(n)), publish.Request{})
	}
	stray := "objects/ab/" + strings.Repeat("ab", 32)
	must(t, s.fs.MkdirAll("objects/ab", 0o755))
	must(t, platform.WriteFile(s.fs, stray, []byte("left by a publisher that was stopped")))
	var plan publish.CollectPlan
	s.with(func(f *publish.Folder) (err error) {
		plan, err = f.PlanCollect(context.Background(), 0)
		return err
	})
	if len(plan.Drop) != 6 || plan.Bytes == 0 {
		t.Fatalf("%+v", plan)
	}
	found := false
	for _, r := range plan.Remove {
		found = found || r.Name == stray
	}
	if _, err := s.fs.Lstat(stray); err != nil || !found {
		t.Errorf("a plan changes nothing: %v, stray %v", err, found)
	}
	s.with(func(f *publish.Folder) error { return f.Collect(context.Background(), plan, s.keys.online()) })
	for _, r := range plan.Remove {
		if _, err := s.fs.Lstat(r.Name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	s.wants(query("stable", linux, 0), 5, small(5).setOf(linux))
	s.with(func(f *publish.Folder) error {
		list, err := f.List()
		if len(list) != 4 {
			t.Errorf("%d releases are left", len(list))
		}
		findings, _, e := f.Verify(context.Background())
		if len(findings) > 0 {
			t.Errorf("%v", findings)
		}
		again, e2 := f.PlanCollect(context.Background(), 0)
		if len(again.Drop)+len(again.Remove) != 0 {
			t.Errorf("the second time: %+v", again)
		}
		return errors.Join(err, e, e2)
	})
	// A gone ledger entry is no way to a release without its objects.
	s.publish(game(t, small(1)), publish.Request{})
	s.wants(query("stable", linux, 0), 6, small(1).setOf(linux))
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	s.clock = s.clock.Add(20 * 24 * time.Hour)
	r, err := s.read(s.fs, query("stable", linux, 0))
	must(t, err)
	if r.Fresh {
		t.Error("fresh after 20 days")
	}
	s.with(func(f *publish.Folder) error { return f.Refresh(context.Background(), s.keys.online()[2:]) })
	if r, err = s.read(s.fs, query("stable", linux, 0)); err != nil || !r.Fresh {
		t.Errorf("%v, fresh %v", err, r.Fresh)
	}
	f := s.open()
	defer f.Close()
	if err := f.Refresh(context.Background(), s.keys.all[:3]); err == nil || !strings.Contains(err.Error(), "timestamp") {
		t.Errorf("without the key: %v", err)
	}
}

// plainFiles are those for engine generations.
func (s *fixture) plainFiles() tree { return s.filesBelow("plain") }

// filesBelow are the files below a folder, by their names in it. A folder that is not there has none.
func (s *fixture) filesBelow(folder string) tree {
	s.t.Helper()
	got := tree{}
	var walk func(name string)
	walk = func(name string) {
		list, err := s.fs.ReadDir(name)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		must(s.t, err)
		for _, e := range list {
			if full := name + "/" + e.Name(); e.IsDir() {
				walk(full)
			} else {
				data, err := platform.ReadFile(s.fs, full, 1<<20)
				must(s.t, err)
				got[strings.TrimPrefix(full, folder+"/")] = string(data)
			}
		}
	}
	walk(folder)
	return got
}

func TestPlainFilesFollowTheUsualChannel(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	plain := func(n int) tree { return small(n).with(nil, "notes/en.md") }
	s.publish(game(t, small(1)), publish.Request{})
	must(t, same(s.plainFiles(), plain(1)))
	s.publish(game(t, small(2)), publish.Request{Channel: "beta"})
	must(t, same(s.plainFiles(), plain(1)))
	ten := 10
	s.publish(game(t, small(3).with(nil, "Resources/Same.zip")), publish.Request{Percent: &ten})
	must(t, same(s.plainFiles(), plain(1)))
	s.change(publish.Which{Number: 3}, func(e *release.Entry) { e.Percent = 100 })
	must(t, same(s.plainFiles(), plain(3).with(nil, "Resources/Same.zip")))
	info, err := s.fs.Stat("plain/PlatformBinaries/Linux-x64/Lathe.so")
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s.change(publish.Which{Number: 3}, func(e *release.Entry) { e.Killed = true })
	must(t, same(s.plainFiles(), plain(1)))
	s.set("Plain = true", "Plain = false")
	s.publish(game(t, small(4)), publish.Request{})
	must(t, same(s.plainFiles(), plain(1)))
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	f := s.open()
	want := publish.DefaultSettings()
	want.Product, want.Mirrors = "lathe", []string{}
	got := f.Settings()
	must(t, f.Close())
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("a new file says %#v, want %#v", got, want)
	}
	for old, now := range map[string]string{
		"Percent = 100": "Percent = 101", "Patches = 5": "Patches = 65", "Brotli = 32": "Brotli = 1000", "# Effort = \"balanced\"": "Effort = \"more\"", "Keep = 10": "Keep = 0", "Plain = true": "Plane = true",
		"Product = ": "Product = \"\" #", "ChunkMinimum = 1": "ChunkMinimum = 0", "PatchMemory = 1536": "PatchMemory = 1", "Logic = 0": "Logic = \"x\"",
	} {
		s.set(old, now)
		if _, err := publish.Open(s.fs, s.options()); err == nil || !strings.Contains(err.Error(), "release.toml") {
			t.Errorf("%s: %v", now, err)
		}
		s.set(now, old)
	}
	if _, err := publish.Open(openDir(t, t.TempDir()), s.options()); err == nil || !strings.Contains(err.Error(), "collet release init") {
		t.Errorf("no release folder: %v", err)
	}
	if err := publish.Init(s.fs, "lathe", "", s.keys.plan, s.keys.all, s.options()); err == nil || !strings.Contains(err.Error(), "set up already") {
		t.Errorf("twice: %v", err)
	}
	if err := publish.Init(openDir(t, t.TempDir()), "la the", "", s.keys.plan, s.keys.all, s.options()); err == nil || !strings.Contains(err.Error(), "--product") {
		t.Errorf("a name with a space: %v", err)
	}
}
