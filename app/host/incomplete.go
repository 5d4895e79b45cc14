package host

import (
	"context"
	"errors"

	"collet/app/splash"
	"collet/app/update"
	"collet/platform"
)

// runComplete is run without a server's confirmation. An incomplete set starts only if the player confirms it.
func (a *attempts) runComplete(ctx context.Context, f view) outcome {
	if e, broken := a.checkComplete(); broken {
		return e
	}
	return a.run(ctx, f)
}

// checkComplete is the end of a start with an incomplete set. broken is false if the set is complete or the player confirmed the start.
func (a *attempts) checkComplete() (e outcome, broken bool) {
	if a.dir == nil || a.playIncomplete || a.opt.PlayIncomplete {
		return outcome{}, false
	}
	files, err := a.dir.Incomplete()
	switch {
	case err != nil:
		return outcomeOf(err), true
	case len(files) == 0:
		return outcome{}, false
	}
	a.log.Error().Strs("files", files).Msg("the installed set is not whole, and no server has mended it")
	return outcome{
		outcome: update.SetIncomplete, info: splash.EndInfo{Astray: files},
		detail: "--play-incomplete starts it all the same; a start that reaches the server repairs it",
	}, true
}

// continuesUnopened reports whether a start continues although the install could not be opened, and may hold an incomplete set. It does only
// offline: if the player confirmed it, or if only write permission is missing and the journal has no unfinished transaction.
func (a *attempts) continuesUnopened(ctx context.Context, err error) bool {
	var fault *update.Fault
	switch {
	case !a.offline || errors.Is(err, platform.ErrLocked) || errors.Is(err, context.Canceled):
		return false
	case a.playIncomplete || a.opt.PlayIncomplete:
		return true
	default:
		return errors.As(err, &fault) && fault.Cause == update.NoPermission && !a.unfinished(ctx)
	}
}
