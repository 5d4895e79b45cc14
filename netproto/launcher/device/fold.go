package device

import (
	"path"
	"strings"

	"collet/netproto/launcher/wire"
)

// foldsCase reports whether names that differ in case are one file here, as on Windows and macOS.
func (d *disk) foldsCase() bool {
	_, err := d.fsys.Lstat(strings.ToUpper(wire.StateFolder))
	return err == nil
}

// otherSpelling reports whether what answers to a name is spelled otherwise, itself or a folder above it. Then it is another
// file of the desk: deleting "Map" after "map" was written must not take "map" away.
func (d *disk) otherSpelling(name string) bool {
	if !d.folds {
		return false
	}
	for ; name != "."; name = path.Dir(name) {
		entries, err := d.fsys.ReadDir(path.Dir(name))
		if err != nil {
			return false
		}
		exact, other := false, false
		for _, e := range entries {
			exact = exact || e.Name() == path.Base(name)
			other = other || strings.EqualFold(e.Name(), path.Base(name))
		}
		if !exact && other {
			return true
		}
	}
	return false
}
