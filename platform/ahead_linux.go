package platform

import (
	"os"

	"golang.org/x/sys/unix"
)

// WriteAhead starts writing the bytes from..to of an open file back to the disk, with sync_file_range(2), so that a later Sync has
// less to do. It does not wait, guarantees nothing, and ignores other implementations of File.
func WriteAhead(f File, from, to int64) {
	if disk, is := f.(*os.File); is {
		if raw, err := disk.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				_ = unix.SyncFileRange(int(fd), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
			})
		}
	}
}
