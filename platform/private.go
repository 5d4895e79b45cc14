package platform

import (
	"fmt"
	"io/fs"
	"os"
)

// PrivateFolder creates the folder path and its parents, if missing, and removes all access for other users. It returns an error if the
// folder can't be trusted: another user owns it, or others could write to it so far. On Windows folders inherit their permissions, and
// no permission is changed or checked.
func PrivateFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := ownedByUs(info); err != nil {
		return &fs.PathError{Op: "use", Path: path, Err: err}
	}
	switch others := othersMay(info); {
	case others&0o022 != 0:
		return &fs.PathError{Op: "use", Path: path, Err: fmt.Errorf("others can write to it (mode %04o): look at what lies there, then run chmod 700", info.Mode().Perm())}
	case others != 0:
		return f.Chmod(0o700)
	}
	return nil
}

// CheckPrivate returns an error unless this user owns the file or socket path and others have no access. Links are not followed. On
// Windows only its existence is checked.
func CheckPrivate(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := ownedByUs(info); err != nil {
		return &fs.PathError{Op: "use", Path: path, Err: err}
	}
	if others := othersMay(info); others != 0 {
		return &fs.PathError{Op: "use", Path: path, Err: fmt.Errorf("others can use it (mode %04o)", info.Mode().Perm())}
	}
	return nil
}
