package platform

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// exchange has no system call on Windows.
func exchange(_ *os.File, _ string, _ *os.File, _ string) error { return errors.ErrUnsupported }

// syncDir has no meaning on Windows: NTFS logs its metadata, and FlushFileBuffers on a folder is denied.
func syncDir(*os.File) error { return nil }

// inode is not in what FindFirstFile returns, so there is none.
func inode(fs.FileInfo) (number uint64, changed time.Time) { return 0, time.Time{} }

// free asks GetDiskFreeSpaceEx for the bytes this user may still take.
func free(path string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var available, total uint64
	err = windows.GetDiskFreeSpaceEx(name, &available, &total, nil)
	if err == nil {
		err = sized(total)
	}
	if err != nil {
		return 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: path, Err: err}
	}
	return available, nil
}
