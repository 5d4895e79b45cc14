package releases_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/netproto/releasetest"
	"collet/netproto/server/releases"
	"collet/platform"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// published is a release folder with two releases, and its board.
func published(t testing.TB) (*releasetest.Folder, *releases.Board) {
	t.Helper()
	f, err := releasetest.New(filepath.Join(t.TempDir(), "release"))
	must(t, err)
	for n := 1; n <= 2; n++ {
		r := releasetest.Standard(n)
		r.Note = "what is new"
		must(t, f.Publish(r))
	}
	return f, &releases.Board{Folder: f.Dir, Proposals: filepath.Join(t.TempDir(), "proposals")}
}

// listed are the entries of a release number.
func listed(t testing.TB, b *releases.Board, number uint64) (found []release.Entry) {
	t.Helper()
	l, err := b.List()
	must(t, err)
	for _, r := range l.Releases {
		if r.Number == number {
			found = append(found, r.Entry)
		}
	}
	return found
}

func TestList(t *testing.T) {
	t.Parallel()
	f, b := published(t)
	l, err := b.List()
	must(t, err)
	if l.Releases[0].Number != 2 || l.Releases[1].Number != 1 || l.Releases[0].Files == 0 || l.Releases[0].Published.IsZero() {
		t.Errorf("%+v", l.Releases)
	}
	if note, err := b.Note(l.Releases[0], "en"); err != nil || note != "what is new" {
		t.Errorf("%q, %v", note, err)
	}
	if _, err := b.Note(l.Releases[0], "xx"); err == nil {
		t.Error("notes in a language that they lack")
	}
	must(t, os.Remove(filepath.Join(f.Dir, filepath.FromSlash(l.Releases[0].Head.HeadPath()))))
	damaged, err := b.List()
	if err != nil || len(damaged.Releases) != len(l.Releases) || damaged.Releases[0].Files != 0 {
		t.Errorf("a lost head hides its release, or others: %+v, %v", damaged.Releases, err)
	}
}

// TestPropose follows a proposal from the wish to the public list.
func TestPropose(t *testing.T) {
	t.Parallel()
	f, b := published(t)
	change := releases.Change{Product: releasetest.Product, Channel: "stable", Number: 2, Action: releases.Rollout, Percent: 10}
	made, err := b.Propose(change)
	must(t, err)
	name := made.Name
	if name != "4-lathe-stable-rollout-10-percent-2" {
		t.Errorf("it is named %q", name)
	}
	waiting, err := b.Waiting()
	must(t, err)
	if len(waiting) != 1 || waiting[0].Have != 0 || waiting[0].Need != 1 || waiting[0].Outdated || len(waiting[0].Changes) != len(listed(t, b, 2)) || waiting[0].Changes[0].Entry.Percent != 10 {
		t.Fatalf("%+v", waiting)
	}
	for _, e := range listed(t, b, 2) {
		if e.Percent != 100 {
			t.Error("a proposal changed the list")
		}
	}
	if _, err := b.Propose(change); !errors.Is(err, releases.ErrExists) {
		t.Errorf("a proposal that waits, perhaps with signatures, was replaced: %v", err)
	}
	dir, err := platform.OpenDir(filepath.Join(b.Proposals, name))
	must(t, err)
	defer dir.Close()
	p, err := proposal.Read(dir)
	must(t, err)
	if _, err := p.Sign(f.Keys); err != nil {
		t.Fatal(err)
	}
	must(t, p.Write(dir))
	if waiting, err = b.Waiting(); err != nil || waiting[0].Have != 1 {
		t.Errorf("%+v, %v", waiting, err)
	}
	must(t, f.Repo.InstallProposal(p.List, f.Keys))
	if got := listed(t, b, 2); got[0].Percent != 10 {
		t.Errorf("%+v", got)
	}
	if waiting, err = b.Waiting(); err != nil || len(waiting) != 0 {
		t.Errorf("what is public waits: %+v, %v", waiting, err)
	}
	for _, action := range []releases.Action{releases.Hold, releases.Kill} {
		change.Action = action
		_, err := b.Propose(change)
		must(t, err)
	}
	must(t, f.Repo.SetEntries(f.Repo.Entries(), f.Keys)) // another change meanwhile
	waiting, err = b.Waiting()
	if err != nil || len(waiting) != 2 || !waiting[0].Outdated || !waiting[1].Outdated {
		t.Errorf("%+v, %v", waiting, err)
	}
}

func TestWrongProposals(t *testing.T) {
	t.Parallel()
	_, b := published(t)
	good := releases.Change{Product: releasetest.Product, Channel: "stable", Number: 2, Action: releases.Hold}
	for want, change := range map[error]func(*releases.Change){
		releases.ErrUnknown: func(c *releases.Change) { c.Number = 3 },
		releases.ErrNothing: func(c *releases.Change) { c.Action, c.Percent = releases.Rollout, 100 },
		releases.ErrChange:  func(c *releases.Change) { c.Action, c.Percent = releases.Rollout, 101 },
	} {
		c := good
		change(&c)
		if _, err := b.Propose(c); !errors.Is(err, want) {
			t.Errorf("%+v: got %v, want %v", c, err, want)
		}
	}
	if _, err := b.Propose(releases.Change{Product: releasetest.Product, Channel: "../stable", Number: 2, Action: releases.Hold}); !errors.Is(err, releases.ErrUnknown) {
		t.Errorf("a channel that leads elsewhere: %v", err)
	}
	if _, err := (&releases.Board{Folder: b.Folder}).Propose(good); !errors.Is(err, releases.ErrNoFolder) {
		t.Errorf("%v", err)
	}
	must(t, os.MkdirAll(filepath.Join(b.Proposals, "other"), 0o755))
	must(t, os.WriteFile(filepath.Join(b.Proposals, "README"), nil, 0o644))
	if waiting, err := b.Waiting(); err != nil || len(waiting) != 0 {
		t.Errorf("strange folders are proposals: %+v, %v", waiting, err)
	}
	full := &releases.Board{Folder: b.Folder, Proposals: filepath.Join(b.Proposals, "README")}
	if _, err := full.Propose(good); !errors.Is(err, releases.ErrWrite) {
		t.Errorf("a folder that is none: %v", err)
	}
	if _, err := (&releases.Board{Folder: filepath.Join(b.Folder, "nowhere")}).List(); err == nil {
		t.Error("a folder that is not there")
	}
}

// TestPromote proposes a release for another channel: its files are there, only heads are new.
func TestPromote(t *testing.T) {
	t.Parallel()
	f, b := published(t)
	for n := 3; n <= 4; n++ {
		r := releasetest.Standard(n)
		r.Channel, r.Patch = "beta", ""
		must(t, f.Publish(r))
	}
	change := releases.Change{Product: releasetest.Product, Channel: "beta", Number: 4, Action: releases.Promote, Into: "stable", Percent: 10}
	made, err := b.Propose(change)
	must(t, err)
	if made.Name != "6-lathe-beta-promote-into-stable-10-percent-4" || len(made.Fetches) != 2*len(listed(t, b, 4)) {
		t.Errorf("%+v", made)
	}
	for _, fetch := range made.Fetches {
		if fetch.Patch || fetch.Bytes == 0 || fetch.From != 1 && fetch.From != 2 {
			t.Errorf("%+v", fetch)
		}
	}
	waiting, err := b.Waiting()
	must(t, err)
	if len(waiting) != 1 || len(waiting[0].Changes) != len(listed(t, b, 4)) || waiting[0].Changes[0].Before != nil || waiting[0].Changes[0].Entry.Percent != 10 || waiting[0].Changes[0].Entry.Channel != "stable" {
		t.Errorf("%+v", waiting)
	}
	dir, err := platform.OpenDir(filepath.Join(b.Proposals, made.Name))
	must(t, err)
	defer dir.Close()
	for _, l := range waiting[0].Changes {
		if h, err := proposal.Head(dir, l.Entry); err != nil || h.Channel != "stable" || h.Version == "" {
			t.Errorf("%+v, %v", h, err)
		}
	}
	for want, wrong := range map[error]func(*releases.Change){
		releases.ErrInto:    func(c *releases.Change) { c.Into = "beta" },
		releases.ErrUnknown: func(c *releases.Change) { c.Number = 2 },
		releases.ErrNumber:  func(c *releases.Change) { c.Channel, c.Number, c.Into = "stable", 2, "beta" },
		releases.ErrChange:  func(c *releases.Change) { c.Percent = -1 },
		releases.ErrExists:  func(*releases.Change) {},
	} {
		c := change
		wrong(&c)
		if _, err := b.Propose(c); !errors.Is(err, want) {
			t.Errorf("%+v: got %v, want %v", c, err, want)
		}
	}
	change.Into = "prod" // mistyped
	if _, err := b.Propose(change); !errors.Is(err, releases.ErrInto) {
		t.Error(err)
	}
	change.Into = "stable"
	must(t, f.Edit(func(e *release.Entry) { e.Killed = e.Number == 4 }))
	if _, err := b.Propose(change); !errors.Is(err, releases.ErrKilled) {
		t.Errorf("a killed release: %v", err)
	}
}

// TestPromoteKilledElsewhere: a release that was killed in one channel is not offered from another that has it, too.
func TestPromoteKilledElsewhere(t *testing.T) {
	t.Parallel()
	f, b := published(t)
	for _, channel := range []string{"alpha", "beta"} {
		r := releasetest.Standard(4)
		r.Channel, r.Patch = channel, ""
		must(t, f.Publish(r))
	}
	change := releases.Change{Product: releasetest.Product, Channel: "beta", Number: 4, Action: releases.Promote, Into: "stable", Percent: 100}
	must(t, f.Edit(func(e *release.Entry) { e.Killed = e.Channel == "stable" && e.Number == 2 })) // other files
	_, err := b.Propose(change)
	must(t, err)
	must(t, f.Edit(func(e *release.Entry) { e.Killed = e.Killed || e.Channel == "alpha" }))
	if _, err := b.Propose(change); !errors.Is(err, releases.ErrKilled) || !strings.Contains(err.Error(), "/alpha/") {
		t.Errorf("killed in another channel: %v", err)
	}
}
