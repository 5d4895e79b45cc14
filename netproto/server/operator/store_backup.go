package operator

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"collet/platform"
)

// A store has a copy beside it. The copy is written after the full check at each start, and after each change of settings. It is
// written under another name and then renamed, so there is always a good copy.

// copySuffix and partSuffix end the names of a copy, and of a copy that is being written.
const (
	copySuffix = ".copy"
	partSuffix = ".copy.part"
)

// Backup is the path of the copy of a store.
func Backup(path string) string { return path + copySuffix }

// Exists is nil if a store or its copy exists, and a *StoreError otherwise. Opening reports damage.
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
	err = s.db.View(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(part)
		return err
	})
	if err == nil {
		err = part.Sync()
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = dir.Rename(name+partSuffix, name+copySuffix)
	}
	if err != nil {
		return err
	}
	return dir.SyncDir(".")
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
