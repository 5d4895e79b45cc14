package host

import (
	"context"
	"errors"

	"collet/app/install"
	"collet/app/install/inspect"
	"collet/platform"
)

// disk is the install, opened by this start.
type disk struct {
	*setup
	fs      *platform.Dir
	below   platform.FS  // the install folder, if it is not the writable root; nil otherwise
	dir     *install.Dir // nil while the install is not open
	verify  bool         // the next open ignores cached digests
	swapped bool         // this process swapped a module in that has not run yet
	guarded bool         // this process recorded an update in the loop guard
}

// confirm marks the running module as proven in the install. An error only delays the clean-up.
func (d *disk) confirm() {
	if d.dir == nil {
		return
	}
	if err := d.dir.Confirm(); err != nil {
		d.log.Warn().Err(err).Msg("module not confirmed")
	}
}

// closeBase closes a folder of openFolders that may be nil.
func closeBase(base platform.FS) error {
	if base == nil {
		return nil
	}
	return base.Close()
}

// packArgs are the game's arguments for its pack folders: docs/ABI.md, "Packs".
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
		d.log.Warn().Err(err).Msg("list of valid packs not readable; the game loads all packs")
	}
	if list != "" {
		args = append(args, "--ClientResourcesList", list)
	}
	return args
}

// unfinished reports whether an install that can't be opened may hold an incomplete set. It changes nothing.
func (d *disk) unfinished(ctx context.Context) bool {
	fsys, base, err := d.openFolders()
	if err != nil {
		return true
	}
	defer func() { _ = errors.Join(fsys.Close(), closeBase(base)) }() // they were only read
	found, err := inspect.Folder(ctx, fsys, base, d.names(), false)
	return err != nil || found.State == install.Prepared || found.State == install.RollingBack || len(found.Mixed) > 0
}
