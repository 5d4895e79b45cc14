// Package host is one start of a game: it keeps the game's module and packs current, runs the module in a child of this program, and
// decides what the child's end means. Run is all of it. A start goes through these states:
//
//	found ─────→ refused: the message says why, exit 2
//	  │ program, paths, settings, log
//	  ▼
//	opened ←──────────────────────────────────── asked ──→ exit, by the table of ends
//	  │ what an earlier process began is finished  ▲
//	  ▼                                            │ an end that needs a decision; without a person the answer is Quit
//	loaded ←── swapped ←── a module is staged ─┐   │
//	  │ the child's metadata                   │   │
//	  ▼                                        │   │
//	updating ──────────────────────────────────┴───┤
//	  │ everything is in its place, or offline     │
//	  ▼                                            │
//	running ──→ shown: the window ends             │
//	  ▼                                            │
//	ended: clean → confirmed, exit 0 · reload → opened · crash → asked, perhaps after the last proven set was put back
//
// opened to updating are one attempt, which the person may cut short to play what is installed; it ends before loaded where only
// syncing was asked for. At most maxRounds modules are swapped in an attempt, and maxReloads reloads follow each other quickly.
// An attempt whose update brings a newer version of this program leaves the states above: the program makes room, watches the
// trial of the newer one, and goes on with the start itself if that fails (trial.go).
//
// A window loop runs once in a process. Where a window is needed after the game has run, Run returns a Relaunch: the same states in
// a new process, which is told how the last one ended. With a display and no window the same start goes on unseen; with Headless
// what happens is printed. Both are a view, and ask no one anything else.
//
// Native code is never loaded here: a module can neither crash this process nor keep an old copy of itself in memory.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet"
	"collet/app/download"
	"collet/app/install"
	"collet/app/settings"
	"collet/app/splash"
	"collet/app/supervise"
	"collet/assets"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/text"
	"collet/runtime/abi"
)

// host is one start of the client: what it was asked for, what it found, and the child it supervises. One goroutine at a
// time uses it: first the one that drives the window's work, then the one that supervises.
type host struct {
	opt      Options
	settings settings.Settings
	packed   packed // what packaging put into this program
	texts    assets.Texts
	log      zerolog.Logger
	logs     *logFile

	exe    string            // absolute path of this program
	folder string            // absolute path of the install; roots.install
	roots  roots             // where things lie, and where they are written
	base   string            // the host's name, and so the module's
	server string            // as it was asked for
	route  route             // how to get there
	locale string            // the player's language as a tag
	signed signed            // where signed releases come from, and who vouches for them
	before *detour           // where a redirect led away from; nil without one
	met    meeting           // the last server
	valve  valve             // pauses and slows what is fetched
	warm   *download.HTTPWay // is being connected to for the first update; nil for none
	target product.Target

	fs      *platform.Dir
	below   platform.FS      // the install folder, where it is not the writable root; nil otherwise
	dir     *install.Dir     // nil while the install could not be opened
	child   *supervise.Child // nil while none runs
	running bool             // the child was told to run
	shown   bool             // the game said that it shows itself
	began   time.Time        // when the child was told to run
	swapped bool             // a module was swapped in by this process and has not run yet
	guarded bool             // an update of this process is guarded against being asked for again
	module  string           // the file that the last child has; empty: the built-in client
	live    bool             // the child has the live module, not the built-in client or a named one
	verify  bool             // the next look at the disk believes no cached digest
	offline bool             // do not ask the server
	anyway  bool             // the player was told that the set is not whole, and wants it all the same
	bell    *bell            // lets a second start bring this one forward; nil while none hangs
	raise   atomic.Pointer[func() bool]
	meta    abi.Metadata                            // of the last child
	asks    bool                                    // a person can be asked
	blind   bool                                    // no window could be opened: windowless
	agreed  bool                                    // who agreed to an update that the account calls for
	canPlay atomic.Bool                             // there is something to play without the update under way
	attempt atomic.Pointer[context.CancelCauseFunc] // ends the attempt under way; nil while no attempt is under way
	loaded  bool                                    // this attempt had a module or the built-in client ready to run

	renewal renewal // of this program itself

	last atomic.Pointer[ended] // how the last attempt ended; the window reads it for the report
}

// newHost finds out who and where we are. There is no window yet: its errors are for refuse, with the host as far as it is known, which
// is never nil.
func newHost(opt Options) (*host, error) {
	h := &host{opt: opt, verify: opt.Verify, offline: opt.Offline, log: zerolog.Nop(), texts: assets.TextsFor(cmp.Or(opt.Lang, splash.SystemLocale()))}
	return h, h.find()
}

func (h *host) find() (err error) {
	opt := h.opt
	if h.exe, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	h.target = product.Target(cmp.Or(opt.Target, string(product.TargetFor(runtime.GOOS, runtime.GOARCH))))
	h.base = cmp.Or(opt.RuntimeName, product.RuntimeBase(h.ownFile()))
	if h.folder, err = filepath.Abs(cmp.Or(opt.Dir, installFolder(runtime.GOOS, h.ownFile()))); err != nil {
		return err
	}
	if err := os.MkdirAll(h.folder, 0o755); err != nil {
		return fmt.Errorf("make the install folder: %w", err)
	}
	if h.packed, err = readPacked(); err != nil {
		return err
	}
	if h.settings, err = h.packed.settings(filepath.Join(h.folder, h.base+".toml")); err != nil {
		return err
	}
	h.roots = h.findRoots()
	h.server = cmp.Or(opt.Server, h.settings.Server())
	locale := cmp.Or(opt.Lang, h.settings.Client.Language, splash.SystemLocale())
	h.texts, h.locale = assets.TextsFor(locale), languageTag(locale)
	h.startLog()
	h.route = newRoute(h.server, opt, h.settings, h.folder, os.Getenv, h.log)
	if h.signed, err = newSigned(opt, h.settings, h.folder, os.Getenv); err != nil {
		return err
	}
	h.valve.SetCap(h.signed.bandwidth)
	return nil
}

// findRoots finds the folders, as far as the settings are known.
func (h *host) findRoots() roots {
	return findRoots(rootsQuery{
		goos: runtime.GOOS, install: h.folder, packs: h.settings.Baking.ClientResources, marked: isMarked(h.folder),
		asked: cmp.Or(h.opt.UserWritablePath, h.settings.Client.UserWritablePath),
		game:  cmp.Or(h.settings.Client.GameName, h.packed.Name, h.base), folder: func() (string, error) { return platform.DataFolder(os.Getenv) },
	})
}

// startLog opens the log and says who starts.
func (h *host) startLog() {
	h.openLog()
	h.log.Info().Str("version", collet.Version()).Str("target", string(h.target)).
		Int("pid", os.Getpid()).Str("exe", h.exe).Str("folder", h.folder).Str("data", h.roots.data).Str("server", h.server).Str("packaged", h.packed.Name).
		Str("variant", variant(h.settings.Client.GameName, cmp.Or(h.packed.Name, h.base))).
		Int("relaunched", h.opt.Relaunched).Msg("collet-client starts")
	if h.roots.refused != nil {
		h.log.Warn().Err(h.roots.refused).Msg("everything is written to the install folder")
	}
}

// openLog opens the log in the writable root.
func (h *host) openLog() {
	h.logs = openLog(h.roots.data, h.base+".log")
	h.log = zerolog.New(text.NewJSONWriter(h.logs)).Level(logLevel(h.opt.LogLevel)).With().Timestamp().Logger()
}

// close lets go of everything. The child, if there still is one, is ended first.
func (h *host) close() error {
	h.dropChild()
	err := errors.Join(h.coolDown(), h.closeInstall())
	if h.logs != nil {
		err = errors.Join(err, h.logs.Close())
	}
	return err
}

// openInstall takes the install and finishes what an earlier process began.
func (h *host) openInstall(ctx context.Context, f front) error {
	if h.dir != nil && !h.verify {
		return nil
	}
	if err := h.closeInstall(); err != nil {
		return err
	}
	fsys, base, err := h.openRoots()
	if err != nil {
		return err
	}
	seen := watched(fsys)
	dir, err := install.Open(ctx, install.Config{
		FS: seen, Base: base, Log: h.log, Verify: h.verify, Trust: h.trust(),
		OnWait: func() { f.Note(h.texts.Get("note.waiting")) },
		Names:  h.names(),
	})
	if err != nil {
		return errors.Join(err, fsys.Close(), closeBase(base))
	}
	h.fs, h.below, h.dir, h.verify = fsys, base, dir, false
	h.openRenewal(ctx, seen)
	h.reselect(false)
	h.hang()
	if dir.Unclean() {
		h.log.Warn().Msg("the last session did not end properly; all files are checked")
		f.Note(h.texts.Get("note.unclean"))
	}
	if h.opt.Unblock {
		return dir.Unblock()
	}
	return nil
}

// names says which files of the folder are what.
func (h *host) names() install.Names {
	return install.Names{
		Runtime: h.base, Server: h.packed.Name, Ext: h.target.LibraryExt(),
		Resources: h.settings.Baking.ClientResources, Cache: h.settings.Baking.CacheResources,
	}
}

func (h *host) closeInstall() error {
	if h.dir == nil {
		return nil
	}
	var err error
	if h.bell != nil {
		err = h.bell.Close()
	}
	err = errors.Join(err, h.closeRenewal(), h.dir.Close(), h.fs.Close(), closeBase(h.below))
	h.dir, h.bell, h.below = nil, nil, nil
	return err
}

// confirm tells the install that the running module has proven itself. Failing only costs a later clean-up.
func (h *host) confirm() {
	if h.dir == nil {
		return
	}
	if err := h.dir.Confirm(); err != nil {
		h.log.Warn().Err(err).Msg("module not confirmed")
	}
}
