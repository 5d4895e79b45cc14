package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"collet/netproto/release"
)

// rollBack rolls back the live set of this host. It records nothing before all backups are verified.
func (t *transaction) rollBack(ctx context.Context, r reason) error {
	if err := t.withdraw(ctx); err != nil {
		return err
	}
	return t.rollBackOf(ctx, t.names.Library(), t.journal.lists.Is, r)
}

func (t *transaction) rollBackOf(ctx context.Context, library string, set release.Digest, r reason) error {
	trial := t.journal.lists.clone()
	next := record{State: RollingBack, Back: library}
	trial.apply(t.journal.State, next, set)
	if _, lost, err := t.undoSteps(ctx, trial); err != nil || lost != "" {
		if err == nil {
			err = fmt.Errorf("%w: %s", ErrNoWayBack, lost)
			t.log.Error().Str("file", lost).Msg("the backup is missing or damaged; the set stays")
		}
		return err
	}
	if r == blame {
		next.Tries = with(t.journal.Tries, set, func(t *Try) { t.Blocked, t.Begun = true, 0 })
	}
	if err := t.record(next); err != nil {
		return err
	}
	return t.goBack(ctx)
}

// goBack performs the rollback after RollingBack is recorded.
func (t *transaction) goBack(ctx context.Context) error {
	return t.locks.exclusively(ctx, func() error {
		var stay, mixed []string
		err := t.move.eachWay(func() ([]Step, error) {
			steps, lost, err := t.undoSteps(ctx, t.journal.lists)
			if lost != "" {
				t.log.Error().Str("file", lost).Msg("the backup vanished on the way back")
				err = errors.Join(err, fmt.Errorf("%w: %s", ErrNoWayBack, lost))
			}
			return steps, err
		})
		if errors.Is(err, ErrNoWayBack) { // the live files stay; the next update repairs them
			if stay, err = t.hash.live(ctx, t.journal.lists.replacing()); err == nil {
				mixed, err = t.hash.astray(ctx, t.journal.lists.returning())
			}
		}
		if err != nil {
			return err
		}
		t.log.Warn().Msg("went back to the last proven set")
		t.move.clearPrevious()
		waiting := slices.DeleteFunc(slices.Clone(t.journal.lists.Undo), func(u undo) bool { return u.Reverting })
		return t.record(record{
			State: RolledBack, Clean: len(waiting) == 0 && len(mixed) == 0 && len(t.journal.lists.Blend) == 0, Stay: stay, Mixed: mixed,
		})
	})
}

// undoSteps computes the steps of a rollback from the state of the disk.
func (t *transaction) undoSteps(ctx context.Context, l lists) (steps []Step, lost string, err error) {
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
		if s.Live, err = t.contentBack(ctx, u.Live, e, u); err == nil && !u.Digest.IsZero() {
			s.Backup, err = t.contentBack(ctx, u.entry().backup(), e, u)
		}
		if err != nil {
			return nil, "", err
		}
		back, now, seen = append(back, u), append(now, e), append(seen, s)
	}
	steps, lost = Undo(back, now, seen, t.ways())
	return steps, lost, nil
}

// contentBack classifies a name during a rollback. If both files are the same one, it counts as restored.
func (t *transaction) contentBack(ctx context.Context, name string, now entry, u undo) (Content, error) {
	if u.Digest == now.Digest {
		now.Digest = release.Digest{}
	}
	return t.hash.content(ctx, name, now.Digest, u.Digest)
}

// clean removes the backups of proven changes and the recycled files of old transactions.
func (t *transaction) clean(ctx context.Context) error {
	proven := func(u undo) bool { return u.Proven }
	if !slices.ContainsFunc(t.journal.lists.Undo, proven) {
		return t.complete()
	}
	if begun, err := t.swapBegun(ctx); begun || err != nil {
		return err // the backups belong to this swap already
	}
	if err := t.move.perform(Clean(t.journal.lists.Undo)); err != nil {
		return err
	}
	t.move.clearPrevious()
	t.move.purge()
	t.hash.blocks.prune(t.journal.lists)
	waiting := slices.DeleteFunc(slices.Clone(t.journal.lists.Undo), proven)
	done := len(waiting) == 0 && len(t.journal.lists.Mixed) == 0 && t.journal.State != Prepared
	return t.record(record{State: t.journal.State, Dropped: true, Clean: done})
}

// complete records that a set needs no proof, in case the process that swapped it stopped before that.
func (t *transaction) complete() error {
	if t.journal.State != Swapped || len(t.journal.lists.Undo) > 0 || t.journal.Clean {
		return nil
	}
	return t.record(record{State: Confirmed, Dropped: true, Clean: true})
}

// reason says whether a rolled-back set is at fault.
type reason bool

// ErrNoWayBack reports that a set can't be rolled back because a backup is missing or damaged.
var ErrNoWayBack = errors.New("no way back to the last proven set")

const (
	blame  reason = true  // it is not installed again automatically
	excuse reason = false // it may be installed again
)

// cleanIfPossible removes backups, best effort: a failure must not prevent Open, and the next start tries again.
func (t *transaction) cleanIfPossible(ctx context.Context) error {
	if err := t.clean(ctx); err != nil {
		t.log.Warn().Err(err).Msg("backups not removed")
	}
	return ctx.Err()
}

// recordProven records that the live set has proven itself.
func (t *transaction) recordProven() error {
	j := t.journal
	return t.record(record{State: j.ended(Confirmed), Proven: t.names.Library(), Tries: without(j.Tries, j.lists.Is)})
}
