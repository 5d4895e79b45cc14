package host

import (
	"context"
	"errors"

	"collet/app/supervise"
)

// countStart counts a start of an unproven set.
func (g *game) countStart() {
	if g.dir == nil || !g.live {
		return
	}
	if g.dir.Unresolved() && g.dir.FirstTry() {
		g.beacon.Failed()
	}
	if err := g.dir.Starting(); err != nil {
		g.log.Warn().Err(err).Msg("start not counted")
	}
}

// recordEnd records in the install how the game ended. It reports whether the last proven set was restored.
func (g *game) recordEnd(ctx context.Context, kind supervise.End, cause string) (back bool) {
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

// failedStart counts a failed start of an unproven set. The second failure restores the last proven set.
func (d *disk) failedStart(ctx context.Context, cause string) (back bool) {
	if d.dir.FirstTry() {
		d.beacon.Failed()
	}
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

// maxLoads is how often one start tries to load the live module: the new one twice, then the one before it.
const maxLoads = 3

// handleUnusable handles a live module that can't be loaded, before the built-in client replaces it. again reports whether to try once more:
// the failure may be temporary, and after the second one the previous module is restored.
func (g *game) handleUnusable(ctx context.Context, f view, err error) (again bool) {
	if g.dir == nil || !g.live || !isLoadFailure(err) {
		return false
	}
	if !g.dir.ModuleIsNew(ctx) {
		return g.restoreModule(ctx, f)
	}
	g.dropChild()
	if g.failedStart(ctx, err.Error()) {
		f.Note(g.texts.Get("note.rolledback"))
	}
	return true
}

// restoreModule replaces a proven module that can't be loaded any more, from a copy on the disk. Without a copy the next update fetches it.
// It reports whether another module can be tried now.
func (g *game) restoreModule(ctx context.Context, f view) bool {
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

// isLoadFailure reports whether a child's error means that its module is unusable.
func isLoadFailure(err error) bool {
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
