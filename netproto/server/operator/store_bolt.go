package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"collet/netproto/compat"
)

// The buckets of a store's file.
const (
	bucketSettings  = "settings"  // keyNow → the document in force; keyHead → head
	bucketRevisions = "revisions" // u64 → document of every revision
	bucketAudit     = "audit"     // u64 → record
	bucketFloors    = "floors"    // account → i32, in stores of earlier versions; empty since
	bucketFloorSets = "floorsets" // u16 → floorSet
	bucketTokens    = "tokens"    // keyNow
)

// keyNow is the key of single values.
var keyNow = []byte("now")

// keyHead is the key of the counts of all values, which reveal losses.
var keyHead = []byte("head")

const (
	// storeMode are the permissions of the file, which contains account names.
	storeMode os.FileMode = 0o600
	// storePatience is how long to wait for another process with the file open: a restarted server ends within it.
	storePatience = 3 * time.Second
	// sumSize is the size in bytes of the SHA-256 before each value.
	sumSize = 32
)

// FileStore is the Store in one file of bbolt. A commit writes new pages, syncs, and then writes and syncs the meta page, so a
// power cut leaves all of it or nothing. A SHA-256 precedes every value, because the file's own checksums cover only the meta
// page.
type FileStore struct {
	path    string
	log     zerolog.Logger
	db      *bolt.DB
	backups sync.WaitGroup
	copying sync.Mutex // one copy at a time
	sending sync.Mutex // one Backup at a time

	floors floorCounts
}

// OpenStore opens the store in a file, and creates a missing one. The errors are *StoreError: a damaged file is never replaced by
// an empty one. The caller closes the store. Later errors of writing its copy are only logged.
func OpenStore(path string, log zerolog.Logger) (*FileStore, error) {
	s, err := (&FileStore{path: path, log: log}).Reopen()
	if err != nil {
		return nil, err
	}
	if err := s.WriteCopy(); err != nil {
		s.db.Close()
		return nil, err
	}
	return s, nil
}

// Reopen opens a closed store again, as OpenStore does, and writes no copy: for a server that had closed it for another process.
func (s *FileStore) Reopen() (*FileStore, error) {
	again := &FileStore{path: s.path, log: s.log, floors: floorCounts{byFloor: map[int32]int{}}}
	if err := again.openFile(); err != nil {
		return nil, err
	}
	again.dropSnapshot()
	return again, nil
}

// WriteCopy replaces the copy. The error is a *StoreError.
func (s *FileStore) WriteCopy() error {
	if err := s.writeBackup(); err != nil {
		return &StoreError{Path: s.path, Err: err, Hint: fmt.Sprintf("its copy %q can't be written: make that place free and the folder writable for the server", Backup(s.path))}
	}
	return nil
}

// openFile opens the file and checks all of it.
func (s *FileStore) openFile() error {
	if info, missing := os.Stat(s.path); (missing != nil || info.Size() == 0) && hasBackup(s.path) {
		return damageError(s.path, errors.New("is gone or empty, but its copy is there"))
	}
	if err := walkFile(s.path); err != nil && !errors.Is(err, os.ErrPermission) {
		if err = walkFile(s.path); err != nil { // at the first try another process may have been writing
			return damageError(s.path, err)
		}
	}
	// The free list is rebuilt: the file has no checksum of a stored one.
	opt := &bolt.Options{Timeout: storePatience, FreelistType: bolt.FreelistMapType, NoFreelistSync: true}
	var db *bolt.DB
	err := catchFaults(func() (err error) {
		db, err = bolt.Open(s.path, storeMode, opt)
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return &StoreError{Path: s.path, Held: true, Err: errors.New("another process has it open"), Hint: "one server has one store: stop the other, or set Compat.Store to another file"}
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return &StoreError{Path: s.path, Err: err, Hint: "its folder must be there and writable for the server"}
	case err != nil:
		return damageError(s.path, err)
	}
	s.db = db
	if err := catchFaults(func() error { return s.checkFile() }); err != nil {
		db.Close()
		return damageError(s.path, err)
	}
	return nil
}

// buckets are the names of the buckets that every store has.
func buckets() []string {
	return []string{bucketSettings, bucketRevisions, bucketAudit, bucketFloors, bucketTokens}
}

// head has the counts of the stored values.
type head struct {
	Revision uint64 // the newest; 0 is none
	Records  uint64
	Floors   int
}

// checkFile reads every value, to find damage before it affects a judgement, and counts floors.
func (s *FileStore) checkFile() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	fresh := false
	err = s.db.View(func(tx *bolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("has %d bytes of %d", info.Size(), tx.Size())
		}
		if fresh = tx.ID() <= freshID; fresh {
			return nil
		}
		found, floors, err := countValues(tx)
		if err != nil {
			return err
		}
		s.floors.byFloor = floors
		return found.compare(tx)
	})
	switch {
	case err != nil:
		return err
	case !fresh:
		return s.db.Update(sortFloors)
	case hasBackup(s.path):
		return errors.New("is new, but its copy is not")
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets() {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return errors.Join(changeHead(tx, func(*head) {}), sortFloors(tx))
	})
}

// freshID is the number of bbolt's own transaction in a new file.
const freshID = 1

// countValues reads and counts the stored values, and the accounts for each floor.
func countValues(tx *bolt.Tx) (found head, floors map[int32]int, err error) {
	floors = map[int32]int{}
	countFloor := func(_ []byte, floor int32) bool {
		floors[floor]++
		found.Floors++
		return true
	}
	for _, name := range slices.Concat(buckets(), []string{bucketFloorSets, bucketQueue, bucketShared}) {
		b := tx.Bucket([]byte(name))
		switch {
		case b == nil && slices.Contains(buckets(), name):
			return found, floors, fmt.Errorf("has no %s", name)
		case b == nil:
			continue
		}
		err := b.ForEach(func(key, sealed []byte) error {
			value, err := unseal([]byte(name), key, sealed)
			switch {
			case err != nil:
			case name == bucketFloors:
				countFloor(key, floorOf(value))
			case name == bucketFloorSets:
				err = floorSet(value).each(countFloor)
			case name == bucketAudit:
				found.Records++
			case name == bucketRevisions:
				found.Revision = max(found.Revision, numberOf(key))
			}
			return err
		})
		if err != nil {
			return found, floors, err
		}
	}
	return found, floors, nil
}

// compare compares counted values with the counts that were written.
func (h head) compare(tx *bolt.Tx) error {
	want, err := headOf(tx)
	now := tx.Bucket([]byte(bucketSettings)).Get(keyNow)
	if err == nil && (h != want || (now == nil) != (want.Revision == 0)) {
		err = fmt.Errorf("has %+v where %+v was written", h, want)
	}
	return err
}

// headOf reads the counts.
func headOf(tx *bolt.Tx) (h head, err error) {
	value, err := readSealed(tx, bucketSettings, keyHead)
	if err == nil {
		err = json.Unmarshal(value, &h)
	}
	return h, err
}

// changeHead changes the counts in the same transaction as the counted values.
func changeHead(tx *bolt.Tx, change func(*head)) error {
	h := head{}
	if tx.Bucket([]byte(bucketSettings)).Get(keyHead) != nil {
		var err error
		if h, err = headOf(tx); err != nil {
			return err
		}
	}
	change(&h)
	value, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return putValue(tx, bucketSettings, keyHead, value)
}

// Settings implements Store.
func (s *FileStore) Settings() (document []byte, build string, err error) {
	value, err := s.readValue(bucketSettings, keyNow)
	if err != nil || value == nil {
		return nil, "", err
	}
	var now struct {
		Build    string
		Document []byte
	}
	err = json.Unmarshal(value, &now)
	return now.Document, now.Build, err
}

// Revision implements Store.
func (s *FileStore) Revision(number uint64) ([]byte, error) {
	value, err := s.readValue(bucketRevisions, numberKey(number))
	if err == nil && value == nil {
		err = ErrUnknown
	}
	return value, err
}

// Commit implements Store.
func (s *FileStore) Commit(c Commit) error {
	was := int32(0)
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		if err := putSettings(tx, c); err != nil {
			return err
		}
		if c.Tokens != nil {
			if err := putTokens(tx, *c.Tokens); err != nil {
				return err
			}
		}
		if c.Floor != nil {
			if was, err = putFloor(tx, *c.Floor); err != nil {
				return err
			}
		}
		return putRecord(tx, c.Record)
	})
	if err != nil {
		return err
	}
	if c.Floor != nil {
		s.floors.moveAccount(was, c.Floor.Floor)
	}
	if c.Document != nil {
		s.backups.Go(func() {
			if err := s.writeBackup(); err != nil {
				s.log.Error().Err(err).Str("copy", Backup(s.path)).Msg("The copy of the compatibility store can't be written; the store itself is whole")
			}
		})
	}
	return nil
}

// putSettings puts the settings of a change into force, if it has any.
func putSettings(tx *bolt.Tx, c Commit) error {
	if c.Document == nil {
		return nil
	}
	h, err := headOf(tx)
	if err != nil {
		return err
	}
	if h.Revision+1 != c.Revision {
		return &StaleError{Asked: c.Revision - 1, Current: h.Revision}
	}
	now, err := json.Marshal(struct {
		Build    string
		Document []byte
	}{c.Record.Build, c.Document})
	if err != nil {
		return err
	}
	return errors.Join(
		changeHead(tx, func(h *head) { h.Revision = c.Revision }),
		putValue(tx, bucketSettings, keyNow, now),
		putValue(tx, bucketRevisions, numberKey(c.Revision), c.Document))
}

// putRecord appends a record that follows the newest one.
func putRecord(tx *bolt.Tx, record compat.Audit) error {
	h, err := headOf(tx)
	if err != nil {
		return err
	}
	if record.Seq != h.Records+1 {
		return fmt.Errorf("audit record %d can't follow record %d: %w", record.Seq, h.Records, ErrMoved)
	}
	if err := changeHead(tx, func(h *head) { h.Records++ }); err != nil {
		return err
	}
	return errors.Join(putPlace(tx, record), putValue(tx, bucketAudit, numberKey(record.Seq), record.Line()))
}

// Records implements Store.
func (s *FileStore) Records(before uint64, limit int) ([]compat.Audit, error) {
	records, size := []compat.Audit{}, 0
	err := s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket([]byte(bucketAudit)).Cursor()
		key, value := c.Last()
		if before > 0 {
			if key, _ = c.Seek(numberKey(before)); key == nil {
				key, value = c.Last()
			} else {
				key, value = c.Prev()
			}
		}
		for ; key != nil && len(records) < limit; key, value = c.Prev() {
			line, err := unseal([]byte(bucketAudit), key, value)
			if err != nil {
				return err
			}
			var record compat.Audit
			if err := json.Unmarshal(line, &record); err != nil {
				return fmt.Errorf("audit record %d: %w", numberOf(key), err)
			}
			records = append(records, record)
			if size += len(line); size >= maxRecordBytes {
				return nil
			}
		}
		return nil
	})
	return records, err
}

// Log implements Store. It reads in its own transaction, so changes continue meanwhile.
func (s *FileStore) Log() (io.ReadCloser, uint64, error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, 0, err
	}
	h, err := headOf(tx)
	if err != nil {
		return nil, 0, errors.Join(err, tx.Rollback())
	}
	return &boltLog{tx: tx, cursor: tx.Bucket([]byte(bucketAudit)).Cursor()}, h.Records, nil
}

// boltLog reads the records of one transaction.
type boltLog struct {
	tx      *bolt.Tx
	cursor  *bolt.Cursor
	rest    []byte
	started bool
}

// Read implements io.Reader.
func (l *boltLog) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		next := l.cursor.Next
		if !l.started {
			next, l.started = l.cursor.First, true
		}
		key, value := next()
		if key == nil {
			return 0, io.EOF
		}
		if len(value) > sumSize { // the hash is not checked here: verifying the chain finds damage too, and its place
			l.rest = value[sumSize:]
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *boltLog) Close() error { return l.tx.Rollback() }

// Changed implements Store: no other process writes to the file.
func (s *FileStore) Changed() <-chan struct{} { return nil }

// Writable implements Store: the disk says so at the next write.
func (s *FileStore) Writable() error { return nil }

// Close implements Store.
func (s *FileStore) Close() error {
	s.backups.Wait()
	return s.db.Close()
}
