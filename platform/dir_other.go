//go:build unix && !linux && !darwin

package platform

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// exchange is not supported on the remaining systems.
func exchange(_ *os.File, _ string, _ *os.File, _ string) error { return errors.ErrUnsupported }

// inode is not read on the remaining systems, where it was not tested.
func inode(fs.FileInfo) (number uint64, changed time.Time) { return 0, time.Time{} }
