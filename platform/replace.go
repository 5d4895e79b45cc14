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
	// ErrNoFile says that a name which belongs to a file stands for something else.
	ErrNoFile = errors.New("a link, a pipe or a device stands where a file belongs; move it away")
	// ErrTooLong says that a file has more bytes than its reader takes.
	ErrTooLong = errors.New("file is longer than it may be")
)

// WriteFile replaces name by data so that a stop at any moment leaves the old or the new content under name, never a
// mixture: it writes name + ".new", syncs it, renames it over name and syncs the folder. When it returns an error the old
// content may still be there or the new one already; a second call overwrites whatever the first left under ".new".
func WriteFile(fsys FS, name string, data []byte) error {
	if err := replace(fsys, name, data, File.Sync); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// WriteHint is WriteFile without any sync, for what is only a saving: the end of the process leaves the old or the new
// content, and a power cut whatever it likes. Who reads it checks it, and does without.
func WriteHint(fsys FS, name string, data []byte) error {
	return replace(fsys, name, data, func(File) error { return nil })
}

// replace writes beside the file, makes that last, and renames it.
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

// unsupported keeps the system's own word beside errors.ErrUnsupported.
func unsupported(err error) error { return errors.Join(errors.ErrUnsupported, err) }

// RemoveIfThere removes a file. One that does not exist is no error.
func RemoveIfThere(fsys FS, name string) error {
	if err := fsys.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
