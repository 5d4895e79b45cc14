//go:build !linux

package platform

import (
	"errors"
	"io/fs"
	"os"
)

// volume stands for the file system of a folder. This system can't sync one as a whole and report errors.
type volume struct{}

func openVolume(*os.Root) *volume { return nil }

func (*volume) has(fs.FileInfo) bool { return false }
func (*volume) isQuiet(int64) bool   { return false }
func (*volume) sync() error          { return errors.ErrUnsupported }
func (*volume) close() error         { return nil }
