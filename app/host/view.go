package host

import (
	"context"
	"errors"

	"collet/app/acquire"
	"collet/app/splash"
	"collet/app/update"
)

// watcher is an Updater as whoever shows it sees it.
type watcher interface {
	Status() update.Status
	Watch(ctx context.Context) <-chan struct{}
}

// view is where a start is shown: the window or the terminal. All methods return promptly except Ask.
type view interface {
	// Follow shows an update until it is done. The returned function waits for the last picture.
	Follow(ctx context.Context, w watcher) (wait func())
	// Note shows one line that stays.
	Note(line string)
	// Notes shows the release notes of what is being fetched. It may be called from any goroutine.
	Notes(text string)
	// Report shows what an update of a signed release found out and did.
	Report(r acquire.Report)
	// Toast shows a line beside whatever else there is for as long as it says, and reports whether more was asked for.
	Toast(ctx context.Context, t splash.Toast) (more bool)
	// Ask shows an end that needs a decision and returns it. A closed window and an ended ctx are Quit.
	Ask(ctx context.Context, e outcome) update.Action
}

// start brings up the game, or lets the person decide what to do about whatever stands in the way, as often as need be.
// It returns with the game running, or with the end that the person accepted.
func (h *host) start(ctx context.Context, f view) outcome {
	for {
		e, cut := h.try(ctx, func(ctx context.Context) outcome { return h.bringUp(ctx, f) })
		if cut {
			h.offline, h.agreed, h.anyway = true, false, false
			continue
		}
		if h.running || !e.end().Shown() || !h.decide(ctx, f, e) {
			return e
		}
	}
}

// errPlayInstalled is why an attempt ends whose player would rather play what is installed.
var errPlayInstalled = errors.New("the player plays what is installed")

// try is one attempt. It reports whether the player cut it short to play what is installed.
func (h *host) try(ctx context.Context, bringUp func(context.Context) outcome) (e outcome, cut bool) {
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

// playInstalled ends the attempt under way for one that asks no server. It may be called from any goroutine.
func (h *host) playInstalled() {
	if end := h.attempt.Load(); end != nil {
		(*end)(errPlayInstalled)
	}
}

// decide asks and prepares the next attempt; it reports whether there is to be one.
func (h *host) decide(ctx context.Context, f view, e outcome) bool {
	h.offline, h.agreed, h.anyway = false, false, false
	switch f.Ask(ctx, e) {
	case update.Retry, update.Play:
		return ctx.Err() == nil
	case update.Update:
		h.agreed = true
		return ctx.Err() == nil
	case update.Offline, update.Proceed:
		h.offline, h.anyway = true, e.outcome == update.SetIncomplete || h.dir == nil
		return ctx.Err() == nil
	case update.Repair:
		h.verify = true
		return ctx.Err() == nil
	default:
		return false
	}
}
