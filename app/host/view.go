package host

import (
	"context"
	"errors"

	"collet/app/acquire"
	"collet/app/splash"
	"collet/app/update"
)

// watcher is the part of an Updater that a view needs.
type watcher interface {
	Status() update.Status
	Watch(ctx context.Context) <-chan struct{}
}

// view shows a start: the window or the terminal. All methods except Ask and Toast return promptly.
type view interface {
	// Follow shows an update until it is done. The returned function waits until the last status was shown.
	Follow(ctx context.Context, w watcher) (wait func())
	// Note shows one line that stays.
	Note(line string)
	// ReleaseNotes shows the notes of the release that is being fetched. It may be called from any goroutine.
	ReleaseNotes(text string)
	// Report shows the result of an update by signed releases.
	Report(r acquire.Report)
	// Toast shows a line for its duration, beside the rest, and reports whether the player asked for details.
	Toast(ctx context.Context, t splash.Toast) (more bool)
	// Ask shows an end that needs a decision and returns it. A closed window and an ended ctx are Quit.
	Ask(ctx context.Context, e outcome) update.Action
}

// start makes attempts until the game runs or the player accepts an end. After each end that is shown, the player decides.
func (h *host) start(ctx context.Context, f view) outcome {
	for {
		e, cut := h.attemptOnce(ctx, func(ctx context.Context) outcome { return h.bringUp(ctx, f) })
		if cut {
			h.offline, h.acceptedUpdate, h.playIncomplete = true, false, false
			continue
		}
		if h.running || !e.row().Shown() || !h.decide(ctx, f, e) {
			return e
		}
	}
}

// errPlayInstalled is the cause of an attempt that the player ended to play the installed version.
var errPlayInstalled = errors.New("the player plays what is installed")

// attemptOnce makes one attempt. cut reports whether the player ended it early to play the installed version.
func (h *host) attemptOnce(ctx context.Context, bringUp func(context.Context) outcome) (e outcome, cut bool) {
	attempt, end := context.WithCancelCause(ctx)
	defer end(nil)
	h.attempt.Store(&end)
	e = bringUp(attempt)
	h.attempt.Store(nil)
	cut = !h.running && ctx.Err() == nil && errors.Is(context.Cause(attempt), errPlayInstalled)
	if cut {
		h.log.Info().Msg("the player would rather play what is installed")
	}
	return e, cut
}

// playInstalled ends the attempt under way; the next one is offline. It may be called from any goroutine.
func (h *host) playInstalled() {
	if end := h.attempt.Load(); end != nil {
		(*end)(errPlayInstalled)
	}
}

// decide asks the player and prepares the next attempt. It reports whether to make one.
func (h *host) decide(ctx context.Context, f view, e outcome) bool {
	h.offline, h.acceptedUpdate, h.playIncomplete = false, false, false
	switch f.Ask(ctx, e) {
	case update.Retry, update.Play:
		return ctx.Err() == nil
	case update.Update:
		h.acceptedUpdate = true
		return ctx.Err() == nil
	case update.Offline, update.Proceed:
		h.offline, h.playIncomplete = true, e.outcome == update.SetIncomplete || h.dir == nil
		return ctx.Err() == nil
	case update.Repair:
		h.verify = true
		return ctx.Err() == nil
	default:
		return false
	}
}
