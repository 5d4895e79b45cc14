package install

import (
	"errors"

	"collet/app/diskfault"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// FaultOf converts a disk error to a *update.Fault with a cause that the player can act on, and names the file. missing is
// the number of bytes still to be fetched. Faults and context errors pass unchanged; nil stays nil.
func FaultOf(fsys platform.FS, missing int64, err error) error {
	if err == nil || diskfault.Passes(err) {
		return err
	}
	var path *release.PathError
	if errors.As(err, &path) {
		return &update.Fault{Cause: update.Untrusted, Subject: path.Path, Err: err}
	}
	name, _ := diskfault.NameOf(fsys, err)
	if errors.Is(err, errNotEmpty) || errors.Is(err, errFileInTheWay) {
		return diskfault.InTheWay(fsys.Path(name), err)
	}
	return diskfault.Of(fsys, name, missing+diskfault.Reserve, err)
}
