package host

import (
	"context"
	"errors"

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

// closeBase closes what openFolders may not have opened.
func closeBase(base platform.FS) error {
	if base == nil {
		return nil
	}
	return base.Close()
}

// packArgs tells the game where its packs are: docs/ABI.md, "Packs".
func (d *disk) packArgs() []string {
	folders := d.packFolders()
	args := []string{"--ClientResources", folders[0]}
	if len(folders) == 1 {
		return args
	}
	args = append(args, "--ClientResourcesPatched", folders[1])
	if d.dir == nil {
		return args
	}
	list, err := d.dir.PacksList()
	if err != nil {
		d.log.Warn().Err(err).Msg("all delivered packs count")
	}
	if list != "" {
		args = append(args, "--ClientResourcesList", list)
	}
	return args
}

// unfinished reports whether an install that can't be opened may hold half of a set. It changes nothing.
func (d *disk) unfinished(ctx context.Context) bool {
	fsys, base, err := d.openFolders()
	if err != nil {
		return true
	}
	defer func() { _ = errors.Join(fsys.Close(), closeBase(base)) }() // they were only read
	found, err := install.InspectAbove(ctx, fsys, base, d.names(), false)
	return err != nil || found.State == install.Prepared || found.State == install.RollingBack || len(found.Mixed) > 0
}
