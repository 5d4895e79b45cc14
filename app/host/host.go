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
// opened to updating are one attempt, which the person may cut short to play what is installed. What follows updating is a pure
// function (step.go); a start that only syncs ends there. At most maxRounds modules are swapped in an attempt, and maxReloads reloads
// follow each other quickly.
// An attempt whose update brings a newer version of this program leaves the states above: the program makes room, watches the
// trial of the newer one, and goes on with the start itself if that fails (trial.go).
//
// A window loop runs once in a process. Where a window is needed after the game has run, Run returns a Relaunch: the same states in
// a new process, which is told how the last one ended. With a display and no window the same start goes on unseen; with Headless
// what happens is printed. Both are a view.
//
// Native code is never loaded here: a module can neither crash this process nor keep an old copy of itself in memory.
//
// Each part has a type with state of its own, and knows only those before it: setup (options, settings, paths, log), origin (server,
// mirrors, redirect), disk (the open install), game (the child), renewal (a newer version of this program), updates (one update from
// origin to disk), attempts (from opened to running). host asks the person, in a window or without one.
package host

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/rs/zerolog"

	"collet/app/splash"
	"collet/assets"
)

// host is one start of the client. Its parts have state of their own: the setup, the origin of updates, the install on the disk, the
// game's process, the updates and the attempts. One goroutine at a time uses it: first the one that drives the window's work, then the
// one that supervises.
type host struct {
	*setup
	origin
	disk
	game
	updates
	attempts
	renewal renewal                                 // of this program itself
	blind   bool                                    // no window could be opened: windowless
	attempt atomic.Pointer[context.CancelCauseFunc] // ends the attempt under way; nil while no attempt is under way
}

// assemble connects the parts of a host.
func assemble(s setup) *host {
	h := &host{setup: &s}
	h.origin.setup, h.disk.setup, h.game.setup, h.renewal.setup = h.setup, h.setup, h.setup, h.setup
	h.game.disk, h.renewal.disk, h.renewal.origin = &h.disk, &h.disk, &h.origin
	h.updates = updates{setup: h.setup, origin: &h.origin, disk: &h.disk, game: &h.game, renewal: &h.renewal}
	h.attempts.setup, h.attempts.origin, h.attempts.disk, h.attempts.game = h.setup, &h.origin, &h.disk, &h.game
	h.attempts.updates, h.attempts.renewal = &h.updates, &h.renewal
	return h
}

// newHost finds out who and where we are. There is no window yet: its errors are for refuse, with the host as far as it is known, which
// is never nil.
func newHost(opt Options) (*host, error) {
	h := assemble(setup{opt: opt, log: zerolog.Nop(), texts: assets.TextsFor(cmp.Or(opt.Lang, splash.SystemLocale()))})
	h.verify, h.offline = opt.Verify, opt.Offline
	if err := h.setup.find(); err != nil {
		return h, err
	}
	return h, h.origin.find()
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
