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

// guard is what that file says: the loop guard of compat reference, section 3.8. It is only ever a brake; what can't be read
// or written counts as nothing.
type guard struct {
	Offer  update.Offer `json:"offer"`
	Before string       `json:"before"` // the set that it replaces: while that is installed, or again, the update has not been tried. Empty: it replaces nothing
}

// applied is what the last update installed, unless it waits for its swap or was taken back; zero otherwise.
func (d *disk) applied() update.Offer {
	if d.fs == nil || d.dir == nil || d.dir.State() == install.Prepared {
		return update.Offer{}
	}
	data, err := platform.ReadFile(d.fs, d.guardName(), maxGuard)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Debug().Err(err).Msg("what the last update was can't be read")
		}
		return update.Offer{}
	}
	var g guard
	if err := json.Unmarshal(data, &g); err != nil || g.Before != "" && g.Before == d.installed() {
		return update.Offer{}
	}
	return g.Offer
}

// installed names the set that is installed; empty while none is known.
func (d *disk) installed() string {
	set, _, err := d.dir.Set()
	if err != nil || set.IsZero() {
		return ""
	}
	return set.String()
}

// guardUpdate notes an update that waits for its swap, or that found everything in place already.
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
		d.log.Debug().Err(err).Msg("what this update was can't be written")
	}
}

// dropGuard forgets the last update: it helped, or nothing is known of it.
func (d *disk) dropGuard() {
	if d.fs == nil {
		return
	}
	if err := d.fs.Remove(d.guardName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Debug().Err(err).Msg("what the last update was can't be removed")
	}
}

func (d *disk) guardName() string {
	return path.Join(filepath.ToSlash(d.settings.Baking.CacheResources), install.GuardFile)
}

// loopCode is what a player reports of an update that did not help.
func loopCode(o update.Offer) string { return fmt.Sprintf("R%d-%d-%.8s", o.Rule, o.Revision, o.Hash) }
