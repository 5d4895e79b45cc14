package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"collet/netproto/release"
	"collet/platform"
)

// maxLists is the largest lists file in bytes that is read. It allows release.MaxSet files of 170 bytes, the usual size, in
// each of its lists, twice over.
const maxLists = 256 << 20

// lists are the files of a transaction and the set that it starts from.
type lists struct {
	Is       release.Digest `json:"is,omitzero"`       // identity of the live set; zero if unknown
	Was      release.Digest `json:"was,omitzero"`      // identity of the last proven set, while Is is pending
	Set      []entry        `json:"set,omitempty"`     // live files that came from a release; sorted by Live
	Adopted  []entry        `json:"adopted,omitempty"` // files of the release that were live already but not in Set
	Files    []entry        `json:"files,omitempty"`   // files that the transaction makes live, all or none
	Parts    []entry        `json:"parts,omitempty"`   // parts that it does not touch: they stay bound to their digests
	Undo     []undo         `json:"undo,omitempty"`    // changes since the last proven set, at most one for each name
	Mixed    []string       `json:"mixed,omitempty"`   // files of the live set known to be missing or from another release
	WasMixed []string       `json:"blend,omitempty"`   // the same for the set named by Was; the key keeps its first name
}

func (l lists) encode() ([]byte, error) { return json.Marshal(l) }

// decode reads the output of encode. After an error the lists are unchanged.
func (l *lists) decode(data []byte) error {
	var read lists
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*l = read
	return nil
}

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
	stay := l.filesNamed(r.Stay)
	switch {
	case r.Number != 0:
		return
	case r.State == Swapped && before == Prepared:
		l.swapped(build, r.Missed)
	case r.Proven != "":
		l.changeUndos(r.Proven, func(u *undo) { u.Proven = true })
		l.Was, l.WasMixed = release.Digest{}, nil
	case r.Back != "":
		if before == Prepared { // its swap began and can't be finished
			l.swapped(build, nil)
		}
		l.changeUndos(r.Back, func(u *undo) { u.Reverting = !u.Proven })
	case r.State == RolledBack && before == RollingBack:
		l.rolledBack()
	}
	if r.State == RolledBack {
		l.Parts, l.Files, l.Adopted = slices.Concat(l.Parts, fetched(l.Files)), nil, nil
		l.addToSet(stay)
		if len(r.Mixed) > 0 {
			l.Mixed = r.Mixed
		}
	}
	if r.Dropped {
		l.Undo = slices.DeleteFunc(l.Undo, func(u undo) bool { return u.Proven })
	}
	if r.Clean {
		l.Was, l.WasMixed = release.Digest{}, nil // no rollback is possible any more
	}
}

// changeUndos changes the undos of one host.
func (l *lists) changeUndos(library string, change func(*undo)) {
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
	backedUp := l.backedUp()
	if l.Was.IsZero() && len(backedUp) == 0 {
		l.Was, l.WasMixed = l.Is, l.Mixed
	}
	l.Is, l.Mixed = build, nil
	fresh := make([]undo, 0, len(l.Files))
	for _, e := range l.Files {
		if !e.Repair && !backedUp[e.Live] {
			fresh = append(fresh, undo{Kind: e.Kind, Live: e.Live, Size: e.OldSize, Digest: e.Old, Foreign: e.Foreign})
		}
	}
	// A proven file becomes the backup now, even if an older backup still exists.
	l.Undo = slices.Concat(withoutNames(l.Undo, fresh), fresh)
	l.addToSet(slices.Concat(l.Adopted, l.Files))
	for i, u := range l.Undo {
		_, live := slices.BinarySearchFunc(l.Set, u.Live, func(e entry, live string) int { return strings.Compare(e.Live, live) })
		l.Undo[i].Gone = !live
	}
	l.Files, l.Adopted = nil, nil
}

// withoutNames are the undos in old whose names are not in others.
func withoutNames(old, others []undo) []undo {
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
	l.Mixed, l.WasMixed = l.WasMixed, nil
	set := l.setByName()
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
		putEntry(set, back)
	}
	l.replaceSet(set)
	l.Undo = slices.DeleteFunc(slices.Clone(l.Undo), func(u undo) bool { return u.Reverting })
}

// addToSet adds live files to the set; the last entry of a name wins.
func (l *lists) addToSet(files []entry) {
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

// putEntry sets an entry of a set, or deletes it if the digest is zero.
func putEntry(set map[string]entry, e entry) {
	if e.Digest.IsZero() {
		delete(set, e.Live)
	} else {
		set[e.Live] = e
	}
}

func (l *lists) setByName() map[string]entry {
	set := make(map[string]entry, len(l.Set)+len(l.Files)+len(l.Adopted))
	for _, e := range l.Set {
		set[e.Live] = e
	}
	return set
}

func (l *lists) replaceSet(set map[string]entry) {
	l.Set = make([]entry, 0, len(set))
	for _, live := range slices.Sorted(maps.Keys(set)) {
		l.Set = append(l.Set, set[live])
	}
}

// replacing are the files of the set whose predecessors are being restored.
func (l *lists) replacing() (files []entry) {
	set := l.setByName()
	for _, u := range l.Undo {
		if e, live := set[u.Live]; live && u.Reverting {
			files = append(files, e)
		}
	}
	return files
}

// filesNamed are the files with these names, those of the transaction last.
func (l *lists) filesNamed(names []string) []entry {
	if len(names) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(l.Set, l.Files), func(e entry) bool { return !slices.Contains(names, e.Live) })
}

// backedUp are the names whose backup holds a file of the last proven set.
func (l *lists) backedUp() map[string]bool {
	names := make(map[string]bool, len(l.Undo))
	for _, u := range l.Undo {
		if !u.Proven {
			names[u.Live] = true
		}
	}
	return names
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
