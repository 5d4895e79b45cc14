package operator

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	bolt "go.etcd.io/bbolt"

	"collet/netproto/compat"
	"collet/platform"
)

// A store has a copy beside it. The copy is written after the full check at each start, and after each change of settings. It is
// written under another name and then renamed, so there is always a good copy.

// copySuffix and partSuffix end the names of a copy, and of a copy that is being written.
const (
	copySuffix = ".copy"
	partSuffix = ".copy.part"
)

// snapshotSuffix ends the name of what a Backup sends.
const snapshotSuffix = ".snapshot"

// Backup is the path of the copy of a store.
func Backup(path string) string { return path + copySuffix }

// Exists returns nil if a store or its copy exists, and a *StoreError otherwise. Opening reports damage.
func Exists(path string) error {
	if _, err := os.Stat(path); err == nil || hasBackup(path) {
		return nil
	}
	return &StoreError{Path: path, Err: errNoSettings, Hint: "start collet-server with these settings once"}
}

func hasBackup(path string) bool {
	_, err := os.Stat(Backup(path))
	return err == nil
}

// damageError is the error for an unusable file; it names the copy.
func damageError(path string, err error) error {
	fault := &StoreError{Path: path, Err: err, Hint: "the server does not start with settings that no operator chose"}
	if hasBackup(path) {
		fault.Backup = Backup(path)
	}
	return fault
}

// writeBackup replaces the copy.
func (s *FileStore) writeBackup() error {
	s.copying.Lock()
	defer s.copying.Unlock()
	dir, err := platform.OpenDir(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(s.path)
	part, err := dir.OpenFile(name+partSuffix, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, storeMode)
	if err != nil {
		return err
	}
	if err = closeWritten(part, s.copyTo(part)); err == nil {
		err = dir.Rename(name+partSuffix, name+copySuffix)
	}
	if err != nil {
		return err
	}
	return dir.SyncDir(".")
}

// closeWritten syncs and closes a file that was written with an error or without.
func closeWritten(f platform.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Backup implements Store. What it sends is written beside the store before: the file grows with each change while a transaction reads it, and
// w may be slow. The error is an *InputError while another one is sent.
func (s *FileStore) Backup(w io.Writer) (err error) {
	if !s.sending.TryLock() {
		return &InputError{Field: "backup", Why: "another one of this store is being sent: wait for that, or end it"}
	}
	defer s.sending.Unlock()
	defer s.dropSnapshot()
	snapshot, err := os.OpenFile(s.path+snapshotSuffix, os.O_CREATE|os.O_RDWR|os.O_TRUNC, storeMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if err := s.copyTo(snapshot); err != nil {
		return err
	}
	if _, err := snapshot.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(w, snapshot)
	return err
}

// dropSnapshot removes what a Backup has sent, or would have if the server had not ended.
func (s *FileStore) dropSnapshot() {
	if err := os.Remove(s.path + snapshotSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn().Err(err).Msg("The snapshot of a backup can't be removed")
	}
}

// copyTo writes the store as it is now.
func (s *FileStore) copyTo(w io.Writer) error {
	return s.db.View(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
}

// Backup writes the whole store, for actors with RoleAdmin: the names of accounts are in it. The errors are *ForbiddenError and those of the
// disk and of w.
func (o *Operator) Backup(by Actor, w io.Writer) error {
	if err := by.CheckRights(RoleAdmin, ""); err != nil {
		return err
	}
	return o.store.Backup(w)
}

// Summary is what a store has.
type Summary struct {
	Revision uint64 `json:"revision"`
	Records  uint64 `json:"records"`
	Floors   int    `json:"floors"` // accounts with a floor
}

// Inspect reads all of the store in a file, which no process has open, and verifies its chain. It changes nothing.
func Inspect(path string) (sum Summary, err error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return sum, &StoreError{Path: path, Err: errors.Join(err, errors.New("is no store"))}
	}
	if err := walkFile(path); err != nil {
		return sum, &StoreError{Path: path, Err: err}
	}
	err = catchFaults(func() error {
		db, err := bolt.Open(path, storeMode, &bolt.Options{Timeout: storePatience, ReadOnly: true})
		if err != nil {
			return err
		}
		defer db.Close()
		s := &FileStore{path: path, db: db}
		if err := db.View(func(tx *bolt.Tx) error {
			found, _, err := countValues(tx)
			sum = Summary(found)
			return errors.Join(err, found.compare(tx))
		}); err != nil {
			return err
		}
		_, err = (&AuditLog{store: s}).Verify()
		return err
	})
	if err != nil {
		err = &StoreError{Path: path, Err: err}
	}
	return sum, err
}

// restoreSuffix ends the name of a store that is being restored.
const restoreSuffix = ".restore"

// Restoring asks to restore a backup.
type Restoring struct {
	Backup  string // file
	Path    string // of the store
	Aside   string // suffix under which is kept what was there
	Founder string // node that founds a cluster anew with the backup, and does not start while the cluster still has another history; empty: none
	Engine  string // folder of the engine's files, which are moved aside; empty: none
}

// Restore puts a backup in the place of the store in a file, whose server must not run. What was there, damaged or not, is kept aside. The errors
// are *StoreError: then the store is as before, or only missing, and Restore can be called again, also after a power cut. The engine's files are
// moved before the store is: without them the store of before is founded again, and with them a restored one would get their history.
func Restore(r Restoring) (Summary, error) {
	backup, path := r.Backup, r.Path
	sum, err := Inspect(backup)
	if err != nil {
		return sum, err
	}
	for _, own := range []string{path, path + restoreSuffix} { // they are moved and written
		from, err := os.Stat(backup)
		if err != nil {
			return sum, &StoreError{Path: backup, Err: err}
		}
		if to, err := os.Stat(own); err == nil && os.SameFile(from, to) {
			return sum, &StoreError{Path: backup, Err: errors.New("is a file that a restore itself replaces"), Hint: "copy it to another name, and restore that"}
		}
	}
	if _, err := os.Stat(path); err == nil {
		s, err := OpenStore(path, zerolog.Nop())
		var fault *StoreError
		if errors.As(err, &fault) && fault.Held {
			return sum, err
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil && fault == nil {
			return sum, &StoreError{Path: path, Err: err}
		}
	}
	if err := r.put(); err != nil {
		return sum, &StoreError{Path: path, Err: err, Hint: "what was there is kept; restore it again"}
	}
	return sum, nil
}

func (r Restoring) put() error {
	from, err := os.Open(r.Backup)
	if err != nil {
		return err
	}
	defer from.Close()
	dir, err := platform.OpenDir(filepath.Dir(r.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(r.Path)
	part, err := dir.OpenFile(name+restoreSuffix, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, storeMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, from)
	if err := closeWritten(part, err); err != nil {
		return err
	}
	s := &FileStore{path: r.Path + restoreSuffix, log: zerolog.Nop(), floors: floorCounts{byFloor: map[int32]int{}}}
	if err := s.openFile(); err != nil {
		return err
	}
	err = s.Detach() // it may be a node's
	if err == nil && r.Founder != "" {
		err = errors.Join(s.noteFounding(r.Founder), s.SetProgress(Progress{New: true}))
	}
	if err := errors.Join(err, s.db.Close()); err != nil {
		return err
	}
	if r.Engine != "" {
		if err := moveAside(r.Engine, r.Aside); err != nil {
			return err
		}
	}
	if err := dir.Rename(name, name+r.Aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return errors.Join(dir.Rename(name+restoreSuffix, name), dir.SyncDir("."))
}

// noteFounding appends a record that a node founds its cluster anew with this store. So the history differs from the one before in any case, and a
// node with that, which was forgotten, is refused and brings nothing back.
func (s *FileStore) noteFounding(node string) error {
	before, err := s.Place()
	if err != nil {
		return err
	}
	_, head, err := s.Head()
	if err != nil {
		return err
	}
	records, err := s.Records(head+1, 1)
	if err != nil || len(records) == 0 { // an empty store has no history
		return err
	}
	before.Since = time.Time{}
	by := Actor{Name: "local", Source: compat.SourceCLI}
	record, err := MoveRecord(by, "founded anew from a backup", before, Place{Kind: KindNATS, Node: node})
	if err != nil {
		return err
	}
	record.Time = time.Now()
	return s.Commit(Commit{Record: compat.Chain(&records[0], record)})
}

// moveAside renames a folder that may be missing, and returns when the disk has that.
func moveAside(folder, aside string) error {
	if err := os.Rename(folder, folder+aside); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	parent, err := platform.OpenDir(filepath.Dir(folder))
	if err != nil {
		return err
	}
	return errors.Join(parent.SyncDir("."), parent.Close())
}

// catchFaults runs read on a mapped file that may be damaged: panics and memory faults become errors.
func catchFaults(read func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("is damaged: %v", fault)
		}
	}()
	return read()
}
