package publish

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"collet/platform"
)

// createFlags open a new file for writing.
const createFlags = os.O_CREATE | os.O_TRUNC | os.O_WRONLY

// dirty is a set of folders with unsynced names. It is safe for concurrent use.
type dirty struct {
	mu      sync.Mutex
	folders map[string]bool
}

// addFile records that the folder of a file has new names.
func (d *dirty) addFile(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.folders == nil {
		d.folders = map[string]bool{}
	}
	d.folders[name] = true
}

// folder creates a folder and records it.
func (d *dirty) folder(fsys platform.FS, name string) error {
	d.addFile(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	return makeFolders(fsys, name)
}

// syncAll syncs all recorded folders.
func (d *dirty) syncAll(fsys platform.FS) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.folders {
		if err := fsys.SyncDir(name); err != nil {
			return err
		}
		delete(d.folders, name)
	}
	return nil
}

// isMissing reports whether a file is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
