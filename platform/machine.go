package platform

import (
	"path/filepath"
)

// BootID is a text that is another one after each boot of the machine, and the same one until then as far as the system
// can tell: on Windows a clock that is set changes it, too. It is empty where it is not known. A container has that of its
// machine.
func BootID() string { return bootID() }

// Holder is a process that has a file open or mapped.
type Holder struct {
	PID  int
	Name string // what the system calls the process; shortened by some systems, and empty where it is not told
}

// maxHolders is how many holders are told: as many as a message can name.
const maxHolders = 8

// Holders tells which other processes have a file open or mapped, as far as the system says and lets this user see. It is
// for messages: it takes up to half a second, and what it says may be over when it returns. nil means: unknown, or nobody.
// path is absolute.
func Holders(path string) []Holder { return holders(path) }

// VolumeOf is the volume that path is on, in the words of the system: the mount point, on Windows the drive or folder at
// which it is mounted. What of path does not exist yet is taken to lie where its nearest existing folder does. Where the
// system does not say, it is path itself. path is absolute.
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
