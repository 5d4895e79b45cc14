package host

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"time"

	"collet/app/acquire"
	"collet/app/splash"
	"collet/app/update"
	"collet/netproto/release/trust"
)

// window is the splash as a view.
type window struct {
	view *splash.View
	host *host
}

var _ view = (*window)(nil)

// Follow implements view.
func (w *window) Follow(ctx context.Context, u watcher) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.view.Follow(ctx, u)
	}()
	return func() { <-done }
}

// Note implements view.
func (w *window) Note(text string) { w.view.Note(text) }

// ReleaseNotes implements view.
func (w *window) ReleaseNotes(text string) { w.view.ReleaseNotes(text) }

// Report implements view. It only notes a release that may not be current: the game is about to start.
func (w *window) Report(r acquire.Report) {
	if r.Stale != trust.NotStale {
		w.Note(w.host.texts.Get("note.notcurrent"))
	}
}

// Toast implements view.
func (w *window) Toast(ctx context.Context, t splash.Toast) bool { return w.view.Toast(ctx, t) }

// Ask implements view. If the install's running host comes forward, the answer is Quit without a dialog.
func (w *window) Ask(ctx context.Context, e outcome) update.Action {
	if e.outcome == update.AlreadyRunning && w.host.bringForward(ctx) {
		return update.Quit
	}
	action, err := w.view.Ask(ctx, splash.ComposeEnd(e.row(), w.host.endInfo(e), w.host.texts))
	if err != nil {
		return update.Quit
	}
	return action
}

// startWindowed runs the client with its window. again is set when the window is needed once more.
func (h *host) startWindowed(ctx context.Context, stderr io.Writer) (code int, again *Relaunch) {
	var e outcome
	h.canAsk = true
	h.adoptWindowLog()
	err := splash.Run(h.splashOptions(), func(closed context.Context, v *splash.View) {
		joined, cancel := context.WithCancel(closed)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)() // Ctrl-C works like closing the window
		raise := v.Raise
		h.raise.Store(&raise)
		h.renewal.reportUp()
		defer h.raise.Store(nil)
		e = h.startAfterCrash(joined, &window{v, h})
	})
	switch {
	case errors.Is(err, splash.ErrNoDisplay):
		return h.refuse(ctx, fmt.Errorf("%w; start it with --headless to update without a window", err), stderr), nil
	case err != nil && !h.running && h.renewal.due == "":
		return h.startWindowless(ctx, err, stderr)
	}
	if h.renewal.due != "" {
		code, again, retry := h.sponsor(ctx)
		if retry {
			again = h.relaunchAfterTrial()
		}
		return code, again
	}
	if !h.running {
		return e.row().Exit, nil
	}
	game := h.watch(ctx)
	if !game.reload && game.end.outcome != update.RuntimeFailed {
		return game.end.row().Exit, nil
	}
	return 0, h.relaunchAfter(game)
}

func (h *host) splashOptions() splash.Options {
	return splash.Options{Title: h.title(), Texts: h.texts, LogTail: h.logTail, Report: h.report, Valve: &h.valve, Cap: h.signed.bandwidth,
		Picture: func() image.Image { return h.packed.picture(h.log) }, Icon: func() []byte { return h.packed.icon(h.log) }, Installed: h.canPlay.Load, Play: h.playInstalled}
}

// startAfterCrash first shows a crash of the previous process, and then starts as usual.
func (h *host) startAfterCrash(ctx context.Context, f view) outcome {
	if h.opt.ShowCrash == "" {
		return h.start(ctx, f)
	}
	crash := runtimeFailed(h.opt.ShowCrash)
	crash.info.RolledBack = h.opt.WentBack
	if !h.decide(ctx, f, crash) {
		return crash
	}
	return h.start(ctx, f)
}

// relaunchAfter is the relaunch after a game's end. More than maxReloads quick reloads lead to the dialog of a failed game.
func (h *host) relaunchAfter(game gameEnd) *Relaunch {
	count := h.opt.Relaunched + 1
	if time.Since(h.began) > reloadWindow {
		count = 1
	}
	crash := game.end.detail
	if game.reload && count > maxReloads {
		crash, count = errReloads.Error(), 0
	}
	module := h.opt.ClientLibPath
	if game.reload {
		module = game.path
		if h.modules().isRegular(module) {
			module = ""
		}
	}
	h.log.Info().Int("relaunched", count).Str("crash", crash).Str("file", module).Msg("relaunch")
	return &Relaunch{exe: h.exe, args: relaunchArgs(h.opt.Command, relaunchState{count, crash, game.end.info.RolledBack, module, h.opt.KeepHost})}
}

// relaunchAfterTrial is the relaunch after a failed trial: the window is needed again.
func (h *host) relaunchAfterTrial() *Relaunch {
	next := relaunchState{count: h.opt.Relaunched + 1, module: h.opt.ClientLibPath, keep: true}
	return &Relaunch{exe: h.exe, args: relaunchArgs(h.opt.Command, next)}
}
