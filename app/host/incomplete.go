package host

import (
	"context"
	"errors"

	"collet/app/update"
	"collet/platform"
)

// runWhole is run without a server's word: a set that is known not to be whole starts only after the player was told what is
// not right and wants it all the same.
func (a *attempts) runWhole(ctx context.Context) outcome {
	if e, broken := a.incomplete(); broken {
		return e
	}
	return a.run(ctx)
}

// incomplete is the end of a start whose set is known not to be whole, unless the player wants it all the same.
func (a *attempts) incomplete() (e outcome, broken bool) {
	if a.dir == nil || a.anyway || a.opt.PlayIncomplete {
		return outcome{}, false
	}
	files, err := a.dir.Incomplete()
	switch {
	case err != nil:
		return failed(err), true
	case len(files) == 0:
		return outcome{}, false
	}
	a.log.Error().Strs("files", files).Msg("the installed set is not whole, and no server has mended it")
	return outcome{
		outcome: update.SetIncomplete, astray: files,
		detail: "--play-incomplete starts it all the same; a start that reaches the server repairs it",
	}, true
}

// goesOn reports whether a start goes on although the install could not be opened: what is on the disk may be half of a set
// then. Offline it does where the player wants it all the same, and where only writing failed and the journal has nothing
// unfinished.
func (a *attempts) goesOn(ctx context.Context, err error) bool {
	var fault *update.Fault
	switch {
	case !a.offline || errors.Is(err, platform.ErrLocked) || errors.Is(err, context.Canceled):
		return false
	case a.anyway || a.opt.PlayIncomplete:
		return true
	default:
		return errors.As(err, &fault) && fault.Cause == update.NoPermission && !a.unfinished(ctx)
	}
}
