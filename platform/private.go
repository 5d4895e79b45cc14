package platform

import (
	"fmt"
	"io/fs"
	"os"
)

// PrivateFolder makes the folder path, and the ones above it, if they are not there, and closes it to other users. The error says
// why it can't be trusted: it is another user's, or others could write to it until now. On Windows folders inherit who may use
// them, and nothing is changed or checked.
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

// CheckPrivate is an error unless the file or socket path belongs to this user and others may do nothing with it. Links are not
// followed. On Windows only its presence is checked.
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
