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

// This file updates this program's own file, if Update.Host is set. The program has its own install beside the game's
// (install.ProgramNames), so its errors can't prevent updating or starting the game. trial.go tests the fetched program before it
// replaces this one.

// renewal has the updates of this program itself: its install beside the game's, and the trial of a newer version.
type renewal struct {
	*setup
	*disk // of the game
	*upstream
	program        *install.Program       // nil: this program is not updated
	both           *install.SetAndProgram // of the last update; nil: the update did not include the program
	skipSelfUpdate bool                   // this start does not update the program any more
	reasonLogged   bool                   // the reason for not updating the program was logged
	renewing       bool                   // the last update offered only the program, because the release needs a newer one
	due            string                 // absolute path of the program whose trial is next; empty: none
	sponsored      *sponsored             // connection to the sponsor; nil unless this process is a trial
}

// hostFacts are the conditions for replacing this program's own file.
type hostFacts struct {
	target  product.Target
	exe     string // of this program, absolute
	regular bool   // exe is a regular file, not a link
	install string // folder, absolute
	data    string // writable root
	base    string // name of the module
	trust   install.Trust
}

// frozen returns why this program never replaces its own file; empty: it may.
func (f hostFacts) frozen() string {
	name := f.target.ProgramName(f.base)
	same := filepath.Base(f.exe) == name || f.target.System() == product.Windows && strings.EqualFold(filepath.Base(f.exe), name)
	switch {
	case f.data != f.install:
		return "an installer placed it, and also updates it"
	case filepath.Dir(f.exe) != f.install:
		return "it does not lie in the install folder" // also a macOS .app, whose signature covers all of its files
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

// facts collects the hostFacts of this start.
func (r *renewal) facts() hostFacts {
	info, err := os.Lstat(r.ownFile())
	return hostFacts{
		target: r.target, exe: r.ownFile(), regular: err == nil && info.Mode().IsRegular(),
		install: r.paths.install, data: r.paths.data, base: r.base, trust: r.trust(),
	}
}

// openProgram opens the install of this program. After an error the program is not updated.
func (r *renewal) openProgram(ctx context.Context, fsys platform.FS) {
	if !r.settings.Update.Host || r.opt.KeepHost || r.opt.RemoteLauncher != "" || r.opt.Relaunched > maxReloads || r.skipSelfUpdate {
		return
	}
	if why := r.facts().frozen(); why != "" {
		if !r.reasonLogged {
			r.log.Info().Str("why", why).Msg("this program is not updated")
		}
		r.reasonLogged = true
		return
	}
	dir, err := install.OpenProgram(ctx, install.Config{
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

// closeProgram closes the install of this program.
func (r *renewal) closeProgram() error {
	dir := r.program
	r.program, r.both = nil, nil
	if dir == nil {
		return nil
	}
	return dir.Close()
}

// installed is an install as needed by an Updater and by acquire.
type installed interface {
	update.Destination
	acquire.Disk
}

// destination is the install for the next update: the game's alone, or the game's and this program's.
func (r *renewal) destination() installed {
	r.both, r.renewing = nil, false
	if r.program == nil || r.skipSelfUpdate || r.sponsored != nil {
		return r.disk.dir
	}
	r.both = install.WithProgram(r.disk.dir, r.program)
	return r.both
}

// renewable reports whether a release may update this program.
func (r *renewal) renewable() bool { return r.both != nil && r.both.Renewable() }

// withoutHost reports whether an ended update has to be repeated without this program: because the program could not be fetched, or
// because its trial is not possible and the game's files were not offered.
func (r *renewal) withoutHost(ctx context.Context, status update.Status) bool {
	if r.both == nil || ctx.Err() != nil {
		return false
	}
	switch {
	case status.Outcome == update.Failed && r.both.HasProgramWants() && status.Fault != nil && !status.Fault.Cause.Away():
		r.log.Warn().Err(status.Fault).Msg("this program is not updated now: the game comes first")
	case !isReady(status.Outcome) || r.dueForTrial(ctx):
		return false
	case r.renewing:
		r.log.Warn().Msg("the release needs a newer version of this program, which does not work here")
	default:
		return false
	}
	r.skipSelfUpdate = true
	return true
}

// isReady reports whether an update ended with everything in its place.
func isReady(o update.Outcome) bool { return o == update.ResourcesReady || o == update.BinariesStaged }
