package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
)

// maxGuard is the largest install.GuardFile in bytes: a few names and a digest.
const maxGuard = 4096

// guard is the content of that file: the loop guard, which detects an update that does not help. It is advisory: a file that can't be
// read or written counts as empty.
type guard struct {
	Offer  update.Offer `json:"offer"`
	Before string       `json:"before"` // the set that the update replaces; while it is installed, the update was not tried. Empty: no set
}

// applied is the offer that the last update installed; zero while its swap is pending or after it was rolled back.
func (d *disk) applied() update.Offer {
	if d.fs == nil || d.dir == nil || d.dir.State() == install.Prepared {
		return update.Offer{}
	}
	data, err := platform.ReadFile(d.fs, d.guardName(), maxGuard)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Debug().Err(err).Msg("record of the last update not readable")
		}
		return update.Offer{}
	}
	var g guard
	if err := json.Unmarshal(data, &g); err != nil || g.Before != "" && g.Before == d.installed() {
		return update.Offer{}
	}
	return g.Offer
}

// installed names the installed set; empty if unknown.
func (d *disk) installed() string {
	set, _, err := d.dir.Set()
	if err != nil || set.IsZero() {
		return ""
	}
	return set.String()
}

// guardUpdate records an update whose swap is pending, or one that found everything installed already.
func (d *disk) guardUpdate(o update.Offer) {
	if o == (update.Offer{}) {
		d.dropGuard()
		return
	}
	d.guarded = true
	g := guard{Offer: o}
	if d.dir.State() == install.Prepared {
		g.Before = d.installed()
	}
	data, err := json.Marshal(g)
	if err == nil {
		err = d.fs.MkdirAll(path.Dir(d.guardName()), 0o755)
	}
	if err == nil {
		err = platform.WriteFile(d.fs, d.guardName(), data)
	}
	if err != nil {
		d.log.Debug().Err(err).Msg("record of this update not written")
	}
}

// dropGuard removes the record of the last update: it helped, or its offer is unknown.
func (d *disk) dropGuard() {
	if d.fs == nil {
		return
	}
	if err := platform.RemoveIfThere(d.fs, d.guardName()); err != nil {
		d.log.Debug().Err(err).Msg("record of the last update not removed")
	}
}

func (d *disk) guardName() string {
	return path.Join(filepath.ToSlash(d.settings.Baking.CacheResources), install.GuardFile)
}

// loopCode is the code of an update that did not help, for support.
func loopCode(o update.Offer) string { return fmt.Sprintf("R%d-%d-%.8s", o.Rule, o.Revision, o.Hash) }
