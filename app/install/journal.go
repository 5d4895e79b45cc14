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

	"collet/netproto/release"
	"collet/platform"
)

// State is where a transaction is. The words stand in the journal.
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

// maxJournal is the largest slot in bytes that is written or read. A record has some hundred bytes, and a transaction
// some ten records.
const maxJournal = 1 << 20

// maxNamed is how many names a record has room for, be they as long as they may.
const maxNamed = 500

// record is one line of the journal. The fields that name a transaction stand in the first record of a slot and in no
// other; Number is never 0 there.
type record struct {
	Number uint64         `json:"number,omitempty"` // first: the transaction, counted from 1
	Build  release.Digest `json:"build,omitzero"`   // first: the identity of the set that it leads to
	Lists  release.Digest `json:"lists,omitzero"`   // first: SHA-256 of the slot's lists
	State  State          `json:"state"`
	Proven string         `json:"proven,omitempty"` // the set with this module has proven itself
	Back   string         `json:"back,omitempty"`   // the set with this module is on its way back
	Tries  []Try          `json:"tries,omitzero"`   // the whole list, as it is from here on; absent means unchanged

	Missed  []string `json:"missed,omitempty"`  // swapped: companions that stayed what they were
	Stay    []string `json:"stay,omitempty"`    // rolled-back: new files that are live all the same, because there was no way back
	Mixed   []string `json:"mixed,omitempty"`   // rolled-back: files that are missing or another release's, for the same reason
	Dropped bool     `json:"dropped,omitempty"` // the backups of what has proven itself are gone
	Clean   bool     `json:"clean,omitempty"`   // nothing waits for its proof, and no backup is left
}

// Journal is what the records of the newest valid slot add up to, with the slot's lists. The zero value is an install
// that never had a transaction.
type Journal struct {
	Number uint64
	Build  release.Digest
	State  State
	Clean  bool
	Tries  []Try

	lists  lists          // as they are after the records; see lists.apply
	listed release.Digest // what the slot's lists have to be
	loaded bool           // lists were read
	events []record       // records that change the lists, until they are loaded
	slot   int            // 0 or 1: where it stands
	size   int64          // bytes of the slot that are valid; the next record goes there
}

// journalMark tells two states of a journal apart.
type journalMark struct {
	number uint64
	size   int64
}

func (j *Journal) mark() journalMark { return journalMark{j.Number, j.size} }

// apply adds one record.
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

// encode makes one line: eight hex digits of the CRC-32C of the JSON text, a space, the JSON text, a newline.
func (r record) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s %s\n", checksum(text), text), nil
}

func checksum(text []byte) []byte { return fmt.Appendf(nil, "%08x", crc32.Checksum(text, castagnoli)) }

// decodeRecord reads one line without its newline. ok is false when the checksum is not that of the text, or the text is
// not that of a record.
func decodeRecord(line []byte) (r record, ok bool) {
	sum, text, _ := bytes.Cut(line, []byte(" "))
	ok = bytes.Equal(sum, checksum(text)) && json.Unmarshal(text, &r) == nil
	return r, ok
}

// decodeJournal adds up the records of a slot and stops at the first line that is torn, damaged or out of place. ok is
// false when not even the first record is whole: then the slot counts as absent.
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

func slotName(slot int) string  { return path.Join(StateDir, fmt.Sprintf("journal.%d", slot)) }
func listsName(slot int) string { return path.Join(StateDir, fmt.Sprintf("lists.%d", slot)) }

// loadJournal reads both slots and returns the newer valid one, or the zero Journal. A slot that can't be read is an
// error, and not absent: the one before it would tell of an older disk. Of a slot that is longer than limit, which none of
// ours is, as much is read. The lists of a slot that is not clean belong to it: without them it counts as absent.
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

// orFirst lets the first transaction of an install begin in slot 0.
func (j Journal) orFirst() Journal {
	if j.Number == 0 {
		j.slot = 1
	}
	return j
}

// load reads the slot's lists and brings them up to date. ok is false when they are not those that the slot names.
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

// begin starts a transaction in the other slot, so that the records and lists of the one before outlive a torn write. The
// name of StateDir itself must be on the disk already.
func (j *Journal) begin(fsys platform.FS, build release.Digest, l lists) error {
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
	if err = writeSynced(fsys, listsName(next.slot), text); err != nil {
		return err // the records of the new slot are as they were
	}
	if err = next.write(fsys, first); err == nil {
		err = fsys.SyncDir(StateDir)
	}
	if err != nil {
		// What comes next is written behind the old records, so the new slot must not be the newer one.
		return errors.Join(err, removeIfThere(fsys, slotName(next.slot)), fsys.SyncDir(StateDir))
	}
	*j = next
	return nil
}

// write adds one record behind the valid ones, which cuts off whatever an interrupted write left there, and returns when
// it is on the disk. After an error the journal is as it was, as far as this process knows; on disk the record may be
// whole, which is as good: what it says was true before it was written.
func (j *Journal) write(fsys platform.FS, r record) error {
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

// writeSynced writes a whole file whose name is synced later.
func writeSynced(fsys platform.FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// removeIfThere is Remove without an error for a file that is not there.
func removeIfThere(fsys platform.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
