package publish

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"collet/build/advice"
	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/netproto/release/trust"
	"collet/platform"
)

// propose writes a change of the signed list as a proposal, in place of making it public. keys that may sign releases sign it.
func (f *Folder) propose(ctx context.Context, entries []release.Entry, keys []*trust.PrivateKey) error {
	to := f.options.Propose
	if err := proposal.Forget(to); err != nil {
		return err
	}
	list, err := f.repo.ProposeEntries(entries)
	if err != nil {
		return advice.Because(err, "", "propose a list")
	}
	base, err := f.SignedList()
	if err != nil {
		return err
	}
	if err := f.copyNew(ctx, entries, to); err != nil {
		return err
	}
	p := proposal.Proposal{Root: f.repo.Root(), Base: base, List: list}
	if _, err := p.Sign(keys); err != nil {
		return advice.Because(err, "", "sign the proposal")
	}
	return p.Write(to)
}

// SignedList is the document of the signed list.
func (f *Folder) SignedList() ([]byte, error) {
	lists := f.repo.Lists()
	data, err := platform.ReadFile(f.fs, lists[len(lists)-1], maxMetadata)
	if err != nil {
		return nil, advice.Because(err, "", "read the signed list")
	}
	return data, nil
}

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
	f.meter.startStep("copy", "", total)
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if size(to, name) != fresh[name] {
			if err := copyTo(to, f.fs, name); err != nil {
				return advice.Because(err, room(err), "copy %s to the proposal", name)
			}
		}
		f.meter.addBytes(fresh[name], name)
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
	if err := platform.WriteFrom(to, name+unfinishedExt, in, 0o644); err != nil {
		return err
	}
	return to.Rename(name+unfinishedExt, name)
}

// Accepted is the result of Accept.
type Accepted struct {
	Info  proposal.Info
	Files int // new files
	Bytes int64
}

// Accept makes a proposal public: it signs it with those of keys that may sign releases, if there are any, checks the signatures, takes the new files after checking them against their names, reads each new
// release as verify does, and signs snapshot and timestamp with keys. A proposal that was accepted before changes nothing. After an
// interruption call it again.
func (f *Folder) Accept(ctx context.Context, from platform.FS, keys []*trust.PrivateKey) (a Accepted, err error) {
	if err := f.CheckKeys(keys, trust.RoleSnapshot, trust.RoleTimestamp); err != nil {
		return a, err
	}
	p, err := proposal.Read(from)
	if err != nil {
		return a, err
	}
	p.Root = f.repo.Root() // this one decides
	if _, err := p.Sign(keys); err != nil {
		return a, advice.Because(err, "", "sign the proposal")
	}
	if p.Base, err = f.SignedList(); err != nil {
		return a, err
	}
	if a.Info, err = p.Describe(nil); err != nil {
		return a, advice.Because(err, "", "proposal %s", from.Path("."))
	}
	if have := len(a.Info.Signers); have < a.Info.Need {
		return a, advice.Because(&trust.KeysError{Role: trust.RoleTargets, Have: have, Need: a.Info.Need},
			"let another holder of a targets key run collet release approve", "proposal %s", from.Path("."))
	}
	if a.Files, a.Bytes, err = f.takeFiles(ctx, from); err != nil {
		return a, err
	}
	if err := f.verifyNew(ctx, a.Info.Entries); err != nil {
		return a, err
	}
	err = f.repo.InstallProposal(p.List, keys)
	if errors.Is(err, trust.ErrOutdatedProposal) {
		return a, advice.Because(err, "bring the present release folder to its author, who runs the same command again", "proposal %s", from.Path("."))
	}
	if err != nil {
		return a, advice.Because(err, room(err), "change the signed list")
	}
	return a, f.updateDerived(ctx)
}

// takeFiles copies what the folder lacks. Each file must have the digest that its name says.
func (f *Folder) takeFiles(ctx context.Context, from platform.FS) (files int, bytes int64, err error) {
	for _, folder := range []string{"objects", "releases"} {
		err := walk(from, folder, func(name string, e fs.DirEntry) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil || !isPublic(name) || size(f.fs, name) == info.Size() {
				return err
			}
			files, bytes = files+1, bytes+info.Size()
			return f.takeFile(from, name, info.Size())
		})
		if err != nil {
			return files, bytes, advice.Because(err, room(err), "take the files of proposal %s", from.Path("."))
		}
	}
	return files, bytes, nil
}

// takeFile copies one file.
func (f *Folder) takeFile(from platform.FS, name string, bytes int64) error {
	in, err := openFile(from, name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := f.store.create()
	if err != nil {
		return err
	}
	if err = platform.CopyRange(out, in, 0, bytes); err == nil {
		var o release.Object
		if o, err = sumFile(out, bytes); err == nil && name != o.Path() && name != o.HeadPath() {
			err = advice.Wrong("bring it again: it is damaged, or something else", "%s does not have the content that its name says", from.Path(name))
		}
	}
	if err != nil {
		out.drop()
		return err
	}
	return f.store.finishAs(out, name, bytes, nil)
}

// verifyNew reads the releases that the signed list does not have, as Verify does.
func (f *Folder) verifyNew(ctx context.Context, entries []release.Entry) error {
	if err := f.store.sync(); err != nil { // the files have their names from here on
		return err
	}
	known := map[release.Object]bool{}
	for _, e := range f.repo.Entries() {
		known[e.Head] = true
	}
	fresh := slices.DeleteFunc(slices.Clone(entries), func(e release.Entry) bool { return known[e.Head] })
	r, err := f.releases.reachable(ctx, fresh)
	if err != nil {
		return advice.Because(err, "bring the whole folder of the proposal", "the proposal is not complete")
	}
	findings, _, err := f.verifyReach(ctx, r)
	if err == nil && len(findings) > 0 {
		err = advice.Because(findings[0].Err, "bring the whole folder of the proposal", "the proposal has %d files that are missing or wrong, %s first", len(findings), findings[0].Name)
	}
	return err
}
