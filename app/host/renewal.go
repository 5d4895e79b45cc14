package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"collet/app/install"
	"collet/app/transfer"
	"collet/app/update"
	"collet/netproto/product"
	"collet/platform"
)

// This file is about this program's own file, which an update may replace where Update.Host says so. It has an install of its
// own beside that of the game (install.ProgramNames), so that nothing that goes wrong with it keeps the game from being updated
// or started. See trial.go for what happens between the fetching and the replacing.

// renewal is what one start knows of updates of its own program.
type renewal struct {
	dir       *install.Dir  // nil: this program stays as it is
	both      *install.Both // of the last update; nil: it was not about the program
	leave     bool          // this start has had enough of it
	told      bool          // why the program stays as it is was logged
	renewing  bool          // the last update offered the program alone, because the rest needs a newer one
	due       string        // the program that this one is to make room for, absolute; empty: none
	sponsored *sponsored    // this process is such a program in its trial; nil: it is not
}

// hostFacts are what decides whether this program may replace its own file.
type hostFacts struct {
	target  product.Target
	exe     string // of this program, absolute
	regular bool   // it is a file and no link
	install string // folder, absolute
	data    string // writable root
	base    string // name of the module
	trust   install.Trust
}

// frozen says why this program never replaces its own file; empty: it may.
func (f hostFacts) frozen() string {
	name := f.target.ProgramName(f.base)
	same := filepath.Base(f.exe) == name || f.target.System() == product.Windows && strings.EqualFold(filepath.Base(f.exe), name)
	switch {
	case f.data != f.install:
		return "it is installed, and whoever installed it brings a newer one"
	case filepath.Dir(f.exe) != f.install:
		return "it does not lie in the install folder" // also a macOS .app, whose signature is about all of its files
	case !same:
		return "its name is not that of the game"
	case !f.regular:
		return "its name is a link"
	case f.target != buildTarget():
		return "another target was asked for"
	case f.trust == install.TrustFNV:
		return "nothing but a checksum would vouch for a newer one"
	case f.trust == install.TrustNothing:
		return "nothing would vouch for a newer one: there is no trusted root, the server is reached without TLS, and Update.Trust is not set"
	}
	return ""
}

// ownFile is where this program belongs: in its trial it lies beside that.
func (h *host) ownFile() string { return cmp.Or(h.opt.Trial, h.exe) }

// hostFacts collects them.
func (h *host) hostFacts() hostFacts {
	info, err := os.Lstat(h.ownFile())
	return hostFacts{
		target: h.target, exe: h.ownFile(), regular: err == nil && info.Mode().IsRegular(),
		install: h.roots.install, data: h.roots.data, base: h.base, trust: h.trust(),
	}
}

// programNames is how the install of this program is laid out. Releases have it under the name that it was packed with.
func (h *host) programNames() install.Names {
	return install.ProgramNames(h.base, h.packed.Name, h.target.ProgramName(""))
}

// openRenewal opens the install of this program. Without it the program stays as it is.
func (h *host) openRenewal(ctx context.Context, fsys platform.FS) {
	r := &h.renewal
	if !h.settings.Update.Host || h.opt.KeepHost || h.opt.RemoteLauncher != "" || h.opt.Relaunched > maxReloads || r.leave {
		return
	}
	if why := h.hostFacts().frozen(); why != "" {
		if !r.told {
			h.log.Info().Str("why", why).Msg("this program is not updated")
		}
		r.told = true
		return
	}
	dir, err := install.Open(ctx, install.Config{
		FS: install.ProgramView(fsys), Names: h.programNames(),
		Log: h.log.With().Str("of", "host").Logger(), Verify: h.verify, Trust: h.trust(),
	})
	if err == nil && h.opt.Unblock {
		err = dir.Unblock()
	}
	if err != nil {
		h.log.Warn().Err(err).Msg("this program is not updated")
	}
	r.dir = dir
}

// closeRenewal lets go of it.
func (h *host) closeRenewal() error {
	r := &h.renewal
	dir := r.dir
	r.dir, r.both = nil, nil
	if dir == nil {
		return nil
	}
	return dir.Close()
}

// installed is an install as an update and what it comes from see it.
type installed interface {
	update.Stage
	transfer.Disk
}

// stage is what the next update is about.
func (h *host) stage() installed {
	r := &h.renewal
	r.both, r.renewing = nil, false
	if r.dir == nil || r.leave || r.sponsored != nil {
		return h.dir
	}
	r.both = install.WithProgram(h.dir, r.dir)
	return r.both
}

// renewable reports whether a newer program would be taken from a release.
func (h *host) renewable() bool { return h.renewal.both != nil && h.renewal.both.Renewable() }

// withoutHost looks at an update that has just ended. It reports whether another one is to be made that leaves this program as it
// is: where its bytes could not be had, or where they are of no use and the game waits for them.
func (h *host) withoutHost(ctx context.Context, status update.Status) bool {
	r := &h.renewal
	if r.both == nil || ctx.Err() != nil {
		return false
	}
	switch {
	case status.Outcome == update.Failed && r.both.Wanted() && status.Fault != nil && status.Fault.Cause != update.Unreachable:
		h.log.Warn().Err(status.Fault).Msg("this program is not updated now: the game comes first")
	case !isReady(status.Outcome) || h.dueForTrial(ctx):
		return false
	case r.renewing:
		h.log.Warn().Msg("the release needs a newer version of this program, which does not work here")
	default:
		return false
	}
	r.leave = true
	return true
}

// isReady reports whether an update ended with everything in its place.
func isReady(o update.Outcome) bool { return o == update.ResourcesReady || o == update.BinariesStaged }
