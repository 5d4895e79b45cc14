// Package proposal is the folder in which a change of the list of releases travels from who proposes it, over who signs it, to the machine
// that makes it public. No machine needs all keys then.
//
//	root.json                the root that says who may sign
//	base.json                the signed list that the change follows
//	releases/… objects/…     files that the release folder lacks, under their names there
//	list.json                the proposed list, with the signatures so far; written last, so a folder with it is complete
//
// Nothing in the folder is trusted: its files are checked against their names, and the list counts with enough signatures of keys that the
// root of the release folder names.
package proposal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// Names of the files.
const (
	rootFile = "root.json"
	baseFile = "base.json"
	listFile = "list.json"
)

// Proposal is a change of the list of releases.
type Proposal struct {
	Root []byte // root.json
	Base []byte // signed list that it follows
	List []byte // proposed list, with the signatures so far
}

// New proposes a list in place of the signed one. It has no signatures yet.
func New(repo *trust.Repo, entries []release.Entry) (p Proposal, err error) {
	p.Root = repo.Root()
	if p.List, err = repo.ProposeEntries(entries); err == nil {
		p.Base, err = repo.SignedList()
	}
	return p, err
}

// Read reads a proposal. It does not check the signatures: see Describe.
func Read(fsys platform.FS) (p Proposal, err error) {
	for _, f := range []struct {
		to    *[]byte
		name  string
		limit int64
	}{{&p.List, listFile, trust.MaxTargets}, {&p.Root, rootFile, trust.MaxRoot}, {&p.Base, baseFile, trust.MaxTargets}} {
		if *f.to, err = platform.ReadFile(fsys, f.name, f.limit); errors.Is(err, fs.ErrNotExist) {
			return p, fmt.Errorf("%s is no complete proposal: %w; it is made by collet release publish --propose FOLDER: repeat that if it was interrupted", fsys.Path("."), err)
		}
		if err != nil {
			return p, fmt.Errorf("read the proposal: %w", err)
		}
	}
	return p, nil
}

// Write writes a proposal whose other files are there. The list comes last.
func (p Proposal) Write(fsys platform.FS) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{rootFile, p.Root}, {baseFile, p.Base}, {listFile, p.List}} {
		if err := platform.WriteFile(fsys, f.name, f.data); err != nil {
			return fmt.Errorf("write the proposal: %w", err)
		}
	}
	return nil
}

// CheckFolder checks that a folder is empty, or has nothing but the files of a proposal.
func CheckFolder(fsys platform.FS) error {
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return fmt.Errorf("folder of the proposal: %w", err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{rootFile, baseFile, listFile, "releases", "objects"}, e.Name()) {
			return fmt.Errorf("%s has other files, such as %q; name a new folder with --propose", fsys.Path("."), e.Name())
		}
	}
	return nil
}

// Keep looks for an earlier proposal in the folder that p is to be written to. One of the same change stays, with its signatures, which p
// takes over. One that follows an earlier list can't be accepted any more, and is forgotten before other files change. Another one waits
// for signatures, which is an error.
func (p *Proposal) Keep(fsys platform.FS) error {
	there, err := Read(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		err = fsys.Remove(listFile) // of a folder that lacks other files
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil || there.Base == nil {
		return err
	}
	was, err := trust.DescribeProposal(there.Root, there.List)
	if err != nil {
		return fmt.Errorf("the proposal in %s: %w; name a new folder with --propose", fsys.Path("."), err)
	}
	next, err := trust.DescribeProposal(p.Root, p.List)
	switch {
	case err != nil:
		return err
	case was.Version < next.Version:
		return fsys.Remove(listFile)
	case was.Version == next.Version && slices.Equal(was.Entries, next.Entries):
		p.List = there.List
		return nil
	}
	return fmt.Errorf("another proposal waits in %s: list %d, with %d of %d signatures; let it be accepted first, remove that folder, or name a new one with --propose",
		fsys.Path("."), was.Version, len(was.Signers), was.Need)
}

// CheckFiles checks a proposal's files for who signs it: the head of each new release is there, and each head and object has the content
// that its name says. Whether the list needs more objects is known where the release folder is.
func CheckFiles(fsys platform.FS, lines []Line) error {
	for _, l := range lines {
		if l.Gone || l.Before != nil && l.Before.Head == l.Entry.Head {
			continue
		}
		if _, err := Head(fsys, l.Entry); err != nil {
			return fmt.Errorf("head of release %s in the proposal: %w; bring the whole folder again", l.Entry.Path(), err)
		}
	}
	return platform.Walk(fsys, "objects", func(name string, _ fs.DirEntry) error {
		if path.Ext(name) != "" { // unfinished; accept takes no such file
			return nil
		}
		in, err := fsys.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("read the proposal: %w", err)
		}
		h := release.SHA256.NewHash()
		size, err := io.Copy(h, io.NewSectionReader(in, 0, release.MaxObject))
		if err = errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("read %s: %w", fsys.Path(name), err)
		}
		if (release.Object{Sum: release.SHA256.SumOf(h), Size: size}).Path() != name {
			return fmt.Errorf("%s does not have the content that its name says; bring it again: it is damaged, or something else", fsys.Path(name))
		}
		return nil
	}, nil)
}

// Sign adds the signatures of those keys that the root lets sign releases, and returns their ids.
func (p *Proposal) Sign(keys []*trust.PrivateKey) (ids []string, err error) {
	info, err := trust.InspectRoot(p.Root)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		id := k.Public().ID()
		if !slices.Contains(info.Roles[trust.RoleTargets].Keys, id) || slices.Contains(ids, id) {
			continue
		}
		if p.List, err = trust.SignProposal(p.Root, p.List, k); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Head reads the head of a release from a release folder, or that of a new one from the folder of its proposal.
func Head(fsys platform.FS, e release.Entry) (release.Head, error) {
	data, err := platform.ReadFile(fsys, e.Head.HeadPath(), release.MaxHead)
	if err != nil {
		return release.Head{}, err
	}
	return trust.OpenHead(trust.UnverifiedBytes(data), e)
}

// Line is one release of the proposed list.
type Line struct {
	Entry  release.Entry
	Before *release.Entry // the same release in the list before; nil if it is new
	Gone   bool           // it is only in the list before
}

// Changed reports whether the proposal changes the line.
func (l Line) Changed() bool { return l.Gone || l.Before == nil || *l.Before != l.Entry }

// Info describes a proposal.
type Info struct {
	trust.ProposalInfo
	Root  trust.RootInfo
	Lines []Line // all releases, sorted by product, channel, target and number
}

// Known is what who decides about a proposal knows of the release folder by themselves.
type Known struct{ Root, List []byte }

// KnownBy is what a release folder says.
func KnownBy(repo *trust.Repo) (Known, error) {
	list, err := repo.SignedList()
	return Known{Root: repo.Root(), List: list}, err
}

// Describe describes a proposal to who decides about it, after checking it against the list before: see trust.CheckProposal. Without
// known, root and list are those that came with the proposal, which its author may have made up. The whole list is signed, so all of its
// lines count, not only the changed ones.
func (p Proposal) Describe(known *Known, now time.Time) (info Info, err error) {
	base := p.Base
	if known != nil {
		p.Root, base = known.Root, known.List
	}
	if err := trust.CheckProposal(p.Root, base, p.List, now); err != nil {
		return info, err
	}
	if info.ProposalInfo, err = trust.DescribeProposal(p.Root, p.List); err != nil {
		return info, err
	}
	if info.Root, err = trust.InspectRoot(p.Root); err != nil {
		return info, err
	}
	before, err := trust.DescribeProposal(p.Root, base)
	if err != nil {
		return info, err
	}
	if len(before.Signers) < before.Need {
		return info, fmt.Errorf("the list before the proposal is not signed by %d keys of its root; ask its author for a new one", before.Need)
	}
	byPath := map[string]*release.Entry{}
	for _, e := range before.Entries {
		byPath[e.Path()] = &e
	}
	for _, e := range info.Entries {
		info.Lines = append(info.Lines, Line{Entry: e, Before: byPath[e.Path()]})
		delete(byPath, e.Path())
	}
	for _, e := range byPath {
		info.Lines = append(info.Lines, Line{Entry: *e, Before: e, Gone: true})
	}
	slices.SortFunc(info.Lines, func(a, b Line) int { return release.CompareEntries(a.Entry, b.Entry) })
	return info, nil
}
