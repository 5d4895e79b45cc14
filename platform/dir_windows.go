package platform

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// exchange is not supported: Windows has no system call for it.
func exchange(_ *os.File, _ string, _ *os.File, _ string) error { return errors.ErrUnsupported }

// syncDir does nothing on Windows: NTFS logs its metadata, and FlushFileBuffers on a folder is denied.
func syncDir(*os.File) error { return nil }

// inode is zero: FindFirstFile does not return it.
func inode(fs.FileInfo) (number uint64, changed time.Time) { return 0, time.Time{} }

// free returns the bytes of GetDiskFreeSpaceEx that this user may still use.
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

// freeFiles is not supported: the file systems of Windows have no separate limit for the number of files.
func freeFiles(path string) (uint64, error) {
	return 0, &os.PathError{Op: "freefiles", Path: path, Err: errors.ErrUnsupported}
}

// mayWrite checks only the read-only attribute of files: write permission for a folder can't be determined without trying.
func mayWrite(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return nil
}
