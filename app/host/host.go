// Package host is one start of a game: it keeps the game's module and packs current, runs the module in a child process of this
// program, and handles the child's exit. Run does all of it. A start goes through these states:
//
//	found ─────→ refused: the message says why, exit 2
//	  │ program, paths, settings, log
//	  ▼
//	opened ←──────────────────────────────────── dialog ─→ exit, by the table of ends
//	  │ an interrupted transaction is recovered    ▲
//	  ▼                                            │ an end that needs a decision; without a window the answer is Quit
//	loaded ←── swapped ←── a module waits ─────┐   │
//	  │ the child's metadata                   │   │
//	  ▼                                        │   │
//	updating ──────────────────────────────────┴───┤
//	  │ everything is in its place, or offline     │
//	  ▼                                            │
//	running ──→ shown: the window ends             │
//	  ▼                                            │
//	ended: clean → confirmed, exit 0 · reload → opened · crash → dialog, perhaps after the last proven set was put back
//
// The states from opened to updating are one attempt. The player may end it early to play the installed version. The step after
// updating is chosen by a pure function (step.go); a start that only syncs ends there. An attempt swaps at most maxRounds modules. At
// most maxReloads reloads may follow each other quickly.
//
// An attempt may fetch a newer version of this program. Then the program releases the install, supervises the trial of the newer
// version, and continues the start itself if the trial fails (trial.go).
//
// A window loop runs once in a process. If a window is needed after the game has run, Run returns a Relaunch: a new process with the
// same states, which gets the last end as flags. Without a usable window the start continues without one; with Headless it prints its
// progress. Both are a view.
//
// Native code is never loaded here: a module can neither crash this process nor keep an old copy of itself in memory.
//
// Each part is a type with its own state, and depends only on the parts before it: setup (options, settings, paths, log), upstream
// (server, mirrors, redirect), disk (the open install), game (the child), renewal (a newer version of this program), updates (one
// update from upstream to disk), attempts (from opened to running). host shows ends and reads the player's decisions.
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

// host is one start of the client. It embeds its parts: setup, upstream, install on the disk, game process, updates and
// attempts. One goroutine at a time uses it: first the one behind the window, then the one that supervises the game.
type host struct {
	*setup
	upstream
	disk
	game
	updates
	attempts
	renewal    renewal                                 // of this program itself
	windowless bool                                    // no window could be opened
	attempt    atomic.Pointer[context.CancelCauseFunc] // ends the attempt under way; nil while no attempt is under way
}

// assemble connects the parts of a host.
func assemble(s setup) *host {
	h := &host{setup: &s}
	h.upstream.setup, h.disk.setup, h.game.setup, h.renewal.setup = h.setup, h.setup, h.setup, h.setup
	h.game.disk, h.renewal.disk, h.renewal.upstream = &h.disk, &h.disk, &h.upstream
	h.game.whilePlaying = func(ctx context.Context) { h.updates.whilePlaying(ctx) }
	h.updates = updates{setup: h.setup, upstream: &h.upstream, disk: &h.disk, game: &h.game, renewal: &h.renewal}
	h.attempts.setup, h.attempts.upstream, h.attempts.disk, h.attempts.game = h.setup, &h.upstream, &h.disk, &h.game
	h.attempts.updates, h.attempts.renewal = &h.updates, &h.renewal
	return h
}

// newHost reads settings, paths and upstream. No window is open yet, so its errors go to refuse. The host is never nil; after an error
// it is complete up to the failed step.
func newHost(opt Options) (*host, error) {
	h := assemble(setup{opt: opt, log: zerolog.Nop(), texts: assets.TextsFor(cmp.Or(opt.Lang, splash.SystemLocale()))})
	h.verify, h.offline = opt.Verify, opt.Offline
	if err := h.setup.findSetup(); err != nil {
		return h, err
	}
	return h, h.upstream.findUpstream()
}

// close ends the child, if one runs, and then releases connections, install and log.
func (h *host) close() error {
	h.dropChild()
	h.beacon.Close()
	err := errors.Join(h.closeWarmMirror(), h.closeInstall())
	if h.logs != nil {
		err = errors.Join(err, h.logs.Close())
	}
	return err
}
