package platform

import (
	"os"

	"golang.org/x/sys/unix"
)

// WriteAhead has the system begin to bring bytes from..to of an open file to the disk, with sync_file_range(2), so that less is
// left to do for Sync when the rest has arrived. It waits for nothing, promises nothing, and does nothing with a file of another
// kind.
func WriteAhead(f File, from, to int64) {
	if disk, is := f.(*os.File); is {
		if raw, err := disk.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				_ = unix.SyncFileRange(int(fd), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
			})
		}
	}
}
