// Package inspect examines an install folder for people and for tools, and changes nothing. Folder reports what is there,
// what is wrong, and what the next start does about it. Predict says how that start ends, as far as the disk decides it.
// Program reports updates of the program itself.
//
// Both predictions run the code of package install on an overlay: a file system that keeps all changes in memory and fails
// where the disk would. So they can't differ from the real start. Package install serves readers with View, ReadSlot,
// Rehearse and Kill, and with nothing else.
package inspect

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"collet/app/install"
	"collet/netproto/release"
	"collet/platform"
)

// Report is the result of Folder, for people and for JSON. Names are relative to the install folder, with slashes;
// sizes are bytes; digests are texts, empty if unknown. Future versions only add fields. The keys troubles, gravity, going
// and deeds keep their first names.
type Report struct {
	Path  string        `json:"path"` // of the folder, absolute
	Names install.Names `json:"names"`
	Empty bool          `json:"empty,omitempty"` // no journal, no module and no pack exist

	JournalReport

	Base    string    `json:"base,omitempty"`  // folder below this one, absolute; empty without one
	Module  bool      `json:"module"`          // a live module exists, here or in the base
	Running LockState `json:"running"`         // the lock of an open install
	InUse   LockState `json:"in_use"`          // the shared lock of users of the set
	Opened  time.Time `json:"opened,omitzero"` // modification time of the mark of an open install

	FilesReport

	Free        uint64    `json:"free"` // bytes on the volume; 0 if FreeUnknown
	FreeUnknown bool      `json:"free_unknown,omitempty"`
	Next        NextStart `json:"next"`
	Problems    []Problem `json:"troubles,omitempty"` // the gravest first
}

// JournalReport is what the journal says.
type JournalReport struct {
	Slots   [2]Slot       `json:"slots"`
	Slot    int           `json:"slot"`               // the valid one; -1 for none
	Number  uint64        `json:"number,omitempty"`   // of the newest transaction
	State   install.State `json:"state"`              // its state
	LeadsTo string        `json:"leads_to,omitempty"` // identity of the set that it installs or installed
	Set     string        `json:"set,omitempty"`      // identity of the live set
	Last    string        `json:"last,omitempty"`     // identity of the last proven set, while the live one is pending
	Mixed   []string      `json:"mixed,omitempty"`    // files of the live set known to be missing or from another release
	Pending bool          `json:"pending"`            // the live set of this host is unproven
	Clean   bool          `json:"clean"`              // nothing is pending, and no backup is left
	Tries   []install.Try `json:"tries,omitempty"`    // unproven sets, including blocked ones
}

// FilesReport is what the folder holds.
type FilesReport struct {
	Files       []FileState `json:"files,omitempty"`       // the live set, sorted by name
	Transaction []FileState `json:"transaction,omitempty"` // files of a prepared transaction
	Parts       []PartState `json:"parts,omitempty"`       // unfinished files bound to a digest by the journal
	Backups     []FileState `json:"backups,omitempty"`     // files of the last proven set
	Recycler    Tally       `json:"recycler"`
	Cache       CacheState  `json:"cache"`
	Strays      []Stray     `json:"strays,omitempty"` // files outside of the set, at most maxStrays
	StrayTally  Tally       `json:"stray_tally"`      // all of them
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

// FileState is the state of one file in the journal. Found and the similar fields hold the words for install.Content, and in
// addition "right", "unchecked" (the size matches and the content was not compared), "size", "link" and "damaged", or an
// error text.
type FileState struct {
	Name      string       `json:"name"` // its live name
	Kind      install.Kind `json:"kind"`
	Size      int64        `json:"size"`             // expected size
	Digest    string       `json:"digest,omitempty"` // empty: the release has dropped the file
	Found     string       `json:"found"`            // state of the live name
	Part      string       `json:"part,omitempty"`   // transactions: state of its part
	Staged    string       `json:"staged,omitempty"` // transactions: state of its staging name
	Backup    string       `json:"backup,omitempty"` // state of its backup
	At        string       `json:"at,omitempty"`     // backups: their name
	Proven    bool         `json:"proven,omitempty"` // backups: its successor has proven itself
	Reverting bool         `json:"going,omitempty"`  // backups: it is being restored
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

// NextStart is what the next start does before it contacts a server, and its result.
type NextStart struct {
	Actions []Action      `json:"deeds,omitempty"`
	Error   string        `json:"error,omitempty"` // the error that ends it
	State   install.State `json:"state"`
	Set     string        `json:"set,omitempty"`
	Pending bool          `json:"pending"`
	Module  bool          `json:"module"`            // a live module exists then
	Verify  bool          `json:"verify"`            // it hashes everything, because the last end was unclean
	Damaged []FileState   `json:"damaged,omitempty"` // files of the set that are still damaged then
	Mixed   []string      `json:"mixed,omitempty"`   // files that are known to be missing or from another release then
}

// Action is one step of the next start: a change of names, or a log line.
type Action struct {
	Do   string `json:"do,omitempty"` // an install.Verb; empty for a log line
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Says string `json:"says,omitempty"`
}

// Folder examines an install and changes nothing. It opens no file for writing, creates, renames and removes none, and
// keeps no lock. To test a lock it takes it for an instant; a client that starts in this instant finds the install locked.
// base is the folder below it, as in install.Config.Base; nil means none. With hash it reads every file of the set. Without
// hash it relies on sizes and the hash cache, except for files that the next start would read. Damage is no error. The
// errors are an invalid layout, a folder that can't be listed, and that of ctx.
//
// To predict the next start it runs the real recovery on an overlay of the folder that keeps all changes in memory.
func Folder(ctx context.Context, fsys, base platform.FS, names install.Names, hash bool) (Report, error) {
	names, err := names.Checked()
	if err != nil {
		return Report{}, err
	}
	if _, err := fsys.ReadDir("."); err != nil {
		return Report{}, err
	}
	i := &inspector{
		found: Report{Path: fsys.Path("."), Names: names, JournalReport: JournalReport{Slot: -1}},
		fs:    fsys, base: base, view: install.NewView(fsys, base, names), hash: hash,
	}
	if base != nil {
		i.found.Base = base.Path(".")
	}
	err = i.inspect(ctx)
	return i.found, err
}

// inspector is one inspection: the only writer of its report, to which diagnosis adds the problems.
type inspector struct {
	found Report
	fs    platform.FS
	base  platform.FS // may be nil
	view  *install.View
	hash  bool
	sane  bool // the journal was read
}

func (i *inspector) inspect(ctx context.Context) error {
	i.readJournal()
	i.testLocks()
	i.readCache()
	steps := []func(context.Context) error{
		i.checkFiles, i.checkTransaction, i.checkBackups, i.checkParts, i.findStrays, i.rehearseStart,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	free, err := i.fs.Free()
	i.found.Free, i.found.FreeUnknown = free, err != nil
	i.found.Empty = i.found.Slots[0].Size < 0 && i.found.Slots[1].Size < 0 && len(i.found.Files) == 0 && !i.found.Module
	(&diagnosis{&i.found, i.fs, i.sane}).run()
	return ctx.Err()
}

// readJournal reads both slots and selects one like a start does.
func (i *inspector) readJournal() {
	for n := range i.found.Slots {
		i.found.Slots[n] = i.readSlot(n)
	}
	if err := i.view.LoadJournal(); err != nil {
		if !inTheWay(i.fs, install.StateDir) { // the diagnosis reports that
			i.found.add(NeedsPlayer, "the journal can't be read: "+err.Error(), "the game can't start; check the permissions and the disk")
		}
		return
	}
	i.sane = true
	s, f := i.view.Status(), &i.found
	f.Slot, f.Number, f.State, f.Clean, f.Tries, f.Mixed = s.Slot, s.Number, s.State, s.Clean, s.Tries, s.Mixed
	f.LeadsTo, f.Set, f.Last, f.Pending = text(s.LeadsTo), text(s.Set), text(s.Last), s.Pending
}

// text formats a digest; the zero digest is empty.
func text(d release.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// readSlot reads one slot, valid or not.
func (i *inspector) readSlot(n int) Slot {
	read, err := install.ReadSlot(i.fs, n)
	s := Slot{Name: read.Name, Size: read.Size, Records: read.Records, Valid: read.Valid, Lists: ListsFile{Name: read.ListsName, Size: -1}}
	if err != nil {
		s.Torn = err.Error()
		return s
	}
	if s.Size < 0 {
		return s
	}
	s.Torn, s.Lists.Want = describeRest(read.Rest), text(read.Lists)
	i.readLists(&s.Lists)
	return s
}

// describeRest describes the bytes after the last valid record.
func describeRest(rest []byte) string {
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

// readLists hashes the lists of a slot.
func (i *inspector) readLists(l *ListsFile) {
	info, err := i.fs.Lstat(l.Name)
	if install.IsAbsent(err) {
		return
	}
	if err == nil {
		l.Size = info.Size()
		var got release.Digest
		got, err = i.view.Digest(context.Background(), l.Name, release.SHA256)
		l.Found = text(got)
	}
	if err != nil {
		l.Error = err.Error()
	}
}

// testLocks tests the locks. It does not test the readers' lock while a client runs, because the client could find it
// taken.
func (i *inspector) testLocks() {
	i.found.Running, i.found.InUse = i.testLock(install.LockFile, i.fs.LockShared), LockUnknown
	if i.found.Running == LockFree {
		i.found.InUse = i.testLock(install.ReadersFile, i.fs.Lock)
	}
	if info, err := i.fs.Lstat(path.Join(install.StateDir, install.OpenFile)); err == nil {
		i.found.Opened = info.ModTime()
	}
}

// testLock tests a lock by taking it for an instant. It does not create the lock's file.
func (i *inspector) testLock(name string, try func(string) (io.Closer, error)) LockState {
	name = path.Join(install.StateDir, name)
	info, err := i.fs.Lstat(name)
	switch {
	case install.IsAbsent(err):
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
