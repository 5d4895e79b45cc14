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

// Inspection is what Inspect found in an install: a value for people and for JSON. Names are relative to the install
// folder, with slashes; sizes are bytes; digests are texts, empty where unknown. Fields are only ever added.
type Inspection struct {
	Path  string `json:"path"` // of the folder, absolute
	Names Names  `json:"names"`
	Empty bool   `json:"empty,omitempty"` // there is neither a journal nor a module nor a pack

	Slots   [2]Slot  `json:"slots"`              // of the journal
	Slot    int      `json:"slot"`               // which one counts; -1 for none
	Number  uint64   `json:"number,omitempty"`   // of the newest transaction
	State   State    `json:"state"`              // where it stands
	LeadsTo string   `json:"leads_to,omitempty"` // identity of the set that it makes live, or made
	Set     string   `json:"set,omitempty"`      // identity of the live set
	Last    string   `json:"last,omitempty"`     // identity of the last proven set, while the live one is pending
	Mixed   []string `json:"mixed,omitempty"`    // files of the live set that are known to be missing or another release's
	Pending bool     `json:"pending"`            // the live set of this host has not proven itself
	Clean   bool     `json:"clean"`              // nothing waits for its proof, and no backup is left
	Tries   []Try    `json:"tries,omitempty"`    // sets that have not proven themselves, also blocked ones

	Base        string      `json:"base,omitempty"`        // folder below this one, absolute; empty: there is none
	Module      bool        `json:"module"`                // there is a live module, here or in the base
	Running     LockState   `json:"running"`               // of the lock that an open install holds
	InUse       LockState   `json:"in_use"`                // of the lock that users of the set share
	Opened      time.Time   `json:"opened,omitzero"`       // the mark of an open install: since when it is there
	Files       []FileState `json:"files,omitempty"`       // the live set, sorted by name
	Transaction []FileState `json:"transaction,omitempty"` // what an unfinished transaction makes live
	Parts       []PartState `json:"parts,omitempty"`       // unfinished files that the journal binds to a digest
	Backups     []FileState `json:"backups,omitempty"`     // what the last proven set had
	Recycler    Tally       `json:"recycler"`
	Cache       CacheState  `json:"cache"`
	Strays      []Stray     `json:"strays,omitempty"` // what is no part of the set, at most maxStrays
	StrayTally  Tally       `json:"stray_tally"`      // all of them
	Free        uint64      `json:"free"`             // on the volume; 0 where FreeUnknown
	FreeUnknown bool        `json:"free_unknown,omitempty"`

	Next     Rehearsed `json:"next"`
	Troubles []Trouble `json:"troubles,omitempty"` // what is not as it should be, the gravest first
}

// Slot is one slot of the journal with its lists.
type Slot struct {
	Name    string    `json:"name"`
	Size    int64     `json:"size"`              // -1: there is no such file
	Records []string  `json:"records,omitempty"` // the JSON of each valid record
	Valid   int64     `json:"valid"`             // bytes of them; what is behind them is overwritten by the next record
	Torn    string    `json:"torn,omitempty"`    // why reading stopped before the end; empty: it did not
	Lists   ListsFile `json:"lists"`
}

// ListsFile is the file that holds the lists of a slot's transaction.
type ListsFile struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`           // -1: there is no such file
	Want  string `json:"want,omitempty"` // the digest that the slot names
	Found string `json:"found,omitempty"`
	Error string `json:"error,omitempty"` // it could not be read
}

// Right reports whether the lists are those that the slot names.
func (l ListsFile) Right() bool { return l.Want != "" && l.Want == l.Found }

// LockState says who holds a lock. The words stand in reports.
type LockState string

const (
	LockFree    LockState = "free"
	LockHeld    LockState = "held"
	LockUnknown LockState = "unknown" // it could not be tried
)

// FileState is one file that the journal knows, and what its name holds. The words of Found and the others are those of
// Content, and "right", "unchecked" (the size fits and nobody looked closer), "size" and "link" besides.
type FileState struct {
	Name   string `json:"name"` // its live name
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`             // what it should be
	Digest string `json:"digest,omitempty"` // empty: the release has no such file
	Found  string `json:"found"`            // what the live name holds
	Part   string `json:"part,omitempty"`   // transactions: what its part holds
	Staged string `json:"staged,omitempty"` // transactions: what its staging name holds
	Backup string `json:"backup,omitempty"` // what the place of its backup holds
	At     string `json:"at,omitempty"`     // backups: where
	Proven bool   `json:"proven,omitempty"` // backups: its successor has proven itself
	Going  bool   `json:"going,omitempty"`  // backups: it is on its way back
}

// Wrong reports whether the file is certainly not what it should be.
func (f FileState) Wrong() bool { return f.Found != foundRight && f.Found != foundUnchecked }

// PartState is an unfinished file.
type PartState struct {
	Name   string `json:"name"` // where the bytes are
	Live   string `json:"live"`
	Have   int64  `json:"have"` // -1: nothing is there
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
	Found  string `json:"found,omitempty"` // of complete parts that were hashed
}

// Tally counts files.
type Tally struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// CacheState is what is known of the hash cache.
type CacheState struct {
	Name  string `json:"name"`
	State string `json:"state"` // "none", "good" or "damaged"
	Lines int    `json:"lines"`
	Known int    `json:"known"` // files of the set whose digest it still vouches for

	Others Tally `json:"others"` // what else is in its folder
}

// Stray is something in the folder that is no part of the set.
type Stray struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	What string `json:"what"` // "file", "link", "part", "staging", "backup" or "device"
}

// maxStrays is how many strays are named: a player with more than that keeps something else in the folder.
const maxStrays = 2000

// Rehearsed is what the next start does before it asks a server, and what it leads to.
type Rehearsed struct {
	Deeds   []Deed      `json:"deeds,omitempty"`
	Error   string      `json:"error,omitempty"` // it stops with this error
	State   State       `json:"state"`
	Set     string      `json:"set,omitempty"`
	Pending bool        `json:"pending"`
	Module  bool        `json:"module"`            // a live module is there then
	Verify  bool        `json:"verify"`            // it hashes everything, because the last end was unclean
	Damaged []FileState `json:"damaged,omitempty"` // files of the set that are still not right then
	Mixed   []string    `json:"mixed,omitempty"`   // files that are known to be missing or another release's then
}

// Deed is one step of the next start: a change of names, or a line of its log.
type Deed struct {
	Do   string `json:"do,omitempty"` // a Verb; empty for a line of the log
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Says string `json:"says,omitempty"`
}

// Inspect looks at an install and changes nothing: no file is opened for writing, made, renamed or removed, and no lock is
// kept. Whether a lock is held is tried by taking it for an instant; a client that starts in just
// this instant takes it for another one. With hash every file of the set is read; without,
// sizes and the hash cache decide, except where the next start would read. Damage is no error; an error is a layout that
// makes no sense, a folder that can't be listed, or the end of ctx.
//
// What the next start will do is not guessed: the recovery itself runs, on a view of the folder that keeps its changes
// to itself.
func Inspect(ctx context.Context, fsys platform.FS, names Names, hash bool) (Inspection, error) {
	return InspectAbove(ctx, fsys, nil, names, hash)
}

// InspectAbove is Inspect for a folder that lies above another one, as Config.Base has it. base may be nil.
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

// inspector is one inspection under way. Its Dir is never opened: it only reads.
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

// lookAtJournal reads both slots, and decides between them as a start does.
func (i *inspector) lookAtJournal() {
	for n := range i.found.Slots {
		i.found.Slots[n] = i.slot(n)
	}
	j, err := loadJournal(i.dir.fs, maxJournal)
	if err != nil {
		if !i.inTheWay(StateDir) { // judgeFolders tells that
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

// text is a digest for people.
func text(d release.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// slot reads one slot as it is.
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

// tear says what stands behind the last valid record.
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

// lookAtLocks finds out who is there. The readers' lock is left alone while a client runs: it would notice.
func (i *inspector) lookAtLocks() {
	i.found.Running, i.found.InUse = i.lock(lockFile, i.dir.fs.LockShared), LockUnknown
	if i.found.Running == LockFree {
		i.found.InUse = i.lock(readersFile, i.dir.fs.Lock)
	}
	if info, err := i.dir.fs.Lstat(path.Join(StateDir, openFile)); err == nil {
		i.found.Opened = info.ModTime()
	}
}

// lock tries a lock whose file is there, for an instant.
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
