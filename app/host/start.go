package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"collet/app/diskfault"
	"collet/app/install"
	"collet/app/splash"
	"collet/app/update"
	"collet/platform"
	"collet/platform/interrupt"
)

// outcome is how an attempt to bring up the game ended: one row of the table of ends, with what explains it.
type outcome struct {
	outcome update.Outcome
	fault   *update.Fault
	status  update.Status
	detail  string         // one sentence for a failed module
	info    splash.EndInfo // what the attempt knows for the dialog; endInfo adds the rest
}

func (e outcome) row() update.End {
	if e.fault != nil {
		return update.EndOf(e.outcome, e.fault.Cause)
	}
	return update.EndOf(e.outcome, update.NoCause)
}

// reason is the technical cause for log and terminal, in addition to the text for players.
func (e outcome) reason() string {
	if e.fault != nil {
		return e.fault.Error()
	}
	return e.detail
}

// outcomeOf maps an error to an outcome.
func outcomeOf(err error) outcome {
	var known *update.Fault
	var inUse *diskfault.InUseError
	switch {
	case errors.Is(err, context.Canceled):
		return outcome{outcome: update.Cancelled}
	case errors.As(err, &inUse) && errors.Is(err, platform.ErrLocked):
		return outcome{outcome: update.AlreadyRunning, detail: inUse.Error(), info: splash.EndInfo{Holders: inUse.Names()}}
	case errors.Is(err, platform.ErrLocked):
		return outcome{outcome: update.AlreadyRunning}
	case errors.As(err, &known):
		return outcome{outcome: update.Failed, fault: known}
	default:
		return outcome{outcome: update.Failed, fault: &update.Fault{Cause: update.DiskFault, Err: err}}
	}
}

func runtimeFailed(detail string) outcome {
	return outcome{outcome: update.RuntimeFailed, detail: detail}
}

// maxRounds is how many rounds an attempt has, each of which may swap a module: one for the module of a release, one for a release
// that was published meanwhile, and the one that starts the game. A server that requests more contradicts itself.
const maxRounds = 3

// attempts opens the install and brings the game up, once for each attempt.
type attempts struct {
	*setup
	*upstream
	*disk
	*game
	*updates
	renewal        *renewal
	offline        bool                        // do not contact the server
	playIncomplete bool                        // the player confirmed starting an incomplete set
	socket         *instanceSocket             // lets a second start bring this one forward; nil while no install is open
	raise          atomic.Pointer[func() bool] // brings the window forward; nil while no window is open
	canPlay        atomic.Bool                 // the installed version can be played without the update under way
	last           atomic.Pointer[outcome]     // how the last attempt ended; the window reads it for the report
}

// bringUp opens the install, asks the server, fetches, swaps and starts the game. On success the outcome is ResourcesReady and running
// is true. Otherwise no child is left.
func (a *attempts) bringUp(ctx context.Context, f view) outcome {
	e := a.openAndBringUp(ctx, f)
	e.info.PlayOffline = a.loaded && a.hasPacks()
	if !a.running {
		a.dropChild()
	}
	a.last.Store(&e)
	if e.outcome == update.Cancelled && errors.Is(context.Cause(ctx), splash.ErrNoWindow) {
		return e // windowed continues without a window, and logs it
	}
	a.log.Info().Stringer("outcome", e.outcome).Str("detail", e.detail).AnErr("fault", asError(e.fault)).Msg("start ended")
	return e
}

// asError returns a nil error for a nil fault.
func asError(f *update.Fault) error {
	if f == nil {
		return nil
	}
	return f
}

func (a *attempts) openAndBringUp(ctx context.Context, f view) outcome {
	a.loaded = false
	a.canPlay.Store(false)
	a.endRedirect()
	a.notePaths(f)
	if !a.offline {
		a.openWarmMirror(ctx)
	}
	if err := a.openInstall(ctx, f); err != nil && !a.continuesUnopened(ctx, err) {
		return a.notOpened(ctx, f, err)
	}
	return a.repeatWhilePublishing(ctx, f, func() outcome { return a.updateAndRun(ctx, f) })
}

// maxWaits is how often a server that contradicts itself is asked again. The pauses add up to 8 to 16 s, enough for a server to
// replace its catalogue.
const maxWaits = 5

// repeatWhilePublishing calls once, and repeats it after a pause while the server seems to be replacing its catalogue.
func (a *attempts) repeatWhilePublishing(ctx context.Context, f view, once func() outcome) outcome {
	for waits := 1; ; waits++ {
		e := once()
		if !a.isPublishing(e) || waits > maxWaits {
			return e
		}
		a.dropChild()
		pause := update.DefaultRetry().Delay(waits, rand.Float64())
		a.log.Warn().Dur("pause", pause).Msg("the server contradicts itself, as it does while a release is published; it is asked again")
		f.Note(a.texts.Get("note.inconsistent"))
		if err := interrupt.Sleep(ctx, pause); err != nil {
			return outcomeOf(err)
		}
	}
}

// isPublishing reports whether the server may have replaced only a part of its catalogue: it contradicts itself, or requests an update that
// this start has just applied, or found installed. Updates of earlier starts do not count.
func (d *disk) isPublishing(e outcome) bool {
	return e.outcome == update.ContentMismatch || e.outcome == update.UpdateLoop && d.guarded
}

// updateAndRun asks the server and swaps modules until the game can run or something ends it.
func (a *attempts) updateAndRun(ctx context.Context, f view) outcome {
	for range maxRounds {
		meta, err := a.startChild(ctx, f)
		bare := a.isBare(err)
		if err != nil && !bare {
			return a.noModule(err)
		}
		a.loaded = !bare
		a.canPlay.Store(a.loaded && a.hasPacks())
		if a.offline {
			f.Note(a.texts.Get("note.offline"))
			return a.runComplete(ctx, f)
		}
		missing := err
		status, err := a.update(ctx, f, meta.CompatibilityVersion)
		if err != nil {
			return outcomeOf(err)
		}
		switch a.afterUpdate(status, bare).nextStep() {
		case stepMakeRoom:
			return outcome{outcome: update.ResourcesReady}
		case stepNoModule:
			if a.isProgram() && status.Files > 0 { // files of the installed release were repaired
				continue
			}
			return a.noModule(missing)
		case stepNothing:
			f.Note(a.texts.Get("note.heldback"))
			return runtimeFailed(a.dir.BlockedOffer().Reason())
		case stepPlayBefore:
			f.Note(a.texts.Get("note.heldback"))
			return a.runComplete(ctx, f)
		case stepPlay:
			a.renewal.proveTrial(ctx)
			return a.playAndToast(ctx, f)
		case stepOffline:
			f.Note(a.texts.Get(offlineNote(status.Fault)))
			return a.runComplete(ctx, f)
		case stepEnd:
			return outcome{outcome: status.Outcome, fault: status.Fault, status: status}
		case stepSwap:
			if e, ok := a.swap(ctx, status); !ok {
				return e
			}
		}
	}
	a.log.Error().Msg("the server's modules never satisfy the server")
	return outcome{outcome: update.ContentMismatch}
}

// afterUpdate gathers what the next step depends on.
func (a *attempts) afterUpdate(status update.Status, bare bool) updateResult {
	return updateResult{
		outcome: status.Outcome, blocked: status.Blocked, due: a.renewal.due != "", bare: bare,
		prepared: a.dir.State() == install.Prepared, packs: a.hasPacks(), offline: a.offlineNow(status),
	}
}

// isBare reports whether no client of this game can be started and an update may deliver one. Then the update announces no version.
func (a *attempts) isBare(err error) bool {
	return (errors.Is(err, errForeign) || errors.Is(err, errNoProgram)) && !a.offline && !a.opt.ForceEmbeddedRuntime && a.opt.ClientLibPath == ""
}

// openInstall locks and opens the install, and recovers an interrupted transaction.
func (a *attempts) openInstall(ctx context.Context, f view) error {
	if a.dir != nil && !a.verify {
		return nil
	}
	if err := a.closeInstall(); err != nil {
		return err
	}
	if err := seed(ctx, a.setup); err != nil {
		a.log.Error().Err(err).Msg("the delivered game is played from where it is")
	}
	fsys, base, err := a.openFolders()
	if err != nil {
		return err
	}
	seen := watched(fsys)
	dir, err := install.Open(ctx, install.Config{
		FS: seen, Base: base, Log: a.log, Verify: a.verify, Trust: a.trust(),
		OnWait: func() { f.Note(a.texts.Get("note.waiting")) },
		Names:  a.names(),
	})
	if err != nil {
		return errors.Join(err, fsys.Close(), closeBase(base))
	}
	a.fs, a.below, a.dir = fsys, base, dir
	a.renewal.openProgram(ctx, seen)
	a.verify = false
	a.modules().reselect(false)
	a.serveInstances()
	if dir.Unclean() {
		a.log.Warn().Msg("the last session did not end properly; all files are checked")
		f.Note(a.texts.Get("note.unclean"))
	}
	if a.opt.Unblock {
		return dir.Unblock()
	}
	return nil
}

func (a *attempts) closeInstall() error {
	if a.dir == nil {
		return nil
	}
	var err error
	if a.socket != nil {
		err = a.socket.Close()
	}
	err = errors.Join(err, a.renewal.closeProgram(), a.dir.Close(), a.fs.Close(), closeBase(a.below))
	a.dir, a.socket, a.below = nil, nil, nil
	return err
}

// playAndToast starts the game and shows developers the differences that the server tolerates. The window stays open beside the game while
// the toast is shown.
func (a *attempts) playAndToast(ctx context.Context, f view) outcome {
	e := a.run(ctx, f)
	if !a.running {
		return e
	}
	if toast, due := a.tolerance(); !due || !a.toast(ctx, f, toast) {
		return e
	}
	switch f.Ask(ctx, outcome{outcome: update.ComponentsMismatch, info: splash.EndInfo{Allowed: true}}) {
	case update.Proceed:
		return e
	case update.Retry:
		a.dropChild()
		return a.openAndBringUp(ctx, f)
	default:
		a.dropChild()
		return outcome{outcome: update.Cancelled}
	}
}

// notOpened is the end of an attempt that could not open the install. loaded says whether a module starts from it all the same.
func (a *attempts) notOpened(ctx context.Context, f view, err error) outcome {
	e := outcomeOf(err)
	if e.fault == nil {
		return e
	}
	if _, err := a.startChild(ctx, f); err != nil {
		a.log.Warn().Err(err).Msg("nothing to play from an install that can't be opened")
		return e
	}
	a.loaded = true
	return e
}
