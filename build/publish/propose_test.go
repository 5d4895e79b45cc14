package publish_test

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/netproto/release/trust"
	"collet/netproto/server/releases"
	"collet/platform"
	"collet/platform/faultfs"
)

// copyTree copies the files of a folder, but for private ones.
func copyTree(t testing.TB, to, from platform.FS, folder string) {
	t.Helper()
	entries, err := from.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			if name != ".collet" {
				must(t, to.MkdirAll(name, 0o755))
				copyTree(t, to, from, name)
			}
			continue
		}
		data, err := platform.ReadFile(from, name, 1<<24)
		must(t, err)
		must(t, platform.WriteFile(to, name, data))
	}
}

// role are the keys of some roles, in the order of newKeys.
func (s *fixture) role(roles ...trust.KeyRole) (keys []*trust.PrivateKey) {
	for _, role := range roles {
		switch role {
		case trust.RoleRoot:
			keys = append(keys, s.keys.all[:3]...)
		case trust.RoleTargets:
			keys = append(keys, s.keys.all[3])
		case trust.RoleSnapshot:
			keys = append(keys, s.keys.all[4])
		case trust.RoleTimestamp:
			keys = append(keys, s.keys.all[5])
		}
	}
	return keys
}

// author is another machine with a copy of the release folder.
func (s *fixture) author() *fixture {
	s.t.Helper()
	a := *s
	a.fs = memory(s.t)
	copyTree(s.t, a.fs, s.fs, ".")
	return &a
}

// proposes does something that changes the list, as a proposal in a new folder.
func (s *fixture) proposes(keys []*trust.PrivateKey, do func(*publish.Folder, []*trust.PrivateKey) error) platform.FS {
	s.t.Helper()
	to := memory(s.t)
	o := s.options()
	o.Propose = to
	f, err := publish.Open(s.fs, o)
	must(s.t, err)
	must(s.t, errors.Join(do(f, keys), f.Close()))
	return to
}

// accepts accepts a proposal with the online keys.
func (s *fixture) accepts(from platform.FS) (publish.Accepted, error) {
	s.t.Helper()
	keys := s.role(trust.RoleSnapshot, trust.RoleTimestamp)
	f := s.open()
	a, err := f.Accept(context.Background(), from, keys)
	must(s.t, f.Close())
	return a, err
}

// publishes is a publication, for proposes.
func publishes(game platform.FS) func(*publish.Folder, []*trust.PrivateKey) error {
	return func(f *publish.Folder, keys []*trust.PrivateKey) error {
		_, err := f.Publish(context.Background(), game, publish.Request{Effort: publish.EffortFast}, keys)
		return err
	}
}

// TestProposals: a release that one machine makes, another signs, and a third makes public; then a change of its rollout.
func TestProposals(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	author := s.author()
	unsigned := author.proposes(nil, publishes(game(t, small(2))))
	if n := author.offered(query("stable", linux, 0)); n != 1 {
		t.Errorf("a proposal changed its author's list: %d", n)
	}
	var keys *trust.KeysError
	if _, err := s.accepts(unsigned); !errors.As(err, &keys) || keys.Role != trust.RoleTargets || !strings.Contains(err.Error(), "collet release approve") {
		t.Errorf("without a signature: %v", err)
	}
	p, err := proposal.Read(unsigned)
	must(t, err)
	info, err := p.Describe(nil, s.clock)
	must(t, err)
	if len(info.Lines) != 4 || !info.Lines[1].Changed() || info.Lines[0].Changed() || info.Lines[1].Entry.Number != 2 {
		t.Errorf("%+v", info.Lines)
	}
	if ids, err := p.Sign(s.role(trust.RoleRoot, trust.RoleTargets)); err != nil || len(ids) != 1 {
		t.Errorf("signed by %q, %v", ids, err)
	}
	must(t, p.Write(unsigned))
	a, err := s.accepts(unsigned)
	if err != nil || a.Files == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	s.mustRead(t, 2)
	if a, err = s.accepts(unsigned); err != nil || a.Files != 0 {
		t.Errorf("twice: %+v, %v", a, err)
	}

	author = s.author()
	rollout := author.proposes(s.role(trust.RoleTargets), func(f *publish.Folder, keys []*trust.PrivateKey) error {
		_, err := f.Change(context.Background(), publish.Which{Number: 2}, keys, func(e *release.Entry) { e.Hold = true })
		return err
	})
	if a, err := s.accepts(rollout); err != nil || a.Files != 0 {
		t.Errorf("a rollout: %+v, %v", a, err)
	}
	if n := s.offered(query("stable", linux, 0)); n != 1 {
		t.Errorf("a held release is offered: %d", n)
	}
	if _, err := s.accepts(unsigned); !errors.Is(err, trust.ErrOutdatedProposal) {
		t.Errorf("the first proposal once more: %v", err)
	}

	author = s.author() // the list as it is, for another year, and a shorter one
	renewal := author.proposes(s.role(trust.RoleTargets), func(f *publish.Folder, keys []*trust.PrivateKey) error {
		return f.ProposeSame(context.Background(), keys)
	})
	if _, err := s.accepts(renewal); err != nil {
		t.Errorf("a renewal: %v", err)
	}
	s.change(publish.Which{Number: 2}, func(e *release.Entry) { e.Hold = false })
	shorter := s.author().proposes(s.role(trust.RoleTargets), func(f *publish.Folder, keys []*trust.PrivateKey) error {
		plan, err := f.PlanCollect(context.Background(), 1)
		if err != nil {
			return err
		}
		return f.Collect(context.Background(), publish.CollectPlan{Drop: plan.Drop}, keys)
	})
	if a, err := s.accepts(shorter); err != nil || len(a.Info.Entries) != 2 {
		t.Errorf("a shorter list: %+v, %v", a.Info.Entries, err)
	}
}

// mustRead reads all of a release for both targets.
func (s *fixture) mustRead(t *testing.T, number uint64) {
	t.Helper()
	r, err := s.read(s.fs, query("stable", linux, 0))
	must(t, err)
	if r.Number != number {
		t.Errorf("release %d is offered, want %d", r.Number, number)
	}
	s.with(func(f *publish.Folder) error {
		findings, _, err := f.Verify(context.Background())
		if len(findings) > 0 {
			t.Errorf("%v", findings)
		}
		return err
	})
}

// TestPromotionOfTheServer: what the dashboard proposes is accepted, with the patches that are there.
func TestPromotionOfTheServer(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for n := 1; n <= 3; n++ {
		s.publish(game(t, small(n)), publish.Request{Channel: "beta"})
		if n == 1 {
			s.with(func(f *publish.Folder) error {
				_, err := f.Promote(context.Background(), publish.Promotion{Which: publish.Which{Channel: "beta", Number: 1}, Into: "stable", Percent: 100}, s.keys.online())
				return err
			})
		}
	}
	old, err := s.read(s.fs, query("stable", linux, 0))
	must(t, err)
	have, err := old.files(s.fs)
	must(t, err)
	disk, err := platform.OpenDir(t.TempDir())
	must(t, err)
	defer disk.Close()
	copyTree(t, disk, s.fs, ".")
	b := releases.Board{Folder: disk.Path("."), Proposals: t.TempDir()}
	made, err := b.Propose(releases.Change{Product: old.head.Product, Channel: "beta", Number: 3, Action: releases.Promote, Into: "stable", Percent: 100})
	must(t, err)
	from, err := platform.OpenDir(filepath.Join(b.Proposals, made.Name))
	must(t, err)
	defer from.Close()
	p, err := proposal.Read(from)
	must(t, err)
	if _, err := p.Sign(s.role(trust.RoleTargets)); err != nil {
		t.Fatal(err)
	}
	must(t, p.Write(from))
	if a, err := s.accepts(from); err != nil || a.Files != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	s.mustRead(t, 3)
	next := s.wants(query("stable", linux, 1), 3, small(3).setOf(linux))
	must(t, same(s.patched(old, next, have), small(3).setOf(linux)))
	patch, _ := next.head.PatchFrom(old.head.Listing.Sum)
	for _, f := range made.Fetches {
		if !f.Patch || f.From != 1 || f.Target == linux && f.Bytes != patch.Size {
			t.Errorf("%+v, the patch has %d bytes", f, patch.Size)
		}
	}
	if len(made.Fetches) != 2 {
		t.Errorf("%+v", made.Fetches)
	}
}

// TestDamagedProposals: whatever is missing, changed or added, nothing becomes public, and nothing wrong stays under a name of an object.
func TestDamagedProposals(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	good := s.author().proposes(s.role(trust.RoleTargets), publishes(game(t, small(1))))
	object := "objects"
	for range 2 { // objects/<2 hex>/<64 hex>
		entries, err := good.ReadDir(object)
		must(t, err)
		object = path.Join(object, entries[0].Name())
	}
	for what, test := range map[string]struct {
		damage func(platform.FS) error
		want   string
	}{
		"without its list":     {func(f platform.FS) error { return f.Remove("list.json") }, "no complete proposal"},
		"a list that is none":  {func(f platform.FS) error { return platform.WriteFile(f, "list.json", []byte("{}")) }, "proposed list"},
		"an object that lacks": {func(f platform.FS) error { return f.Remove(object) }, "bring the whole folder"},
		"an object with other bytes": {func(f platform.FS) error {
			data, err := platform.ReadFile(f, object, 1<<24)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return platform.WriteFile(f, object, data)
		}, "does not have the content that its name says"},
	} {
		t.Run(what, func(t *testing.T) {
			bad := memory(t)
			copyTree(t, bad, good, ".")
			must(t, test.damage(bad))
			if what == "an object with other bytes" { // an approver sees it, too
				if err := proposal.CheckFiles(bad, nil); err == nil || !strings.Contains(err.Error(), test.want) || proposal.CheckFiles(good, nil) != nil {
					t.Errorf("approve: got %v, want %q", err, test.want)
				}
			}
			if _, err := s.accepts(bad); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if n := s.offered(query("stable", linux, 0)); n != 0 {
				t.Errorf("release %d became public", n)
			}
		})
	}
	// What no new release needs stays where it is, also under a right name; and a file that is damaged in the folder itself is taken again.
	stray := release.ObjectOf([]byte("hello"))
	must(t, good.MkdirAll(path.Dir(stray.Path()), 0o755))
	must(t, platform.WriteFile(good, stray.Path(), []byte("hello")))
	data, err := platform.ReadFile(good, object, 1<<24)
	must(t, err)
	must(t, s.fs.MkdirAll(path.Dir(object), 0o755))
	must(t, platform.WriteFile(s.fs, object, make([]byte, len(data))))
	if _, err := s.accepts(good); err != nil {
		t.Error(err)
	}
	s.mustRead(t, 1)
	if _, err := platform.ReadFile(s.fs, stray.Path(), 100); err == nil {
		t.Error("a file that nothing needs came with the proposal")
	}
}

// TestAcceptStops stops an acceptance at each operation. Players see the list before or after, and the next attempt ends it.
func TestAcceptStops(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, tree{"Resources/A.txt": "one", "PlatformBinaries/Linux-x64/Lathe.so": "module"}), publish.Request{})
	from := s.author().proposes(s.role(trust.RoleTargets), publishes(game(t, tree{"Resources/A.txt": "two", "PlatformBinaries/Linux-x64/Lathe.so": "module"})))
	keys := s.role(trust.RoleSnapshot, trust.RoleTimestamp)
	accept := func(fsys platform.FS) error {
		f, err := publish.Open(fsys, s.options())
		if err != nil {
			return err
		}
		_, err = f.Accept(context.Background(), from, keys)
		return errors.Join(err, f.Close())
	}
	fresh := func() *faultfs.FS {
		to := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
		t.Cleanup(to.Kill)
		copyTree(t, to, s.fs, ".")
		return to
	}
	whole := fresh()
	before := whole.Count()
	must(t, accept(whole))
	for k := before + 1; k <= whole.Count(); k += 3 {
		to := fresh()
		to.StopInside(k)
		_ = accept(to)
		after := to.Disk().Open(faultfs.Options{})
		r, err := s.read(after, query("stable", linux, 0))
		must(t, err)
		if err := accept(after); err != nil {
			t.Fatalf("stopped at %d with release %d: %v", k, r.Number, err)
		}
		if r, err = s.read(after, query("stable", linux, 0)); err != nil || r.Number != 2 {
			t.Fatalf("stopped at %d, then release %d, %v", k, r.Number, err)
		}
		after.Kill()
	}
}
