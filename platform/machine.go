package platform

import (
	"path/filepath"
)

// BootID is a text that changes with each boot of the machine, and only then as far as the system knows: on Windows setting the clock
// changes it, too. It is empty if unknown. In a container it is the machine's.
func BootID() string { return bootID() }

// Holder is a process that has a file open or mapped.
type Holder struct {
	PID  int
	Name string // the system's name of the process; shortened by some systems, and empty if unknown
}

// maxHolders is how many holders are returned: as many as a message can name.
const maxHolders = 8

// Holders lists the other processes that have a file open or mapped, as far as this user may see them. It is for messages: it takes up
// to two seconds on a busy machine, and the result may be outdated when it returns. nil means unknown or none. path is absolute.
func Holders(path string) []Holder { return holders(path) }

// VolumeOf is the volume of path, as the system names it: the mount point, on Windows the drive or folder where it is mounted. For a
// path that does not exist, it is the volume of the nearest existing folder above. If unknown it is path itself. path is absolute.
func VolumeOf(path string) string { return volumeOf(path) }

// existing is path, or the nearest folder above it that exists, with links resolved.
func existing(path string) string {
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		above := filepath.Dir(path)
		if above == path {
			return path
		}
		path = above
	}
}
