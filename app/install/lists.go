package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
	"collet/platform"
)

// maxLists is the largest lists file in bytes that is read: release.MaxSet files of 170 bytes in each of its lists, which
// is usual, with as much again to spare.
const maxLists = 256 << 20

// entry is one file of a transaction or of a set. Live is relative to the install folder.
type entry struct {
	Kind    kind           `json:"kind"`
	Live    string         `json:"live"`
	Size    int64          `json:"size"`
	Digest  release.Digest `json:"digest,omitzero"` // what it becomes; zero: the release has no such file any more
	Old     release.Digest `json:"old,omitzero"`    // what was live when the transaction began; zero: nothing, or not worth keeping
	OldSize int64          `json:"old_size,omitempty"`
	Repair  bool           `json:"repair,omitempty"`  // the set has this very file already, damaged: what is live is not kept
	Foreign bool           `json:"foreign,omitempty"` // what is live came from somebody else, so it is never deleted
	Aside   bool           `json:"aside,omitempty"`   // its part does not lie beside it
	Broken  bool           `json:"broken,omitempty"`  // the disk could not read what is live
}

// undo is what the last proven set had under a name that changed since.
type undo struct {
	Kind      kind           `json:"kind"`
	Live      string         `json:"live"`
	Size      int64          `json:"size,omitempty"`
	Digest    release.Digest `json:"digest,omitzero"` // zero: nothing was there
	Foreign   bool           `json:"foreign,omitempty"`
	Gone      bool           `json:"gone,omitempty"`      // the release has no such file any more
	Proven    bool           `json:"proven,omitempty"`    // its successor has proven itself: the backup is on its way out
	Reverting bool           `json:"reverting,omitempty"` // it is on its way back
}

// lists are the files of a transaction, and the set that it starts from.
type lists struct {
	Is      release.Digest `json:"is,omitzero"`       // identity of the live set; zero where it is unknown
	Was     release.Digest `json:"was,omitzero"`      // identity of the last proven set, while Is has not proven itself
	Set     []entry        `json:"set,omitempty"`     // what is live, as far as it came from a release; sorted by Live
	Adopted []entry        `json:"adopted,omitempty"` // files of the release that were live already, and not in Set
	Files   []entry        `json:"files,omitempty"`   // what the transaction makes live, all of it or nothing
	Parts   []entry        `json:"parts,omitempty"`   // parts that it does not touch: they stay bound to their digests
	Undo    []undo         `json:"undo,omitempty"`    // what changed since the last proven set, at most one for each name
	Mixed   []string       `json:"mixed,omitempty"`   // files of the live set that are known to be missing or another release's
	Blend   []string       `json:"blend,omitempty"`   // the same of the set that Was names
}

func (l lists) encode() ([]byte, error) { return json.Marshal(l) }

// readLists reads a slot's lists. ok is false when they are not the ones that the journal names.
func readLists(fsys platform.FS, name string, want release.Digest) (l lists, ok bool, err error) {
	data, err := platform.ReadFile(fsys, name, maxLists)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, platform.ErrTooLong) {
		return lists{}, false, nil
	}
	if err != nil {
		return lists{}, false, err
	}
	got, err := release.SHA256.DigestOf(bytes.NewReader(data))
	ok = err == nil && got == want && l.decode(data) == nil
	return l, ok, nil
}

// clone is a copy that may be changed.
func (l lists) clone() lists {
	l.Set, l.Undo, l.Parts = slices.Clone(l.Set), slices.Clone(l.Undo), slices.Clone(l.Parts)
	return l
}

// apply brings the lists up to date with a record that follows a state, in the transaction that leads to build.
func (l *lists) apply(before State, r record, build release.Digest) {
	stay := l.named(r.Stay)
	switch {
	case r.Number != 0:
		return
	case r.State == Swapped && before == Prepared:
		l.swapped(build, r.Missed)
	case r.Proven != "":
		l.mark(r.Proven, func(u *undo) { u.Proven = true })
		l.Was, l.Blend = release.Digest{}, nil
	case r.Back != "":
		if before == Prepared { // its swap began and can't go on
			l.swapped(build, nil)
		}
		l.mark(r.Back, func(u *undo) { u.Reverting = !u.Proven })
	case r.State == RolledBack && before == RollingBack:
		l.rolledBack()
	}
	if r.State == RolledBack {
		l.Parts, l.Files, l.Adopted = slices.Concat(l.Parts, fetched(l.Files)), nil, nil
		l.keep(stay)
		if len(r.Mixed) > 0 {
			l.Mixed = r.Mixed
		}
	}
	if r.Dropped {
		l.Undo = slices.DeleteFunc(l.Undo, func(u undo) bool { return u.Proven })
	}
	if r.Clean {
		l.Was, l.Blend = release.Digest{}, nil // there is nothing to go back to
	}
}

// mark changes the entries of one host.
func (l *lists) mark(library string, change func(*undo)) {
	l.Undo = slices.Clone(l.Undo)
	for i := range l.Undo {
		if belongs(l.Undo[i].Kind, l.Undo[i].Live, library) {
			change(&l.Undo[i])
		}
	}
}

// swapped turns the files of the transaction, except those that were missed, into the set, and notes what to undo.
func (l *lists) swapped(build release.Digest, missed []string) {
	if len(missed) > 0 {
		l.Files = slices.DeleteFunc(slices.Clone(l.Files), func(e entry) bool { return slices.Contains(missed, e.Live) })
	}
	known := l.unproven()
	if l.Was.IsZero() && len(known) == 0 {
		l.Was, l.Blend = l.Is, l.Mixed
	}
	l.Is, l.Mixed = build, nil
	fresh := make([]undo, 0, len(l.Files))
	for _, e := range l.Files {
		if !e.Repair && !known[e.Live] {
			fresh = append(fresh, undo{Kind: e.Kind, Live: e.Live, Size: e.OldSize, Digest: e.Old, Foreign: e.Foreign})
		}
	}
	// What has proven itself is the backup from here on, whether the one before it is gone or not.
	l.Undo = slices.Concat(outside(l.Undo, fresh), fresh)
	l.keep(slices.Concat(l.Adopted, l.Files))
	for i, u := range l.Undo {
		_, live := slices.BinarySearchFunc(l.Set, u.Live, func(e entry, live string) int { return strings.Compare(e.Live, live) })
		l.Undo[i].Gone = !live
	}
	l.Files, l.Adopted = nil, nil
}

// outside are the undos of names that others don't have.
func outside(old, others []undo) []undo {
	if len(old) == 0 {
		return nil
	}
	names := make(map[string]bool, len(others))
	for _, u := range others {
		names[u.Live] = true
	}
	return slices.DeleteFunc(slices.Clone(old), func(u undo) bool { return names[u.Live] })
}

// rolledBack gives the set what is on its way back; what it replaces are parts again.
func (l *lists) rolledBack() {
	l.Is, l.Was = l.Was, release.Digest{}
	l.Mixed, l.Blend = l.Blend, nil
	set := l.set()
	for _, u := range l.Undo {
		if !u.Reverting {
			continue
		}
		if now, live := set[u.Live]; live {
			now.Aside = true
			l.Parts = append(slices.Clip(l.Parts), now)
		}
		back := u.entry()
		if u.Foreign {
			back.Digest = release.Digest{} // what comes back never came from a release
		}
		put(set, back)
	}
	l.setTo(set)
	l.Undo = slices.DeleteFunc(slices.Clone(l.Undo), func(u undo) bool { return u.Reverting })
}

// keep gives the set files that are live; the last one of a name counts.
func (l *lists) keep(files []entry) {
	if len(files) == 0 {
		return
	}
	all := make([]entry, 0, len(l.Set)+len(files))
	all = append(all, l.Set...)
	for _, e := range files {
		all = append(all, entry{Kind: e.Kind, Live: e.Live, Size: e.Size, Digest: e.Digest})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.Live, b.Live) })
	kept := all[:0]
	for i, e := range all {
		last := i == len(all)-1 || all[i+1].Live != e.Live
		if last && !e.gone() {
			kept = append(kept, e)
		}
	}
	l.Set = kept
}

// put gives a name its place in a set, or takes it away.
func put(set map[string]entry, e entry) {
	if e.Digest.IsZero() {
		delete(set, e.Live)
	} else {
		set[e.Live] = e
	}
}

func (l *lists) set() map[string]entry {
	set := make(map[string]entry, len(l.Set)+len(l.Files)+len(l.Adopted))
	for _, e := range l.Set {
		set[e.Live] = e
	}
	return set
}

func (l *lists) setTo(set map[string]entry) {
	l.Set = make([]entry, 0, len(set))
	for _, live := range slices.Sorted(maps.Keys(set)) {
		l.Set = append(l.Set, set[live])
	}
}

// replacing are the files of the set whose predecessors are on their way back.
func (l *lists) replacing() (files []entry) {
	set := l.set()
	for _, u := range l.Undo {
		if e, live := set[u.Live]; live && u.Reverting {
			files = append(files, e)
		}
	}
	return files
}

// named are the files with these names, those of the transaction last.
func (l *lists) named(names []string) []entry {
	if len(names) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(l.Set, l.Files), func(e entry) bool { return !slices.Contains(names, e.Live) })
}

// unproven are the names whose backup holds what the last proven set had.
func (l *lists) unproven() map[string]bool {
	names := make(map[string]bool, len(l.Undo))
	for _, u := range l.Undo {
		if !u.Proven {
			names[u.Live] = true
		}
	}
	return names
}

// bound lists, by live name, what the parts on disk are meant to become.
func (j *Journal) bound() map[string]entry {
	parts := j.lists.Parts
	if j.State == Staging || j.State == Prepared {
		parts = slices.Concat(parts, fetched(j.lists.Files))
	}
	bound := make(map[string]entry, len(parts))
	for _, e := range parts {
		bound[e.Live] = entry{Kind: e.Kind, Live: e.Live, Size: e.Size, Digest: e.Digest, Aside: e.Aside}
	}
	return bound
}

// fetched are the entries that have bytes.
func fetched(files []entry) []entry {
	return slices.DeleteFunc(slices.Clone(files), entry.gone)
}

// gone reports whether the entry takes a file away.
func (e entry) gone() bool { return e.Digest.IsZero() }

// entry is what the undo brings back.
func (u undo) entry() entry {
	return entry{Kind: u.Kind, Live: u.Live, Size: u.Size, Digest: u.Digest}
}

// belongs reports whether a file is part of the set of the host with this module: packs are everybody's.
func belongs(k kind, live, library string) bool {
	switch k {
	case module:
		return live == library
	case companion:
		base := strings.TrimSuffix(library, path.Ext(library))
		return strings.HasPrefix(live, library+".") || live == base+symbolsExt
	default:
		return true
	}
}

// pending are the changes of one host that have not proven themselves.
func (j *Journal) pending(library string) []undo {
	var waiting []undo
	for _, u := range j.lists.Undo {
		if !u.Proven && belongs(u.Kind, u.Live, library) {
			waiting = append(waiting, u)
		}
	}
	return waiting
}
