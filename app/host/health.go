package host

import (
	"context"
	"errors"

	"collet/app/supervise"
)

// starting counts a start of a set that has not proven itself yet.
func (g *game) starting() {
	if g.dir == nil || !g.live {
		return
	}
	if err := g.dir.Starting(); err != nil {
		g.log.Warn().Err(err).Msg("start not counted")
	}
}

// judge tells the install how the game ended. It reports whether the last proven set was put back.
func (g *game) judge(ctx context.Context, kind supervise.End, cause string) (back bool) {
	if g.dir == nil || !g.live {
		return false
	}
	if kind.Counts() {
		return g.failedStart(ctx, cause)
	}
	if err := g.dir.Stopped(); err != nil {
		g.log.Warn().Err(err).Msg("end not recorded")
	}
	return false
}

// failedStart counts a failed start of a set that has not proven itself; the second one puts the last proven set back.
func (d *disk) failedStart(ctx context.Context, cause string) (back bool) {
	back, err := d.dir.FailedStart(ctx, cause)
	if err != nil {
		d.log.Error().Err(err).Msg("the last proven set could not be put back")
	}
	if back {
		d.swapped = false
		d.modules().reselect(true)
		d.log.Warn().Str("cause", cause).Msg("the new set failed to start and was taken back")
	}
	return back
}

// maxLoads is how often one start tries to load the module beside the host: twice the new one, then the one before it.
const maxLoads = 3

// unusable handles a live module that can't be loaded, before anything else stands in for it. It reports whether another
// try is worth it: loading may fail for once, and after the second time the module is another one.
func (g *game) unusable(ctx context.Context, f view, err error) (again bool) {
	if g.dir == nil || !g.live || !loadFailed(err) {
		return false
	}
	if !g.dir.ModuleIsNew(ctx) {
		return g.restored(ctx, f)
	}
	g.dropChild()
	if g.failedStart(ctx, err.Error()) {
		f.Note(g.texts.Get("note.rolledback"))
	}
	return true
}

// restored brings a module back that was all right once and can't be loaded any more: from this disk, or with the next look
// at the server's offer. It reports whether there is another one to try now.
func (g *game) restored(ctx context.Context, f view) bool {
	g.dir.Distrust()
	g.dropChild()
	restored, err := g.dir.RestoreModule(ctx)
	if err != nil {
		g.log.Error().Err(err).Str("file", g.modules().library()).Msg("module not restored")
	}
	if restored {
		f.Note(g.texts.Get("note.rolledback"))
	}
	return restored
}

// loadFailed reports whether an error of a child says that its module is no good.
func loadFailed(err error) bool {
	var load *supervise.LoadError
	var exit *supervise.ExitError
	switch {
	case errors.As(err, &load):
		return load.Stage != supervise.StageProtocol
	case errors.As(err, &exit):
		return supervise.Classify(exit.Exit, false, 0).Counts()
	default:
		return false
	}
}
