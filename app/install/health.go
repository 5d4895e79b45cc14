package install

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
	"collet/platform"
)

// Starting records that the live set is about to run. The start counts against the set until Stopped, FailedStart or
// Confirm follows. For a proven set it does nothing. The error is a *update.Fault.
func (d *Dir) Starting() error {
	return d.fault(d.note(func(t *Try) { t.Begun++ }))
}

// Stopped records that the set ended without a failure but also without proof, for example because the game requested a
// restart or the player quit. The error is a *update.Fault.
func (d *Dir) Stopped() error {
	return d.fault(d.note(func(t *Try) { t.Begun = 0 }))
}

// ModuleIsNew reports whether the live module belongs to a pending set and is intact. If such a module can't be loaded, the
// set is at fault; otherwise the damage is.
func (d *Dir) ModuleIsNew(ctx context.Context) bool {
	live := d.cfg.Names.Library()
	if !slices.ContainsFunc(d.journal.pending(live), func(u undo) bool { return u.Live == live }) {
		return false
	}
	right, err := d.isSetFile(ctx, live, live)
	return right && err == nil
}

// FailedStart records that the set failed before it proved itself. After two failures the last proven set is restored, and
// back is true. For a proven set it does nothing. The error is a *update.Fault, or that of ctx; after ErrNoWayBack the live
// set is unchanged.
func (d *Dir) FailedStart(ctx context.Context, cause string) (back bool, err error) {
	if !d.Pending() {
		return false, nil
	}
	err = d.note(func(t *Try) { t.Begun, t.Failed, t.Cause = 0, t.Failed+1, shortened(cause) })
	if err != nil || !tryOf(d.journal.Tries, d.journal.lists.Is).hopeless() {
		return false, d.fault(err)
	}
	err = d.rollBack(ctx, blame)
	return err == nil, d.fault(err)
}

// maxCause is the largest number of bytes of a stored cause: one line of text, in a record with room for maxTries of them.
const maxCause = 500

func shortened(cause string) string {
	return strings.ToValidUTF8(cause[:min(len(cause), maxCause)], "")
}

// note changes the Try of the live set while it is pending.
func (d *Dir) note(change func(*Try)) error {
	if !d.Pending() {
		return nil
	}
	return d.record(record{State: d.journal.State, Tries: with(d.journal.Tries, d.journal.lists.Is, change)})
}

// Confirm records that the live set has proven itself and removes the files it replaced. Without a pending set it does
// nothing. The error is a *update.Fault; the next Open continues after an error at any point.
func (d *Dir) Confirm() error {
	if !d.Pending() {
		return nil
	}
	set := d.journal.lists.Is
	err := d.record(record{State: d.ended(Confirmed), Proven: d.cfg.Names.Library(), Tries: without(d.journal.Tries, set)})
	if err != nil {
		return d.fault(err)
	}
	d.log.Info().Stringer("set", set).Msg("set confirmed")
	return d.fault(d.clean(context.Background()))
}

// ended is the state after the verdict on a set. If the set belongs to the newest transaction it is outcome; otherwise the
// state of the newest transaction stays.
func (d *Dir) ended(outcome State) State {
	if d.journal.State == Swapped || d.journal.State == RollingBack {
		return outcome
	}
	return d.journal.State
}

// cleanIfPossible removes backups, best effort: a failure must not prevent Open, and the next start tries again.
func (d *Dir) cleanIfPossible(ctx context.Context) error {
	if err := d.clean(ctx); err != nil {
		d.log.Warn().Err(err).Msg("backups not removed")
	}
	return ctx.Err()
}

// clean removes the backups of proven changes and the recycled files of old transactions.
func (d *Dir) clean(ctx context.Context) error {
	proven := func(u undo) bool { return u.Proven }
	if !slices.ContainsFunc(d.journal.lists.Undo, proven) {
		return d.complete()
	}
	if begun, err := d.swapBegun(ctx); begun || err != nil {
		return err // the backups belong to this swap already
	}
	if err := d.perform(Clean(d.journal.lists.Undo)); err != nil {
		return err
	}
	d.clearPrevious()
	d.purge()
	d.pruneBlocks()
	waiting := slices.DeleteFunc(slices.Clone(d.journal.lists.Undo), proven)
	done := len(waiting) == 0 && len(d.journal.lists.Mixed) == 0 && d.journal.State != Prepared
	return d.record(record{State: d.journal.State, Dropped: true, Clean: done})
}

// complete records that a set needs no proof, in case the process that swapped it stopped before that.
func (d *Dir) complete() error {
	if d.journal.State != Swapped || len(d.journal.lists.Undo) > 0 || d.journal.Clean {
		return nil
	}
	return d.record(record{State: Confirmed, Dropped: true, Clean: true})
}

// swapBegun reports whether a live name has already changed for a prepared set.
func (d *Dir) swapBegun(ctx context.Context) (bool, error) {
	if d.journal.State != Prepared {
		return false, nil
	}
	seen, err := d.look(ctx)
	return err == nil && touched(d.journal.lists.Files, seen), err
}

// clearPrevious removes the empty folders of backups. Other files in them stay.
func (d *Dir) clearPrevious() {
	if err := clearFolder(d.fs, path.Join(StateDir, previousDir)); err != nil {
		d.log.Debug().Err(err).Msg("folder of backups not removed")
	}
}

// RollBack restores the last proven set on request. Without a pending set it does nothing. The error is a *update.Fault, or
// that of ctx.
func (d *Dir) RollBack(ctx context.Context) error {
	if !d.Pending() {
		return nil
	}
	return d.fault(d.rollBack(ctx, blame))
}

// Blocked lists the sets that were rolled back and are not installed again automatically.
func (d *Dir) Blocked() []Try {
	return slices.DeleteFunc(slices.Clone(d.journal.Tries), func(t Try) bool { return !t.Refused() })
}

// HeldBack is the set that the last Plan held back, or the zero Try.
func (d *Dir) HeldBack() Try { return d.held }

// Unblock clears the record of all sets on request, so that blocked ones may be installed again. The error is a
// *update.Fault.
func (d *Dir) Unblock() error {
	if len(d.Blocked()) == 0 {
		return nil
	}
	return d.fault(d.record(record{State: d.journal.State, Clean: d.journal.Clean, Tries: []Try{}}))
}

// reason says whether a rolled-back set is at fault.
type reason bool

const (
	blame  reason = true  // it is not installed again automatically
	excuse reason = false // it may be installed again
)

// ErrNoWayBack reports that a set can't be rolled back because a backup is missing or damaged.
var ErrNoWayBack = errors.New("no way back to the last proven set")

// rollBack rolls back the live set of this host. It records nothing before all backups are verified.
func (d *Dir) rollBack(ctx context.Context, r reason) error {
	if err := d.withdraw(ctx); err != nil {
		return err
	}
	return d.rollBackOf(ctx, d.cfg.Names.Library(), d.journal.lists.Is, r)
}

func (d *Dir) rollBackOf(ctx context.Context, library string, set release.Digest, r reason) error {
	trial := d.journal.lists.clone()
	next := record{State: RollingBack, Back: library}
	trial.apply(d.journal.State, next, set)
	if _, lost, err := d.undoSteps(ctx, trial); err != nil || lost != "" {
		if err == nil {
			err = fmt.Errorf("%w: %s", ErrNoWayBack, lost)
			d.log.Error().Str("file", lost).Msg("the backup is missing or damaged; the set stays")
		}
		return err
	}
	if r == blame {
		next.Tries = with(d.journal.Tries, set, func(t *Try) { t.Blocked, t.Begun = true, 0 })
	}
	if err := d.record(next); err != nil {
		return err
	}
	return d.goBack(ctx)
}

// goBack performs the rollback after RollingBack is recorded.
func (d *Dir) goBack(ctx context.Context) error {
	return d.exclusively(ctx, func() error {
		var stay, mixed []string
		err := d.eachWay(func() ([]Step, error) {
			steps, lost, err := d.undoSteps(ctx, d.journal.lists)
			if lost != "" {
				d.log.Error().Str("file", lost).Msg("the backup vanished on the way back")
				err = errors.Join(err, fmt.Errorf("%w: %s", ErrNoWayBack, lost))
			}
			return steps, err
		})
		if errors.Is(err, ErrNoWayBack) { // the live files stay; the next update repairs them
			if stay, err = d.live(ctx, d.journal.lists.replacing()); err == nil {
				mixed, err = d.astray(ctx, d.journal.lists.returning())
			}
		}
		if err != nil {
			return err
		}
		d.log.Warn().Msg("went back to the last proven set")
		d.clearPrevious()
		waiting := slices.DeleteFunc(slices.Clone(d.journal.lists.Undo), func(u undo) bool { return u.Reverting })
		return d.record(record{
			State: RolledBack, Clean: len(waiting) == 0 && len(mixed) == 0 && len(d.journal.lists.Blend) == 0, Stay: stay, Mixed: mixed,
		})
	})
}

// live lists the files among these that are live with their exact content, at most maxNamed. Unlisted ones are then missing
// from the recorded set.
func (d *Dir) live(ctx context.Context, files []entry) (names []string, err error) {
	for _, e := range fetched(files) {
		seen, err := d.content(ctx, e.Live, e.Digest, release.Digest{})
		if err != nil && !platform.IsUnreadable(err) {
			return nil, err
		}
		if seen == Wanted && len(names) < maxNamed {
			names = append(names, e.Live)
		}
	}
	return names, nil
}

// undoSteps computes the steps of a rollback from the state of the disk.
func (d *Dir) undoSteps(ctx context.Context, l lists) (steps []Step, lost string, err error) {
	set := l.set()
	var back []undo
	var now []entry
	var seen []Seen
	for _, u := range l.Undo {
		if !u.Reverting {
			continue
		}
		e := set[u.Live]
		e.Kind, e.Live = u.Kind, u.Live
		var s Seen
		if s.Live, err = d.contentBack(ctx, u.Live, e, u); err == nil && !u.Digest.IsZero() {
			s.Backup, err = d.contentBack(ctx, u.entry().backup(), e, u)
		}
		if err != nil {
			return nil, "", err
		}
		back, now, seen = append(back, u), append(now, e), append(seen, s)
	}
	steps, lost = Undo(back, now, seen, d.ways())
	return steps, lost, nil
}

// contentBack classifies a name during a rollback. If both files are the same one, it counts as restored.
func (d *Dir) contentBack(ctx context.Context, name string, now entry, u undo) (Content, error) {
	if u.Digest == now.Digest {
		now.Digest = release.Digest{}
	}
	return d.content(ctx, name, now.Digest, u.Digest)
}
