package platform

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// bootID is sysctl(3) kern.bootsessionuuid, which is random for each boot, or kern.boottime if that is missing.
func bootID() string {
	if id, err := unix.Sysctl("kern.bootsessionuuid"); err == nil && id != "" {
		return id
	}
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(boot.Sec, 10)
}

// holders is not implemented: only libproc reports them, for processes of the same user.
func holders(string) []Holder { return nil }

// volumeOf is f_mntonname of statfs(2).
func volumeOf(path string) string {
	var stat unix.Statfs_t
	if err := unix.Statfs(existing(path), &stat); err != nil {
		return path
	}
	if point := unix.ByteSliceToString(stat.Mntonname[:]); point != "" {
		return point
	}
	return path
}
