// Package releases shows operators the signed list of a release folder, and lets them propose changes of it.
//
// The server has no key that signs releases, and changes nothing that is public. A change becomes a proposal (package release/proposal) in a
// folder of its own; `collet release approve` signs it, `collet release accept` makes it public. Both folders are read anew at each call,
// because others write to them.
package releases

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	// maxShown is how many releases List reads, the newest of each channel and target first. A head has some 2 kB.
	maxShown = 500
	// maxProposals is how many entries of the folder of proposals are read, the newest by name last. Then older ones have to be removed.
	maxProposals = 500
)

// Board is the releases of one server. It is safe for concurrent use, and not copied.
type Board struct {
	Folder    string // the release folder
	Proposals string // where proposals are written; empty: none can be made

	writing sync.Mutex
}

// Release is one release of the signed list.
type Release struct {
	release.Entry
	Version   string // for people
	Published time.Time
	Files     int
	Bytes     int64
	Notes     map[string]release.Object // by language
}

// List is the signed list with what its heads say.
type List struct {
	Version  int64
	Releases []Release // by product, channel and target; the newest first
	More     int       // how many older ones are left out
}

// List reads the list.
func (b *Board) List() (l List, err error) {
	err = b.open(func(dir platform.FS, repo *trust.Repo) error {
		entries := repo.Entries()
		l.Version = repo.Version()
		slices.SortStableFunc(entries, func(a, b release.Entry) int {
			return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Target, b.Target), cmp.Compare(b.Number, a.Number))
		})
		if l.More = max(0, len(entries)-maxShown); l.More > 0 {
			entries = entries[:maxShown]
		}
		for _, e := range entries {
			r := Release{Entry: e}
			if h, err := proposal.Head(dir, e); err == nil { // a damaged head must not hide the others
				r.Version, r.Published, r.Files, r.Bytes, r.Notes = h.Version, h.Published, h.Count, h.Bytes, h.Notes
			}
			l.Releases = append(l.Releases, r)
		}
		return nil
	})
	return l, err
}

// Note reads the release notes of one language.
func (b *Board) Note(r Release, language string) (text string, err error) {
	o, found := r.Notes[language]
	if !found {
		return "", fs.ErrNotExist
	}
	dir, err := platform.OpenDir(b.Folder)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	data, err := platform.ReadFile(dir, o.Path(), release.MaxNote)
	if err == nil {
		err = o.Verify(data)
	}
	return string(data), err
}

// Action is what a change does to a release.
type Action string

// The actions. Their texts are parts of names of proposals and of forms.
const (
	Rollout Action = "rollout"
	Hold    Action = "hold"
	Offer   Action = "offer" // the opposite of Hold
	Kill    Action = "kill"
	Promote Action = "promote" // offer it in another channel, too
)

// Change is a wished change of one release, for all of its targets.
type Change struct {
	Product, Channel string
	Number           uint64
	Action           Action
	Percent          int    // of Rollout and Promote, 0 to 100
	Into             string // of Promote: a channel that the list has
}

// Errors of Propose that are the caller's.
var (
	ErrNoFolder = errors.New("this server has no folder for proposals: set Operations.Proposals")
	ErrUnknown  = errors.New("there is no such release")
	ErrNothing  = errors.New("that is how it is already")
	ErrTooMany  = fmt.Errorf("the folder has %d entries: remove old proposals", maxProposals)
	ErrExists   = errors.New("that is proposed already")
	ErrWrite    = errors.New("the folder of proposals can't be written")
	ErrChange   = errors.New("want rollout or promote with 0 to 100 percent, hold, offer or kill")
	ErrInto     = errors.New("want another channel that the list has: a new one is begun by collet release promote")
	ErrKilled   = errors.New("it was killed, which is for ever: it is offered in no other channel")
	ErrNumber   = errors.New("that channel has this release or a newer one, and numbers rise for ever: collet release promote --as-number gives it another number")
)

// Proposed is a proposal that was made.
type Proposed struct {
	Name    string  // of its folder below Proposals
	Fetches []Fetch // of Promote: what players of the channel fetch, by target, the newest release first
}

// Propose writes a proposal.
func (b *Board) Propose(c Change) (made Proposed, err error) {
	if b.Proposals == "" {
		return made, ErrNoFolder
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if there, err := os.ReadDir(b.Proposals); err == nil && len(there) >= maxProposals {
		return made, ErrTooMany
	}
	err = b.open(func(dir platform.FS, repo *trust.Repo) error {
		var fresh promotion
		entries, err := c.apply(repo.Entries(), func(before []release.Entry) ([]release.Entry, error) { return fresh.promote(dir, c, before) })
		if err != nil {
			return err
		}
		p, err := proposal.New(repo, entries)
		if err != nil {
			return err
		}
		action := string(c.Action)
		switch c.Action {
		case Rollout:
			action = fmt.Sprintf("%s-%d-percent", c.Action, c.Percent)
		case Promote:
			action = fmt.Sprintf("%s-into-%s-%d-percent", c.Action, c.Into, c.Percent)
		}
		made.Name = fmt.Sprintf("%d-%s-%s-%s-%d", repo.Version()+1, c.Product, c.Channel, action, c.Number)
		made.Fetches = fresh.fetches
		return b.write(made.Name, p, fresh.heads)
	})
	return made, err
}

// apply is the list after the change. promote adds the releases of a promotion.
func (c Change) apply(before []release.Entry, promote func([]release.Entry) ([]release.Entry, error)) ([]release.Entry, error) {
	if c.Percent < 0 || c.Percent > 100 || !slices.Contains([]Action{Rollout, Hold, Offer, Kill, Promote}, c.Action) {
		return nil, ErrChange
	}
	if c.Action == Promote {
		return promote(before)
	}
	after, found := slices.Clone(before), false
	for i := range after {
		e := &after[i]
		if e.Product != c.Product || e.Channel != c.Channel || e.Number != c.Number {
			continue
		}
		found = true
		switch c.Action {
		case Rollout:
			e.Percent = uint8(c.Percent)
		case Hold:
			e.Hold = true
		case Offer:
			e.Hold = false
		case Kill:
			e.Killed = true
		}
	}
	switch {
	case !found:
		return nil, ErrUnknown
	case slices.Equal(before, after):
		return nil, ErrNothing
	}
	return after, nil
}

// write writes a proposal below Proposals, with the heads of its new releases.
func (b *Board) write(name string, p proposal.Proposal, heads map[string][]byte) error {
	full := filepath.Join(b.Proposals, name)
	err := os.MkdirAll(b.Proposals, 0o755)
	if err == nil {
		err = os.Mkdir(full, 0o755) // what waits there, perhaps with signatures, is not replaced
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return errors.Join(ErrWrite, err)
	}
	dir, err := platform.OpenDir(full)
	if err != nil {
		return errors.Join(ErrWrite, err)
	}
	for head, data := range heads {
		if err == nil {
			err = dir.MkdirAll(path.Dir(head), 0o755)
		}
		if err == nil {
			err = platform.WriteFile(dir, head, data)
		}
	}
	if err == nil {
		err = p.Write(dir)
	}
	if err = errors.Join(err, dir.Close()); err != nil {
		err = errors.Join(ErrWrite, err, os.RemoveAll(full)) // an incomplete one would be in the way of the next
	}
	return err
}

// Waiting is a proposal that is not public yet.
type Waiting struct {
	Name     string
	Changes  []proposal.Line // of the list as it is now; its Entry is the proposed one
	Have     int             // signatures
	Need     int
	Outdated bool // the list has changed since; it can't be accepted any more
}

// Waiting lists the proposals in the folder that are not public yet, sorted by name. Folders that hold something else are left out.
func (b *Board) Waiting() (list []Waiting, err error) {
	if b.Proposals == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(b.Proposals)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = b.open(func(dir platform.FS, repo *trust.Repo) error {
		known, err := proposal.KnownBy(repo)
		if err != nil {
			return err
		}
		for _, e := range entries[max(0, len(entries)-maxProposals):] {
			if w, is := b.read(e, dir, known); is {
				list = append(list, w)
			}
		}
		return nil
	})
	return list, err
}

// read reads one proposal; is reports whether it is one that waits.
func (b *Board) read(e fs.DirEntry, folder platform.FS, known proposal.Known) (w Waiting, is bool) {
	if !e.IsDir() {
		return w, false
	}
	dir, err := platform.OpenDir(filepath.Join(b.Proposals, e.Name()))
	if err != nil {
		return w, false
	}
	defer dir.Close()
	p, err := proposal.Read(dir)
	if err != nil {
		return w, false
	}
	info, err := p.Describe(&known, time.Now())
	if errors.Is(err, trust.ErrOutdatedProposal) {
		info, err = p.Describe(&proposal.Known{Root: known.Root, List: p.Base}, time.Now()) // what it wanted
		w.Outdated = true
	}
	if err != nil || w.Outdated && wasAccepted(folder, known.Root, info) {
		return w, false
	}
	w.Name, w.Have, w.Need = e.Name(), len(info.Signers), info.Need
	for _, l := range info.Lines {
		if l.Changed() {
			w.Changes = append(w.Changes, l)
		}
	}
	return w, w.Outdated || len(w.Changes) > 0
}

// wasAccepted reports whether the list of a proposal is among the signed lists of the folder. Old ones are removed from there in time.
func wasAccepted(folder platform.FS, root []byte, info proposal.Info) bool {
	data, err := platform.ReadFile(folder, trust.ListPath(info.Version), trust.MaxTargets)
	if err != nil {
		return false
	}
	then, err := trust.DescribeProposal(root, data)
	return err == nil && slices.Equal(then.Entries, info.Entries)
}

// open opens the release folder for one call.
func (b *Board) open(do func(platform.FS, *trust.Repo) error) error {
	dir, err := platform.OpenDir(b.Folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	repo, err := trust.OpenRepo(store{dir}, trust.RepoOptions{Allow: trust.Allow{Development: true, SingleRoot: true}})
	if err != nil {
		return err
	}
	return do(dir, repo)
}

// store is a folder as trust.Store, for reading.
type store struct{ fs platform.FS }

var _ trust.Store = store{}

// Load implements trust.Store.
func (s store) Load(name string, limit int64) ([]byte, error) {
	data, err := platform.ReadFile(s.fs, name, limit)
	if errors.Is(err, platform.ErrTooLong) {
		return nil, errors.Join(err, trust.ErrTooLong)
	}
	return data, err
}

// Save implements trust.Store.
func (store) Save(string, []byte) error { return fs.ErrPermission }
