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

// State is where a transaction is. The words stand in the journal.
type State string

const (
	None       State = ""
	Staging    State = "staging"
	Prepared   State = "prepared"
	Swapped    State = "swapped"
	Confirmed  State = "confirmed"
	RolledBack State = "rolled-back"
)

// maxJournal is the largest slot in bytes that is written or read: release.MaxSet files of 200 bytes each, which is usual,
// three times over.
const maxJournal = 128 << 20

// pendingModule is a swapped module that has not proven itself yet, or has, while its predecessor is still there.
type pendingModule struct {
	Live   string         `json:"live"`
	Digest release.Digest `json:"digest"`
	Backup release.Digest `json:"backup,omitzero"`  // what .bak holds; zero when there was no predecessor
	Proven bool           `json:"proven,omitempty"` // .bak is on its way out; without this, a .bak is not ours to remove
}

// record is one line of the journal. Pending is always the whole list, so that every record says itself what waits after
// it. Number, Files and Parts stand in the first record of a slot and in no other; Number is never 0 there.
type record struct {
	Number  uint64          `json:"number,omitempty"`
	State   State           `json:"state"`
	Files   []entry         `json:"files,omitempty"`
	Parts   []entry         `json:"parts,omitempty"`
	Pending []pendingModule `json:"pending,omitempty"`
}

// Journal is what the records of the newest valid slot add up to. The zero value is an install that never had a
// transaction.
type Journal struct {
	Number  uint64
	State   State
	Files   []entry         // what the transaction makes live, all of it or nothing
	Parts   []entry         // parts of earlier transactions that this one does not touch: they stay bound to their digests
	Pending []pendingModule // at most one for each live name
	slot    int             // 0 or 1: where it stands
	size    int64           // bytes of the slot that are valid; the next record goes there
}

func (j *Journal) apply(r record) {
	if r.Number != 0 {
		j.Number, j.Files, j.Parts = r.Number, r.Files, r.Parts
	}
	j.State, j.Pending = r.State, r.Pending
}

// pending finds the module under a live name that came with a swap and is not settled.
func (j *Journal) pending(live string) (p pendingModule, found bool) {
	i := slices.IndexFunc(j.Pending, func(p pendingModule) bool { return p.Live == live })
	if i < 0 {
		return pendingModule{}, false
	}
	return j.Pending[i], true
}

// unproven reports whether the module under a live name still has to prove itself.
func (j *Journal) unproven(live string) bool {
	p, found := j.pending(live)
	return found && !p.Proven
}

// pendingWithout is the list without a live name.
func (j *Journal) pendingWithout(live string) []pendingModule {
	return slices.DeleteFunc(slices.Clone(j.Pending), func(p pendingModule) bool { return p.Live == live })
}

// bound lists, by live name, what the parts on disk are meant to become. Those of a swapped transaction are gone.
func (j *Journal) bound() map[string]entry {
	parts := j.Parts
	if j.State != Swapped && j.State != Confirmed {
		parts = slices.Concat(parts, j.Files)
	}
	bound := make(map[string]entry, len(parts))
	for _, e := range parts {
		bound[e.Live] = e
	}
	return bound
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode makes one line: eight hex digits of the CRC-32C of the JSON text, a space, the JSON text, a newline.
func (r record) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return slices.Concat(checksum(text), []byte(" "), text, []byte("\n")), nil
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

func slotName(slot int) string { return path.Join(StateDir, fmt.Sprintf("journal.%d", slot)) }

// loadJournal reads both slots and returns the newer valid one, or the zero Journal. A slot that can't be read is an
// error, and not absent: the one before it would tell of an older disk. Of a slot that is longer than limit, which none of
// ours is, as much is read.
func loadJournal(fsys platform.FS, limit int64) (Journal, error) {
	best := Journal{slot: 1}
	for slot := range 2 {
		data, err := platform.ReadFile(fsys, slotName(slot), limit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, platform.ErrTooLong) {
			return Journal{}, err
		}
		if j, ok := decodeJournal(data); ok && j.Number > best.Number {
			best, best.slot = j, slot
		}
	}
	return best, nil
}

// begin starts a transaction in the other slot, so that the records of the one before outlive a torn write. parts are
// those of earlier transactions that stay as they are. The name of StateDir itself must be on the disk already.
func (j *Journal) begin(fsys platform.FS, files, parts []entry) error {
	next := Journal{slot: 1 - j.slot}
	first := record{Number: j.Number + 1, State: Staging, Files: files, Parts: parts, Pending: j.Pending}
	err := next.write(fsys, first)
	if err == nil {
		err = fsys.SyncDir(StateDir)
	}
	if err != nil {
		// What comes next is written behind the old records, so the new slot must not be the newer one.
		return errors.Join(err, fsys.Remove(slotName(next.slot)))
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
