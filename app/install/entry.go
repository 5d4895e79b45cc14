package install

import (
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
)

// Kind is how a file of a transaction becomes live. The journal contains these words.
type Kind string

const (
	Pack      Kind = "pack"      // part → live
	Module    Kind = "module"    // part → staging name → live, the old one to .bak
	Companion Kind = "companion" // part → staging name → live, best effort
)

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

// part is the name that receives the bytes. It lies beside the final file, so that the last step is a rename within one
// folder. It lies aside if the final file's folder can't exist before the swap.
func (e entry) part() string {
	if e.Aside {
		return path.Join(StateDir, partsDir, e.Live)
	}
	dir, base := path.Split(e.Live)
	return dir + PartPrefix + base
}

// places are the possible names of the part: a stop may come between the part's move and its record in the journal.
func (e entry) places() []string {
	beside, aside := e, e
	beside.Aside, aside.Aside = false, true
	return []string{beside.part(), aside.part()}
}

// staged is the name of the complete file before the swap. A program keeps its extension, which Windows requires.
func (e entry) staged() string {
	if ext := path.Ext(e.Live); e.Kind == Module && strings.EqualFold(ext, ProgramExt) {
		return strings.TrimSuffix(e.Live, ext) + StagingSuffix + ext
	}
	return e.Live + StagingSuffix
}

// ready is the name of the complete file before the swap: the staging name, or for packs the part.
func (e entry) ready() string {
	if e.Kind == Pack {
		return e.part()
	}
	return e.staged()
}

// backup is the name of the last proven file until its successor has proven itself.
func (e entry) backup() string {
	if e.Kind == Module {
		return e.Live + BackupSuffix
	}
	return path.Join(StateDir, previousDir, e.Live)
}

// gone reports whether the entry removes a file.
func (e entry) gone() bool { return e.Digest.IsZero() }

// entry is the file that the undo restores.
func (u undo) entry() entry {
	return entry{Kind: u.Kind, Live: u.Live, Size: u.Size, Digest: u.Digest}
}

// fetched are the entries with a digest.
func fetched(files []entry) []entry {
	return slices.DeleteFunc(slices.Clone(files), entry.gone)
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
