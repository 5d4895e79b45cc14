package host

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"collet/app/install"
	"collet/app/supervise"
	"collet/app/update"
)

// maxReloads limits how many reloads in a row a game may request within reloadWindow of its start: a module that always requests one
// would otherwise loop forever.
const (
	maxReloads   = 5
	reloadWindow = supervise.ProvenAfter
)

var errReloads = errors.New("the game asked for one reload after another without ever running for long")

// startHeadless runs the client without a window.
func (h *host) startHeadless(ctx context.Context, out, err io.Writer) (code int, again *Relaunch) {
	h.renewal.reportUp()
	code = h.runHeadless(ctx, out, err)
	if h.renewal.due == "" {
		return code, nil
	}
	trial, again, retry := h.sponsor(ctx)
	if retry {
		return h.runHeadless(ctx, out, err), nil
	}
	return trial, again
}

// runHeadless is headless up to the trial of a newer version of this program.
func (h *host) runHeadless(ctx context.Context, out, err io.Writer) int {
	p := &terminal{out: out, err: err, json: h.opt.JSON, host: h}
	finish := func(e outcome) int {
		code := p.finish(e)
		h.tellEnd(ctx, e)
		return code
	}
	p.Note(h.texts.Get("headless.start", "host", h.sourceName(), "target", string(h.target), "path", h.folder))
	if !h.paths.portable() {
		p.Note(h.texts.Get("headless.data", "path", h.paths.data))
	}
	if !h.opt.Run {
		e := h.syncOnly(ctx, p)
		if h.renewal.due != "" {
			return 0
		}
		return finish(e)
	}
	for reloads := 0; ; reloads++ {
		e := h.start(ctx, p)
		switch {
		case h.renewal.due != "":
			return 0
		case !h.running:
			return finish(e)
		}
		if time.Since(h.began) > reloadWindow {
			reloads = 0
		}
		game := h.watch(ctx)
		if !game.reload {
			return finish(game.end)
		}
		if reloads == maxReloads {
			return finish(runtimeFailed(errReloads.Error()))
		}
		if e, ok := h.reload(ctx, game.path); !ok {
			return finish(e)
		}
	}
}

// syncOnly runs one Updater: packs become live, modules are staged. The announced version is that of the command line, else of the
// installed module. Mirrors get no version, so no module is loaded for them.
func (h *host) syncOnly(ctx context.Context, f view) outcome {
	h.notePaths(f)
	if !h.offline {
		h.openWarmMirror(ctx)
	}
	if err := h.openInstall(ctx, f); err != nil {
		return outcomeOf(err)
	}
	if h.offline {
		return h.tellInstalled(f)
	}
	compatibility := h.opt.Compat
	if compatibility == "" && h.signed.announces() {
		meta, err := h.startChild(ctx, f)
		h.dropChild()
		if err != nil && !h.isBare(err) {
			return h.noModule(err)
		}
		compatibility = meta.CompatibilityVersion
	}
	return h.repeatWhilePublishing(ctx, f, func() outcome { return h.syncOnce(ctx, f, compatibility) })
}

// syncOnce runs one update and fetches the missing files.
func (h *host) syncOnce(ctx context.Context, f view, compatibility string) outcome {
	status, err := h.update(ctx, f, compatibility)
	if err != nil {
		return outcomeOf(err)
	}
	if h.renewal.due != "" {
		return outcome{outcome: update.ResourcesReady}
	}
	if status.Outcome == update.ResourcesReady && h.dir.State() == install.Prepared {
		// A verification found the module damaged or missing. No child has it loaded, and the install is ready only after the swap.
		if e, ok := h.swap(ctx, status); !ok {
			return e
		}
	}
	if isReady(status.Outcome) {
		h.renewal.proveTrial(ctx)
	}
	if status.Blocked {
		f.Note(h.texts.Get("note.heldback"))
	}
	if toast, due := h.tolerance(); due {
		f.Toast(ctx, toast)
	}
	return outcome{outcome: status.Outcome, fault: status.Fault, status: status}
}

// tellInstalled is a headless start with --offline and without --run: after recovery it prints the state of the install.
func (a *attempts) tellInstalled(f view) outcome {
	set, files, err := a.dir.Set()
	if err != nil {
		return outcomeOf(err)
	}
	name, state := a.texts.Get("word.unknown"), string(a.dir.State())
	if !set.IsZero() {
		name = set.String()
	}
	if a.dir.Pending() {
		state += ", pending"
	}
	f.Note(a.texts.Get("headless.installed", "files", strconv.Itoa(files), "set", name, "state", strings.TrimPrefix(state, ", ")))
	if e, broken := a.checkComplete(); broken {
		return e
	}
	return outcome{outcome: update.ResourcesReady}
}

// reload prepares the next start after a game's request for a reload: it makes a staged module live and selects the module that the
// game named.
func (h *host) reload(ctx context.Context, path string) (outcome, bool) {
	if h.dir != nil {
		if err := h.dir.Promote(ctx); err != nil {
			return outcomeOf(err), false
		}
		h.modules().reselect(true)
	}
	h.opt.ClientLibPath = path
	if h.modules().isRegular(path) {
		h.opt.ClientLibPath = ""
	}
	h.log.Info().Str("file", path).Msg("reload asked for by the game")
	return outcome{}, true
}
