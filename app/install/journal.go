package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"collet/netproto/release"
	"collet/platform"
)

// State is the state of a transaction. The journal contains these words.
type State string

const (
	None        State = ""
	Staging     State = "staging"
	Prepared    State = "prepared"
	Swapped     State = "swapped"
	Confirmed   State = "confirmed"
	RollingBack State = "rolling-back"
	RolledBack  State = "rolled-back"
)

// maxJournal is the largest slot in bytes that is written or read. A record has some hundred bytes, and a transaction some
// ten records.
const maxJournal = 1 << 20

// maxNamed is the number of names that fit into a record, whatever their lengths.
const maxNamed = 500

// record is one line of the journal. Only the first record of a slot has the fields that identify a transaction; Number is
// never 0 there.
type record struct {
	Number uint64         `json:"number,omitempty"` // first: the transaction, counted from 1
	Build  release.Digest `json:"build,omitzero"`   // first: the identity of the set that it leads to
	Lists  release.Digest `json:"lists,omitzero"`   // first: SHA-256 of the slot's lists
	State  State          `json:"state"`
	Proven string         `json:"proven,omitempty"` // the set with this module has proven itself
	Back   string         `json:"back,omitempty"`   // the set with this module is being rolled back
	Tries  []Try          `json:"tries,omitzero"`   // the whole list from here on; absent means unchanged

	Missed  []string `json:"missed,omitempty"`  // swapped: companions that were not replaced
	Stay    []string `json:"stay,omitempty"`    // rolled-back: new files that are live all the same, because a backup was lost
	Mixed   []string `json:"mixed,omitempty"`   // rolled-back: files that are missing or from another release, for the same reason
	Dropped bool     `json:"dropped,omitempty"` // the backups of proven changes are removed
	Clean   bool     `json:"clean,omitempty"`   // nothing is pending, and no backup is left
}

// Journal is the result of all records of the newest valid slot, with the slot's lists. The zero value is an install
// without a transaction.
type Journal struct {
	Number uint64
	Build  release.Digest
	State  State
	Clean  bool
	Tries  []Try

	lists  lists          // with all records applied; see lists.apply
	listed release.Digest // required digest of the slot's lists
	loaded bool           // lists were read
	events []record       // records to apply to the lists, until they are loaded
	slot   int            // 0 or 1: the slot of this journal
	size   int64          // valid bytes of the slot, where the next record goes
}

// journalMark identifies a state of a journal.
type journalMark struct {
	number uint64
	size   int64
}

func (j *Journal) mark() journalMark { return journalMark{j.Number, j.size} }

// apply applies one record.
func (j *Journal) apply(r record) {
	if r.Number != 0 {
		j.Number, j.Build, j.listed = r.Number, r.Build, r.Lists
	}
	if r.Tries != nil {
		j.Tries = r.Tries
	}
	if j.loaded {
		j.lists.apply(j.State, r, j.Build)
	} else {
		j.events = append(j.events, r)
	}
	j.State, j.Clean = r.State, r.Clean
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns one line: eight hex digits of the CRC-32C of the JSON text, a space, the JSON text, a newline.
func (r record) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s %s\n", checksum(text), text), nil
}

func checksum(text []byte) []byte { return fmt.Appendf(nil, "%08x", crc32.Checksum(text, castagnoli)) }

// decodeRecord reads one line without its newline. ok is false if the checksum does not match or the text is not a record.
func decodeRecord(line []byte) (r record, ok bool) {
	sum, text, _ := bytes.Cut(line, []byte(" "))
	ok = bytes.Equal(sum, checksum(text)) && json.Unmarshal(text, &r) == nil
	return r, ok
}

// decodeJournal applies the records of a slot, up to the first line that is torn, damaged or out of place. ok is false if
// the first record is invalid: the slot then counts as missing.
func decodeJournal(data []byte) (j Journal, ok bool) {
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		r, valid := decodeRecord(line)
		first := r.Number != 0 && r.State == Staging
		if !whole || !valid || first == ok || r.Number != 0 && !first {
			break
		}
		j.apply(r)
		j.size += int64(len(line)) + 1
		ok, data = true, rest
	}
	return j, ok
}

func slotName(slot int) string { return path.Join(StateDir, fmt.Sprintf("journal.%d", slot)) }

func listsName(slot int) string { return path.Join(StateDir, fmt.Sprintf("lists.%d", slot)) }

// loadJournal reads both slots and returns the newer valid one, or the zero Journal. An unreadable slot is an error and
// does not count as missing, because the older slot would describe an outdated disk. Of a slot longer than limit, which
// only damage can produce, the first limit bytes are read. A slot that is not clean counts as missing without its lists.
func loadJournal(fsys platform.FS, limit int64) (Journal, error) {
	var slots [2]Journal
	for slot := range slots {
		data, err := platform.ReadFile(fsys, slotName(slot), limit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, platform.ErrTooLong) {
			return Journal{}, err
		}
		j, ok := decodeJournal(data)
		if ok {
			j.slot = slot
			slots[slot] = j
		}
	}
	newer, older := slots[0], slots[1]
	if older.Number > newer.Number {
		newer, older = older, newer
	}
	for _, j := range []Journal{newer, older} {
		if j.Number == 0 || j.Clean {
			return j.orFirst(), nil
		}
		if ok, err := j.load(fsys); err != nil || ok {
			return j, err
		}
	}
	return Journal{slot: 1}, nil
}

// orFirst makes the first transaction of an install begin in slot 0.
func (j Journal) orFirst() Journal {
	if j.Number == 0 {
		j.slot = 1
	}
	return j
}

// load reads the slot's lists and applies the records to them. ok is false if they do not match the digest in the slot.
func (j *Journal) load(fsys platform.FS) (ok bool, err error) {
	if j.loaded || j.Number == 0 {
		return true, nil
	}
	l, ok, err := readLists(fsys, listsName(j.slot), j.listed)
	if !ok || err != nil {
		return false, err
	}
	state := None
	for _, r := range j.events {
		l.apply(state, r, j.Build)
		state = r.State
	}
	j.lists, j.loaded, j.events = l, true, nil
	return true, nil
}

// beginTransaction starts a transaction in the other slot, so that a torn write leaves the records and lists of the previous one
// intact. The name of StateDir must be synced already.
func (j *Journal) beginTransaction(fsys platform.FS, build release.Digest, l lists) error {
	text, err := l.encode()
	if err != nil {
		return err
	}
	listed, err := release.SHA256.DigestOf(bytes.NewReader(text))
	if err != nil {
		return err
	}
	next := Journal{slot: 1 - j.slot, lists: l, loaded: true, Tries: j.Tries}
	first := record{Number: j.Number + 1, Build: build, Lists: listed, State: Staging, Tries: j.Tries}
	if err = platform.WriteFrom(fsys, listsName(next.slot), bytes.NewReader(text), 0o644); err != nil {
		return err // the records of the new slot are unchanged
	}
	if err = next.appendRecord(fsys, first); err == nil {
		err = fsys.SyncDir(StateDir)
	}
	if err != nil {
		// The next records go to the old slot, so the new slot must not remain the newer one.
		return errors.Join(err, platform.RemoveIfThere(fsys, slotName(next.slot)), fsys.SyncDir(StateDir))
	}
	*j = next
	return nil
}

// appendRecord adds one record after the valid ones, in place of the remains of an interrupted write, and returns when it is
// synced. After an error the Journal is unchanged. The record may still be complete on disk; that is safe, because it was
// true before it was written.
func (j *Journal) appendRecord(fsys platform.FS, r record) error {
	line, err := r.encode()
	if err != nil {
		return err
	}
	name := slotName(j.slot)
	if j.size+int64(len(line)) > maxJournal {
		return &fs.PathError{Op: "write", Path: name, Err: platform.ErrTooLong}
	}
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err = errors.Join(appendAt(f, j.size, line), f.Close()); err != nil {
		return err
	}
	j.size += int64(len(line))
	j.apply(r)
	return nil
}

func appendAt(f platform.File, offset int64, line []byte) error {
	if err := f.Truncate(offset); err != nil {
		return err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	return f.Sync()
}

// withdrawn is the record that ends a transaction before its swap.
func (j *Journal) withdrawn() record {
	return record{State: RolledBack, Clean: len(j.lists.Undo) == 0 && len(j.lists.Mixed) == 0}
}

// ended is the state after the verdict on a set. If the set belongs to the newest transaction it is outcome; otherwise the
// state of the newest transaction stays.
func (j *Journal) ended(outcome State) State {
	if j.State == Swapped || j.State == RollingBack {
		return outcome
	}
	return j.State
}

// gaveWay reports whether a pending change removed the live file, because the base has the release's file or because the
// release has dropped it.
func (j *Journal) gaveWay(live string) bool {
	return slices.ContainsFunc(j.lists.Undo, func(u undo) bool { return u.Live == live && u.Gone })
}

// library is the module that a transaction replaces; otherwise own.
func (j *Journal) library(own string) string {
	if i := slices.IndexFunc(j.lists.Files, func(e entry) bool { return e.Kind == Module }); i >= 0 {
		return j.lists.Files[i].Live
	}
	return own
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

// changes reports whether the transaction leads to another set, rather than only repairing this one. Missed companions do
// not count: a companion that is locked at every start must not look like a set that never proves itself.
func (j *Journal) changes(missed []string) bool {
	return slices.ContainsFunc(j.lists.Files, func(e entry) bool { return !e.Repair && !slices.Contains(missed, e.Live) })
}
