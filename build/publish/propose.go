package publish

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"collet/build/advice"
	"collet/build/publish/places"
	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/netproto/release/trust"
	"collet/platform"
)

// propose writes a change of the signed list as a proposal, in place of making it public. keys that may sign releases sign it.
func (f *Folder) propose(ctx context.Context, entries []release.Entry, keys []*trust.PrivateKey) error {
	to := f.options.Propose
	p, err := proposal.New(f.repo, entries)
	if err != nil {
		return advice.Because(err, "", "propose a list")
	}
	if err := errors.Join(proposal.CheckFolder(to), p.Keep(to)); err != nil {
		return err
	}
	f.proposed = true
	if err := f.copyNew(ctx, entries, to); err != nil {
		return err
	}
	if _, err := p.Sign(keys); err != nil {
		return advice.Because(err, "", "sign the proposal")
	}
	return p.Write(to)
}

// Proposed reports whether there was something to propose.
func (f *Folder) Proposed() bool { return f.proposed }

// copyNew copies the files to which only the proposed list refers.
func (f *Folder) copyNew(ctx context.Context, entries []release.Entry, to platform.FS) error {
	before, err := f.releases.reachable(ctx, f.repo.Entries())
	if err != nil {
		return err
	}
	after, err := f.releases.reachable(ctx, entries)
	if err != nil {
		return err
	}
	fresh := after.files()
	total := int64(0)
	for name := range before.files() {
		delete(fresh, name)
	}
	for _, size := range fresh {
		total += size
	}
	if err := removeOthers(to, fresh); err != nil {
		return err
	}
	f.meter.startStep("copy", "", total)
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if platform.Size(to, name) != fresh[name] {
			if err := copyTo(to, f.fs, name); err != nil {
				return advice.Because(err, room(err), "copy %s to the proposal", name)
			}
		}
		f.meter.addBytes(fresh[name], name)
	}
	folders := map[string]bool{}
	for name := range fresh {
		folders[path.Dir(name)] = true
	}
	for folder := range folders {
		if err := to.SyncDir(folder); err != nil {
			return advice.Because(err, room(err), "sync the proposal")
		}
	}
	return nil
}

// removeOthers removes the files of an earlier proposal in this folder.
func removeOthers(to platform.FS, wanted map[string]int64) error {
	var gone []string
	for _, folder := range []string{"objects", "releases"} {
		err := platform.Walk(to, folder, func(name string, _ fs.DirEntry) error {
			if _, stays := wanted[name]; !stays {
				gone = append(gone, name)
			}
			return nil
		}, nil)
		if err != nil {
			return advice.Because(err, "", "look through the proposal")
		}
	}
	for _, name := range gone {
		if err := to.Remove(name); err != nil {
			return advice.Because(err, "", "remove %s of an earlier proposal", name)
		}
	}
	return nil
}

// files are the sizes of heads and objects, by name.
func (r *reach) files() map[string]int64 {
	list := map[string]int64{}
	for name, o := range r.heads {
		list[name] = o.Size
	}
	for name, o := range r.objects {
		list[name] = o.Size
	}
	return list
}

// copyTo copies one file; it has its name when it is complete.
func copyTo(to, from platform.FS, name string) error {
	in, err := openFile(from, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := makeFolders(to, path.Dir(name)); err != nil {
		return err
	}
	if err := platform.WriteFrom(to, name+places.UnfinishedExt, in, 0o644); err != nil {
		return err
	}
	return to.Rename(name+places.UnfinishedExt, name)
}

// Accepted is the result of Accept.
type Accepted struct {
	Info  proposal.Info
	Files int // new files
	Bytes int64
}

// Accept makes a proposal public: it checks the signatures and the list, takes the files that the new releases need, each with the digest in
// its name, reads each new release as Verify does, and signs snapshot and timestamp with keys. A proposal that was accepted before changes
// nothing. After an interruption call it again.
func (f *Folder) Accept(ctx context.Context, from platform.FS, keys []*trust.PrivateKey) (a Accepted, err error) {
	if err := f.CheckKeys(keys, trust.RoleSnapshot, trust.RoleTimestamp); err != nil {
		return a, err
	}
	p, err := proposal.Read(from)
	if err != nil {
		return a, err
	}
	known, err := f.Known()
	if err != nil {
		return a, err
	}
	a.Info, err = p.Describe(&known, f.options.Now())
	if err != nil {
		return a, advice.Because(err, "", "proposal %s", from.Path("."))
	}
	if have := len(a.Info.Signers); have < a.Info.Need {
		return a, advice.Because(&trust.KeysError{Role: trust.RoleTargets, Have: have, Need: a.Info.Need},
			"let another holder of a targets key run collet release approve", "proposal %s", from.Path("."))
	}
	t := &taking{folder: f, from: from}
	for _, l := range a.Info.Lines {
		if !l.Gone && (l.Before == nil || l.Before.Head != l.Entry.Head) {
			t.entries = append(t.entries, l.Entry)
		}
	}
	if err := t.run(ctx); err != nil {
		return a, err
	}
	a.Files, a.Bytes = t.files, t.bytes
	if err := f.repo.InstallProposal(p.List, keys); err != nil {
		return a, advice.Because(err, room(err), "change the signed list")
	}
	return a, f.updateDerived(ctx)
}

// Known is the folder's own root and list, which a proposal is checked against.
func (f *Folder) Known() (proposal.Known, error) { return proposal.KnownBy(f.repo) }

// taking takes the files of new releases out of a proposal. It follows the entries, so nothing else in the proposal is read:
//
//	heads ─► listing, sources, patches, notes, changes ─► whole objects, indexes, parts of the solid form ─► chunks ─► verified
type taking struct {
	folder  *Folder
	from    platform.FS
	entries []release.Entry
	again   map[string]bool // names of files that are here and damaged: they are taken, too
	files   int
	bytes   int64
}

func (t *taking) run(ctx context.Context) error {
	findings, err := t.takeAll(ctx)
	if err != nil || len(findings) == 0 {
		return err
	}
	t.again = map[string]bool{}
	for _, found := range findings {
		t.again[found.Name] = true
	}
	if findings, err = t.takeAll(ctx); err == nil && len(findings) > 0 {
		err = advice.Because(findings[0].Err, "bring the whole folder of the proposal", "the proposal has %d files that are wrong, %s first", len(findings), findings[0].Name)
	}
	return err
}

// takeAll takes what is missing, and reads the new releases as Verify does.
func (t *taking) takeAll(ctx context.Context) ([]Finding, error) {
	releases := t.folder.releases
	for _, e := range t.entries {
		if err := t.take(ctx, e.Head.HeadPath(), e.Head.Size); err != nil {
			return nil, err
		}
	}
	if err := t.folder.store.sync(); err != nil { // the files have their names from here on
		return nil, err
	}
	heads, lists := make([]release.Head, len(t.entries)), make([]releaseLists, len(t.entries))
	for _, step := range []func(i int) ([]release.Object, error){
		func(i int) (_ []release.Object, err error) {
			delete(releases.heads, t.entries[i].Head)
			heads[i], err = releases.head(t.entries[i]) // which checks that it is this entry's
			return listsOf(heads[i]), err
		},
		func(i int) (_ []release.Object, err error) {
			if lists[i], err = releases.readLists(t.entries[i]); err != nil {
				return nil, err
			}
			return releases.contentsOf(heads[i], lists[i])
		},
		func(i int) ([]release.Object, error) { return releases.packsOf(lists[i].sources) },
	} {
		if err := t.takeStep(ctx, step); err != nil {
			return nil, err
		}
	}
	r, err := releases.reachable(ctx, t.entries)
	if err != nil {
		return nil, err
	}
	findings, _, err := t.folder.verifyReach(ctx, r)
	return findings, err
}

// takeStep takes what a step names for each entry.
func (t *taking) takeStep(ctx context.Context, step func(i int) ([]release.Object, error)) error {
	for i := range t.entries {
		objects, err := step(i)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if o.IsZero() {
				continue
			}
			if err := t.take(ctx, o.Path(), o.Size); err != nil {
				return err
			}
		}
	}
	return t.folder.store.sync()
}

// take takes one file, unless it is here.
func (t *taking) take(ctx context.Context, name string, bytes int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	store := t.folder.store
	if platform.Size(store.fs, name) == bytes && !t.again[name] {
		store.touchName(name) // an interrupted run may not have synced it
		return nil
	}
	if got := platform.Size(t.from, name); got != bytes {
		return advice.Wrong("bring the whole folder of the proposal", "%s has %d bytes, or is missing; the list wants %d", t.from.Path(name), max(got, 0), bytes)
	}
	in, err := openFile(t.from, name)
	if err != nil {
		return advice.Because(err, "", "read the proposal")
	}
	defer in.Close()
	out, err := store.create()
	if err != nil {
		return err
	}
	if err = platform.CopyRange(out, in, 0, bytes); err == nil {
		var o release.Object
		if o, err = sumFile(out, bytes); err == nil && name != o.Path() && name != o.HeadPath() {
			err = advice.Wrong("bring it again: it is damaged, or something else", "%s does not have the content that its name says", t.from.Path(name))
		}
	}
	if err != nil {
		out.drop()
		return err
	}
	t.files, t.bytes = t.files+1, t.bytes+bytes
	delete(t.again, name)
	return store.finishAs(out, name, bytes, nil)
}

// ProposeSame proposes the list as it is, so that its signature lasts longer.
func (f *Folder) ProposeSame(ctx context.Context, keys []*trust.PrivateKey) error {
	return f.propose(ctx, f.repo.Entries(), keys)
}
