package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"collet/app/acquire"
	"collet/app/install"
	"collet/app/update"
	"collet/netproto/product"
	"collet/platform"
)

// This file is about this program's own file, which an update may replace where Update.Host says so. It has an install of its
// own beside that of the game (install.ProgramNames), so that nothing that goes wrong with it keeps the game from being updated
// or started. See trial.go for what happens between the fetching and the replacing.

// renewal is about updates of this program itself: its install beside that of the game, and the trial of a newer version.
type renewal struct {
	*setup
	*disk // of the game
	*origin
	program   *install.Dir  // nil: this program stays as it is
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

// hostFacts collects them.
func (r *renewal) facts() hostFacts {
	info, err := os.Lstat(r.ownFile())
	return hostFacts{
		target: r.target, exe: r.ownFile(), regular: err == nil && info.Mode().IsRegular(),
		install: r.paths.install, data: r.paths.data, base: r.base, trust: r.trust(),
	}
}

// open opens the install of this program. Without it the program stays as it is.
func (r *renewal) open(ctx context.Context, fsys platform.FS) {
	if !r.settings.Update.Host || r.opt.KeepHost || r.opt.RemoteLauncher != "" || r.opt.Relaunched > maxReloads || r.leave {
		return
	}
	if why := r.facts().frozen(); why != "" {
		if !r.told {
			r.log.Info().Str("why", why).Msg("this program is not updated")
		}
		r.told = true
		return
	}
	dir, err := install.Open(ctx, install.Config{
		FS: install.ProgramView(fsys), Names: r.programNames(),
		Log: r.log.With().Str("of", "host").Logger(), Verify: r.verify, Trust: r.trust(),
	})
	if err == nil && r.opt.Unblock {
		err = dir.Unblock()
	}
	if err != nil {
		r.log.Warn().Err(err).Msg("this program is not updated")
	}
	r.program = dir
}

// close lets go of it.
func (r *renewal) close() error {
	dir := r.program
	r.program, r.both = nil, nil
	if dir == nil {
		return nil
	}
	return dir.Close()
}

// installed is an install as an update and what it comes from see it.
type installed interface {
	update.Stage
	acquire.Disk
}

// stage is what the next update is about.
func (r *renewal) stage() installed {
	r.both, r.renewing = nil, false
	if r.program == nil || r.leave || r.sponsored != nil {
		return r.disk.dir
	}
	r.both = install.WithProgram(r.disk.dir, r.program)
	return r.both
}

// renewable reports whether a newer program would be taken from a release.
func (r *renewal) renewable() bool { return r.both != nil && r.both.Renewable() }

// withoutHost looks at an update that has just ended. It reports whether another one is to be made that leaves this program as it
// is: where its bytes could not be had, or where they are of no use and the game waits for them.
func (r *renewal) withoutHost(ctx context.Context, status update.Status) bool {
	if r.both == nil || ctx.Err() != nil {
		return false
	}
	switch {
	case status.Outcome == update.Failed && r.both.Wanted() && status.Fault != nil && status.Fault.Cause != update.Unreachable:
		r.log.Warn().Err(status.Fault).Msg("this program is not updated now: the game comes first")
	case !isReady(status.Outcome) || r.dueForTrial(ctx):
		return false
	case r.renewing:
		r.log.Warn().Msg("the release needs a newer version of this program, which does not work here")
	default:
		return false
	}
	r.leave = true
	return true
}

// isReady reports whether an update ended with everything in its place.
func isReady(o update.Outcome) bool { return o == update.ResourcesReady || o == update.BinariesStaged }
