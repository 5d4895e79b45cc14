package platform

import (
	"errors"
	"os"
	"path"
)

var (
	// ErrLocked says that another process holds the lock.
	ErrLocked = errors.New("another process holds the lock")
	// ErrTooLong says that a file has more bytes than its reader takes.
	ErrTooLong = errors.New("file is longer than it may be")
)

// WriteFile replaces name by data so that a stop at any moment leaves the old or the new content under name, never a
// mixture: it writes name + ".new", syncs it, renames it over name and syncs the folder. When it returns an error the old
// content may still be there or the new one already; a second call overwrites whatever the first left under ".new".
func WriteFile(fsys FS, name string, data []byte) error {
	temp := name + ".new"
	f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if err = writeSynced(f, data); err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	return fsys.SyncDir(path.Dir(name))
}

func writeSynced(f File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// unsupported keeps the system's own word beside errors.ErrUnsupported.
func unsupported(err error) error { return errors.Join(errors.ErrUnsupported, err) }
