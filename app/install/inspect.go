package install

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
)

// Inspection is the result of Inspect, for people and for JSON. Names are relative to the install folder, with slashes;
// sizes are bytes; digests are texts, empty if unknown. Future versions only add fields.
type Inspection struct {
	Path  string `json:"path"` // of the folder, absolute
	Names Names  `json:"names"`
	Empty bool   `json:"empty,omitempty"` // no journal, no module and no pack exist

	Slots   [2]Slot  `json:"slots"`              // of the journal
	Slot    int      `json:"slot"`               // the valid one; -1 for none
	Number  uint64   `json:"number,omitempty"`   // of the newest transaction
	State   State    `json:"state"`              // its state
	LeadsTo string   `json:"leads_to,omitempty"` // identity of the set that it installs or installed
	Set     string   `json:"set,omitempty"`      // identity of the live set
	Last    string   `json:"last,omitempty"`     // identity of the last proven set, while the live one is pending
	Mixed   []string `json:"mixed,omitempty"`    // files of the live set known to be missing or from another release
	Pending bool     `json:"pending"`            // the live set of this host is unproven
	Clean   bool     `json:"clean"`              // nothing is pending, and no backup is left
	Tries   []Try    `json:"tries,omitempty"`    // unproven sets, including blocked ones

	Base        string      `json:"base,omitempty"`        // folder below this one, absolute; empty without one
	Module      bool        `json:"module"`                // a live module exists, here or in the base
	Running     LockState   `json:"running"`               // the lock of an open install
	InUse       LockState   `json:"in_use"`                // the shared lock of users of the set
	Opened      time.Time   `json:"opened,omitzero"`       // modification time of the mark of an open install
	Files       []FileState `json:"files,omitempty"`       // the live set, sorted by name
	Transaction []FileState `json:"transaction,omitempty"` // files of a prepared transaction
	Parts       []PartState `json:"parts,omitempty"`       // unfinished files bound to a digest by the journal
	Backups     []FileState `json:"backups,omitempty"`     // files of the last proven set
	Recycler    Tally       `json:"recycler"`
	Cache       CacheState  `json:"cache"`
	Strays      []Stray     `json:"strays,omitempty"` // files outside of the set, at most maxStrays
	StrayTally  Tally       `json:"stray_tally"`      // all of them
	Free        uint64      `json:"free"`             // bytes on the volume; 0 if FreeUnknown
	FreeUnknown bool        `json:"free_unknown,omitempty"`

	Next     Rehearsed `json:"next"`
	Troubles []Trouble `json:"troubles,omitempty"` // problems, the gravest first
}

// Slot is one slot of the journal with its lists.
type Slot struct {
	Name    string    `json:"name"`
	Size    int64     `json:"size"`              // -1: missing
	Records []string  `json:"records,omitempty"` // the JSON of each valid record
	Valid   int64     `json:"valid"`             // bytes of the valid records; the next record overwrites the rest
	Torn    string    `json:"torn,omitempty"`    // why reading stopped before the end; empty if it did not
	Lists   ListsFile `json:"lists"`
}

// ListsFile is the file that holds the lists of a slot's transaction.
type ListsFile struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`           // -1: missing
	Want  string `json:"want,omitempty"` // the digest in the slot
	Found string `json:"found,omitempty"`
	Error string `json:"error,omitempty"` // the read error, if any
}

// Right reports whether the lists match the digest in the slot.
func (l ListsFile) Right() bool { return l.Want != "" && l.Want == l.Found }

// LockState is the state of a lock. Reports contain these words.
type LockState string

const (
	LockFree    LockState = "free"
	LockHeld    LockState = "held"
	LockUnknown LockState = "unknown" // the lock could not be tested
)

// FileState is the state of one file in the journal. Found and the similar fields hold the words for Content, and in
// addition "right", "unchecked" (the size matches and the content was not compared), "size", "link" and "damaged", or an
// error text.
type FileState struct {
	Name   string `json:"name"` // its live name
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`             // expected size
	Digest string `json:"digest,omitempty"` // empty: the release has dropped the file
	Found  string `json:"found"`            // state of the live name
	Part   string `json:"part,omitempty"`   // transactions: state of its part
	Staged string `json:"staged,omitempty"` // transactions: state of its staging name
	Backup string `json:"backup,omitempty"` // state of its backup
	At     string `json:"at,omitempty"`     // backups: their name
	Proven bool   `json:"proven,omitempty"` // backups: its successor has proven itself
	Going  bool   `json:"going,omitempty"`  // backups: it is being restored
}

// Wrong reports whether the file is known to differ from the set.
func (f FileState) Wrong() bool { return f.Found != foundRight && f.Found != foundUnchecked }

// PartState is an unfinished file.
type PartState struct {
	Name   string `json:"name"` // name of the part
	Live   string `json:"live"`
	Have   int64  `json:"have"` // -1: missing
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
	Found  string `json:"found,omitempty"` // for complete parts that were hashed
}

// Tally counts files and their bytes.
type Tally struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// CacheState is the state of the hash cache.
type CacheState struct {
	Name  string `json:"name"`
	State string `json:"state"` // "none", "good" or "damaged"
	Lines int    `json:"lines"`
	Known int    `json:"known"` // files of the set with a valid line

	Others Tally `json:"others"` // other files in its folder
}

// Stray is a file in the folder that is not part of the set.
type Stray struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	What string `json:"what"` // "file", "link", "part", "staging", "backup" or "device"
}

// maxStrays is the largest number of listed strays. More are most likely unrelated files.
const maxStrays = 2000

// Rehearsed is what the next start does before it contacts a server, and its result.
type Rehearsed struct {
	Deeds   []Deed      `json:"deeds,omitempty"`
	Error   string      `json:"error,omitempty"` // the error that ends it
	State   State       `json:"state"`
	Set     string      `json:"set,omitempty"`
	Pending bool        `json:"pending"`
	Module  bool        `json:"module"`            // a live module exists then
	Verify  bool        `json:"verify"`            // it hashes everything, because the last end was unclean
	Damaged []FileState `json:"damaged,omitempty"` // files of the set that are still damaged then
	Mixed   []string    `json:"mixed,omitempty"`   // files that are known to be missing or from another release then
}

// Deed is one step of the next start: a change of names, or a log line.
type Deed struct {
	Do   string `json:"do,omitempty"` // a Verb; empty for a log line
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Says string `json:"says,omitempty"`
}

// Inspect examines an install and changes nothing. It opens no file for writing, creates, renames and removes none, and
// keeps no lock. To test a lock it takes it for an instant; a client that starts in this instant finds the install locked.
// With hash it reads every file of the set. Without hash it relies on sizes and the hash cache, except for files that the
// next start would read. Damage is no error. The errors are an invalid layout, a folder that can't be listed, and that of
// ctx.
//
// To predict the next start it runs the real recovery on a view of the folder that keeps all changes in memory.
func Inspect(ctx context.Context, fsys platform.FS, names Names, hash bool) (Inspection, error) {
	return InspectAbove(ctx, fsys, nil, names, hash)
}

// InspectAbove is Inspect for a folder above a base, as in Config.Base. base may be nil.
func InspectAbove(ctx context.Context, fsys, base platform.FS, names Names, hash bool) (Inspection, error) {
	names, err := names.checked()
	if err != nil {
		return Inspection{}, err
	}
	i := &inspector{
		found: Inspection{Path: fsys.Path("."), Names: names, Slot: -1},
		dir:   &Dir{cfg: Config{FS: fsys, Base: base, Names: names, Now: time.Now}, fs: fsys, log: zerolog.Nop()},
		hash:  hash,
	}
	if base != nil {
		i.found.Base = base.Path(".")
	}
	err = i.inspect(ctx)
	return i.found, err
}

// inspector is one inspection. Its Dir is never opened and is only used for reading.
type inspector struct {
	found Inspection
	dir   *Dir
	hash  bool
	sane  bool // the journal was read
}

func (i *inspector) inspect(ctx context.Context) error {
	if _, err := i.dir.fs.ReadDir("."); err != nil {
		return err
	}
	i.dir.cache = newCache()
	i.lookAtJournal()
	i.lookAtLocks()
	i.lookAtCache()
	steps := []func(context.Context) error{i.lookAtFiles, i.lookAtTransaction, i.lookAtBackups, i.lookAtParts, i.lookAround, i.rehearse}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	free, err := i.dir.fs.Free()
	i.found.Free, i.found.FreeUnknown = free, err != nil
	i.found.Empty = i.found.Slots[0].Size < 0 && i.found.Slots[1].Size < 0 && len(i.found.Files) == 0 && !i.found.Module
	i.judge()
	return ctx.Err()
}

// lookAtJournal reads both slots and selects one like a start does.
func (i *inspector) lookAtJournal() {
	for n := range i.found.Slots {
		i.found.Slots[n] = i.slot(n)
	}
	j, err := loadJournal(i.dir.fs, maxJournal)
	if err != nil {
		if !i.inTheWay(StateDir) { // judgeFolders reports that
			i.trouble(You, "the journal can't be read: "+err.Error(), "the game can't start; check the permissions and the disk")
		}
		return
	}
	i.sane = true
	if ok, err := j.load(i.dir.fs); !ok || err != nil {
		j.loaded, j.events = true, nil
	}
	i.dir.journal = j
	if j.Number == 0 {
		return
	}
	f := &i.found
	f.Slot, f.Number, f.State, f.Clean, f.Tries, f.Mixed = j.slot, j.Number, j.State, j.Clean, j.Tries, j.lists.Mixed
	f.LeadsTo, f.Set, f.Last = text(j.Build), text(j.lists.Is), text(j.lists.Was)
	f.Pending = i.dir.Pending()
}

// text formats a digest; the zero digest is empty.
func text(d release.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// slot reads one slot, valid or not.
func (i *inspector) slot(n int) Slot {
	s := Slot{Name: slotName(n), Size: -1, Lists: ListsFile{Name: listsName(n), Size: -1}}
	data, err := platform.ReadFile(i.dir.fs, s.Name, maxJournal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s
	case err != nil && !errors.Is(err, platform.ErrTooLong):
		s.Torn = err.Error()
		return s
	}
	j, ok := decodeJournal(data)
	s.Size, s.Valid = int64(len(data)), j.size
	for _, r := range j.events {
		if line, err := json.Marshal(r); err == nil {
			s.Records = append(s.Records, string(line))
		}
	}
	s.Torn = tear(data[j.size:])
	if ok {
		s.Lists.Want = text(j.listed)
	}
	i.lists(&s.Lists)
	return s
}

// tear describes the bytes after the last valid record.
func tear(rest []byte) string {
	zeros := 0
	for _, b := range rest {
		if b == 0 {
			zeros++
		}
	}
	switch {
	case len(rest) == 0:
		return ""
	case zeros == len(rest):
		return "zeros"
	case rest[len(rest)-1] != '\n':
		return "a record that was not written to its end"
	default:
		return "a damaged record"
	}
}

// lists reads the lists of a slot.
func (i *inspector) lists(l *ListsFile) {
	info, err := i.dir.fs.Lstat(l.Name)
	if isAbsent(err) {
		return
	}
	if err == nil {
		l.Size = info.Size()
		var got release.Digest
		got, err = i.dir.read(context.Background(), l.Name, release.SHA256, nil)
		l.Found = text(got)
	}
	if err != nil {
		l.Error = err.Error()
	}
}

// lookAtLocks tests the locks. It does not test the readers' lock while a client runs, because the client could find it
// taken.
func (i *inspector) lookAtLocks() {
	i.found.Running, i.found.InUse = i.lock(lockFile, i.dir.fs.LockShared), LockUnknown
	if i.found.Running == LockFree {
		i.found.InUse = i.lock(readersFile, i.dir.fs.Lock)
	}
	if info, err := i.dir.fs.Lstat(path.Join(StateDir, openFile)); err == nil {
		i.found.Opened = info.ModTime()
	}
}

// lock tests a lock by taking it for an instant. It does not create the lock's file.
func (i *inspector) lock(name string, try func(string) (io.Closer, error)) LockState {
	name = path.Join(StateDir, name)
	info, err := i.dir.fs.Lstat(name)
	switch {
	case isAbsent(err):
		return LockFree
	case err != nil || !info.Mode().IsRegular():
		return LockUnknown
	}
	held, err := try(name)
	switch {
	case errors.Is(err, platform.ErrLocked):
		return LockHeld
	case err != nil:
		return LockUnknown
	}
	held.Close()
	return LockFree
}
