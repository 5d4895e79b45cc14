package host

import (
	"collet/app/install"
	"collet/platform"
)

// disk is the install as this start has it open.
type disk struct {
	*setup
	fs      *platform.Dir
	below   platform.FS  // the install folder, where it is not the writable root; nil otherwise
	dir     *install.Dir // nil while the install could not be opened
	verify  bool         // the next look at the disk believes no cached digest
	swapped bool         // a module was swapped in by this process and has not run yet
	guarded bool         // an update of this process is guarded against being asked for again
}

// confirm tells the install that the running module has proven itself. Failing only costs a later clean-up.
func (d *disk) confirm() {
	if d.dir == nil {
		return
	}
	if err := d.dir.Confirm(); err != nil {
		d.log.Warn().Err(err).Msg("module not confirmed")
	}
}
