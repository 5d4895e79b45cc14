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

// maxLists is the largest lists file in bytes that is read. It allows release.MaxSet files of 170 bytes, the usual size, in
// each of its lists, twice over.
const maxLists = 256 << 20

// entry is one file of a transaction or of a set. Live is relative to the install folder.
type entry struct {
	Kind    Kind           `json:"kind"`
	Live    string         `json:"live"`
	Size    int64          `json:"size"`
	Digest  release.Digest `json:"digest,omitzero"` // what it becomes; zero: the release has dropped the file
	Old     release.Digest `json:"old,omitzero"`    // what was live when the transaction began; zero: no file, or not worth keeping
	OldSize int64          `json:"old_size,omitempty"`
	Repair  bool           `json:"repair,omitempty"`  // a repair of a damaged file of the set: the live file is not kept
	Foreign bool           `json:"foreign,omitempty"` // the live file did not come from a release, so it is never deleted
	Aside   bool           `json:"aside,omitempty"`   // its part does not lie beside it
	Broken  bool           `json:"broken,omitempty"`  // the live file could not be read
}

// undo is the file of the last proven set under a name that has changed since.
type undo struct {
	Kind      Kind           `json:"kind"`
	Live      string         `json:"live"`
	Size      int64          `json:"size,omitempty"`
	Digest    release.Digest `json:"digest,omitzero"` // zero: no file
	Foreign   bool           `json:"foreign,omitempty"`
	Gone      bool           `json:"gone,omitempty"`      // the release has dropped the file
	Proven    bool           `json:"proven,omitempty"`    // its successor has proven itself: the backup will be removed
	Reverting bool           `json:"reverting,omitempty"` // it is being restored
}

// lists are the files of a transaction and the set that it starts from.
type lists struct {
	Is      release.Digest `json:"is,omitzero"`       // identity of the live set; zero if unknown
	Was     release.Digest `json:"was,omitzero"`      // identity of the last proven set, while Is is pending
	Set     []entry        `json:"set,omitempty"`     // live files that came from a release; sorted by Live
	Adopted []entry        `json:"adopted,omitempty"` // files of the release that were live already but not in Set
	Files   []entry        `json:"files,omitempty"`   // files that the transaction makes live, all or none
	Parts   []entry        `json:"parts,omitempty"`   // parts that it does not touch: they stay bound to their digests
	Undo    []undo         `json:"undo,omitempty"`    // changes since the last proven set, at most one for each name
	Mixed   []string       `json:"mixed,omitempty"`   // files of the live set known to be missing or from another release
	Blend   []string       `json:"blend,omitempty"`   // the same for the set named by Was
}

func (l lists) encode() ([]byte, error) { return json.Marshal(l) }

// readLists reads a slot's lists. ok is false if they do not match the digest in the journal.
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

// clone is a copy that the caller may change.
func (l lists) clone() lists {
	l.Set, l.Undo, l.Parts = slices.Clone(l.Set), slices.Clone(l.Undo), slices.Clone(l.Parts)
	return l
}

// apply updates the lists with a record that follows the state before, in the transaction that leads to build.
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
		if before == Prepared { // its swap began and can't be finished
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
		l.Was, l.Blend = release.Digest{}, nil // no rollback is possible any more
	}
}

// mark changes the undos of one host.
func (l *lists) mark(library string, change func(*undo)) {
	l.Undo = slices.Clone(l.Undo)
	for i := range l.Undo {
		if belongs(l.Undo[i].Kind, l.Undo[i].Live, library) {
			change(&l.Undo[i])
		}
	}
}

// swapped adds the files of the transaction, except the missed ones, to the set and records the undos.
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
	// A proven file becomes the backup now, even if an older backup still exists.
	l.Undo = slices.Concat(outside(l.Undo, fresh), fresh)
	l.keep(slices.Concat(l.Adopted, l.Files))
	for i, u := range l.Undo {
		_, live := slices.BinarySearchFunc(l.Set, u.Live, func(e entry, live string) int { return strings.Compare(e.Live, live) })
		l.Undo[i].Gone = !live
	}
	l.Files, l.Adopted = nil, nil
}

// outside are the undos in old whose names are not in others.
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

// rolledBack restores the reverted files in the set; the files they replace become parts again.
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
			back.Digest = release.Digest{} // the restored file did not come from a release
		}
		put(set, back)
	}
	l.setTo(set)
	l.Undo = slices.DeleteFunc(slices.Clone(l.Undo), func(u undo) bool { return u.Reverting })
}

// keep adds live files to the set; the last entry of a name wins.
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

// put sets an entry of a set, or deletes it if the digest is zero.
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

// replacing are the files of the set whose predecessors are being restored.
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

// unproven are the names whose backup holds a file of the last proven set.
func (l *lists) unproven() map[string]bool {
	names := make(map[string]bool, len(l.Undo))
	for _, u := range l.Undo {
		if !u.Proven {
			names[u.Live] = true
		}
	}
	return names
}

// bound maps live names to the intended content of the parts on disk.
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

// fetched are the entries with a digest.
func fetched(files []entry) []entry {
	return slices.DeleteFunc(slices.Clone(files), entry.gone)
}

// gone reports whether the entry removes a file.
func (e entry) gone() bool { return e.Digest.IsZero() }

// entry is the file that the undo restores.
func (u undo) entry() entry {
	return entry{Kind: u.Kind, Live: u.Live, Size: u.Size, Digest: u.Digest}
}

// belongs reports whether a file is part of the set of the host with this module. All hosts share the packs.
func belongs(k Kind, live, library string) bool {
	switch k {
	case Module:
		return live == library
	case Companion:
		base := strings.TrimSuffix(library, path.Ext(library))
		return strings.HasPrefix(live, library+".") || live == base+symbolsExt
	default:
		return true
	}
}

// pending are the unproven changes of one host.
func (j *Journal) pending(library string) []undo {
	var waiting []undo
	for _, u := range j.lists.Undo {
		if !u.Proven && belongs(u.Kind, u.Live, library) {
			waiting = append(waiting, u)
		}
	}
	return waiting
}

// returning are the files to restore: Old is the restored content.
func (l *lists) returning() (files []entry) {
	for _, u := range l.Undo {
		if u.Reverting {
			files = append(files, entry{Kind: u.Kind, Live: u.Live, Digest: release.Digest{}, Old: u.Digest, OldSize: u.Size})
		}
	}
	return files
}
