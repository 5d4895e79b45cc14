package device

import (
	"path"
	"strings"

	"collet/netproto/launcher/wire"
)

// foldsCase reports whether this file system ignores case in names, as on Windows and macOS.
func (d *disk) foldsCase() bool {
	_, err := d.fsys.Lstat(strings.ToUpper(wire.StateFolder))
	return err == nil
}

// otherSpelling reports whether the file or a parent that a name resolves to is spelled differently. Then it is another
// file of the desk: after "map" was written, deleting "Map" must not delete "map".
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
