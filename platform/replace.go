package platform

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

var (
	// ErrLocked says that another process holds the lock.
	ErrLocked = errors.New("another process holds the lock")
	// ErrNoFile says that a name is a link, a pipe or a device in the place of a file.
	ErrNoFile = errors.New("a link, a pipe or a device stands where a file belongs; move it away")
	// ErrTooLong says that a file is longer than its reader's limit.
	ErrTooLong = errors.New("file is longer than it may be")
)

// WriteFile replaces name by data atomically: a crash leaves the old or the new content. It writes name + ".new", syncs it, renames it
// over name and syncs the folder. After an error name may have the old or the new content. A second call overwrites a leftover ".new".
func WriteFile(fsys FS, name string, data []byte) error {
	if err := replace(fsys, name, data, File.Sync); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// WriteHint is WriteFile without any sync, for caches: a killed process leaves the old or the new content, but after a power cut the
// content is arbitrary. Readers must check it and work without it.
func WriteHint(fsys FS, name string, data []byte) error {
	return replace(fsys, name, data, func(File) error { return nil })
}

// replace writes name + ".new", calls last to sync it, and renames it over name.
func replace(fsys FS, name string, data []byte, last func(File) error) error {
	temp := name + ".new"
	f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = last(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	return nil
}

// unsupported joins the system's error with errors.ErrUnsupported.
func unsupported(err error) error { return errors.Join(errors.ErrUnsupported, err) }

// RemoveIfThere removes a file or an empty folder. A missing one is not an error.
func RemoveIfThere(fsys FS, name string) error {
	if err := fsys.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
