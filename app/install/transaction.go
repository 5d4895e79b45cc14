package install

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"collet/app/diskfault"
	"collet/netproto/release"
	"collet/platform"
)

// transaction moves the install from one set to the next and back. It is the only writer of the journal: all other parts read
// it, and preparation begins its transactions.
//
//	Plan ─begin─► Commit: swap ───────────────────────────► Health: rollBack, or proven ─► clean
//	Plan ─begin─► Commit: prepareSwap ─► Promote: swap ───► Health: the same     with a module in the set, or after DeferSwap
//	Open: syncEarlierChanges, then the same steps again from where a stop left them
type transaction struct {
	*folder
	move     *mover
	locks    *locks
	vanished string // a file found missing during the last swap; may be empty
}

// record writes one record to the journal.
func (t *transaction) record(r record) error { return t.journal.appendRecord(t.fs, r) }

// swapOptions is what this install allows for a swap.
func (t *transaction) swapOptions() swapOptions {
	return swapOptions{exchange: !t.move.twoStep, backedUp: t.journal.lists.backedUp()}
}

// examineNames determines the content of every name of the transaction, as far as needed.
func (t *transaction) examineNames(ctx context.Context) ([]Seen, error) {
	files, backedUp := t.journal.lists.Files, t.swapOptions().backedUp
	seen := make([]Seen, len(files))
	for i, e := range files {
		s := &seen[i]
		places := map[string]*Content{e.Live: &s.Live}
		if !e.gone() {
			places[e.part()] = &s.Part
		}
		if !e.gone() && e.Kind != Pack {
			places[e.staged()] = &s.Staged
		}
		if !backedUp[e.Live] && !e.Repair {
			places[e.backup()] = &s.Backup
		}
		for name, content := range places {
			var err error
			*content, err = t.hash.content(ctx, name, e.Digest, e.Old)
			if e.Broken && name == e.Live && platform.IsUnreadable(err) {
				*content, err = Other, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return seen, nil
}

// prepareSwap moves a prepared set as far as allowed while the old set is in use.
func (t *transaction) prepareSwap(ctx context.Context) error {
	seen, err := t.examineNames(ctx)
	if err != nil {
		return err
	}
	steps := Next(t.journal.lists.Files, seen, BeforeSwap, t.swapOptions())
	if done, err := t.onLoss(ctx, steps); done || err != nil {
		return err
	}
	return t.move.perform(steps)
}

// swap makes a prepared set live and records it. It waits until no process uses the old set.
func (t *transaction) swap(ctx context.Context) error {
	if t.journal.State != Prepared {
		return nil
	}
	return t.locks.exclusively(ctx, func() error { return t.swapNow(ctx) })
}

func (t *transaction) swapNow(ctx context.Context) error {
	lost := false
	err := t.move.performWithFallback(func() (steps []Step, err error) {
		seen, err := t.examineNames(ctx)
		if err != nil {
			return nil, err
		}
		steps = Next(t.journal.lists.Files, seen, Swap, t.swapOptions())
		if lost, err = t.onLoss(ctx, steps); lost {
			return nil, err
		}
		return steps, err
	})
	if err != nil || lost {
		return err
	}
	files := slices.Concat(t.journal.lists.Files, t.journal.lists.Adopted)
	missed, err := t.missedCompanions(ctx)
	if err != nil {
		return err
	}
	tries := with(t.journal.Tries, t.journal.Build, func(t *Try) { t.Swaps++ })
	if !t.journal.changes(missed) {
		tries = t.journal.Tries
	}
	if err := t.record(record{State: Swapped, Tries: tries, Missed: missed}); err != nil {
		return err
	}
	t.hash.remember(files)
	t.log.Info().Stringer("set", t.journal.Build).Int("files", len(files)).Msg("set swapped")
	if len(t.journal.lists.Undo) > 0 {
		return nil
	}
	t.hash.blocks.prune(t.journal.lists)
	return t.record(record{State: Confirmed, Dropped: true, Clean: true})
}

// swapUnlessUsed swaps a prepared set. It leaves the set prepared if another process uses the old one and the swap has not
// begun.
func (t *transaction) swapUnlessUsed(ctx context.Context) error {
	alone, err := t.fs.Lock(path.Join(StateDir, ReadersFile))
	if err == nil {
		return t.locks.whileSole(alone, func() error { return t.swapNow(ctx) })
	}
	if !errors.Is(err, platform.ErrLocked) {
		return err
	}
	seen, err := t.examineNames(ctx)
	if err != nil || swapBegun(t.journal.lists.Files, seen) {
		return errors.Join(err, t.swap(ctx))
	}
	t.log.Info().Msg("another process uses the old set; the new one waits")
	return nil
}

// missedCompanions lists companions that were not replaced. They are best effort; the set records the files that are really live.
func (t *transaction) missedCompanions(ctx context.Context) (names []string, err error) {
	backedUp := t.swapOptions().backedUp
	for _, e := range t.journal.lists.Files {
		if e.Kind != Companion || e.Repair {
			continue
		}
		seen, err := t.hash.content(ctx, e.Live, e.Digest, e.Old)
		if err == nil && seen == Absent && !e.gone() && !e.Old.IsZero() && !backedUp[e.Live] {
			seen, err = t.restoreCompanion(ctx, e)
		}
		if platform.IsUnreadable(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(names) < maxNamed && (seen == Previous || seen == Absent && e.Old.IsZero()) {
			names = append(names, e.Live)
		}
	}
	return names, nil
}

// restoreCompanion restores the backup of a companion. Where names can't be exchanged, the old file is moved away first; the new one
// may then be locked, for example by a virus scanner. restoreCompanion returns what is live afterwards.
func (t *transaction) restoreCompanion(ctx context.Context, e entry) (Content, error) {
	there, err := t.hash.content(ctx, e.backup(), e.Digest, e.Old)
	if err != nil || there != Previous {
		return Absent, err
	}
	if err := t.move.perform([]Step{{Place, e.backup(), e.Live, true}}); err != nil {
		return Absent, err
	}
	return t.hash.content(ctx, e.Live, e.Digest, e.Old)
}

// onLoss handles Discard and Revert. done reports that no other step remains.
func (t *transaction) onLoss(ctx context.Context, steps []Step) (done bool, err error) {
	if len(steps) != 1 || steps[0].Do != Discard && steps[0].Do != Revert {
		return false, nil
	}
	t.vanished = steps[0].From
	t.log.Warn().Str("file", t.vanished).Msg("prepared bytes are gone, perhaps a virus scanner took them; they will be fetched again")
	if steps[0].Do == Discard {
		return true, t.record(t.journal.withdrawn())
	}
	seen, err := t.examineNames(ctx)
	if err == nil {
		err = t.move.perform(KeepReplaced(t.journal.lists.Files, seen, t.swapOptions()))
	}
	if err != nil {
		return false, err
	}
	err = t.rollBackOf(ctx, t.journal.library(t.names.Library()), t.journal.Build, allowSet)
	if errors.Is(err, ErrNoWayBack) {
		r := record{State: RolledBack}
		if r.Stay, err = t.hash.liveFiles(ctx, t.journal.lists.Files); err == nil {
			r.Mixed, err = t.hash.wrongFiles(ctx, t.journal.lists.Files)
		}
		if err == nil {
			r.Clean = len(t.journal.lists.Undo) == 0 && len(r.Mixed) == 0
			err = t.record(r)
		}
		return true, err
	}
	return true, err
}

// withdraw makes room for another plan. A set whose swap has begun goes forward, because it must not stay incomplete. A set
// that is only prepared is withdrawn.
func (t *transaction) withdraw(ctx context.Context) error {
	if t.journal.State != Prepared {
		return nil
	}
	seen, err := t.examineNames(ctx)
	if err != nil {
		return err
	}
	steps, possible := Withdraw(t.journal.lists.Files, seen)
	if !possible {
		return t.swap(ctx)
	}
	if err := t.move.perform(steps); err != nil {
		return err
	}
	return t.record(t.journal.withdrawn())
}

// swapBegun reports whether a live name has already changed for a prepared set.
func (t *transaction) swapBegun(ctx context.Context) (bool, error) {
	if t.journal.State != Prepared {
		return false, nil
	}
	seen, err := t.examineNames(ctx)
	return err == nil && swapBegun(t.journal.lists.Files, seen), err
}

// orLoss returns an error for bytes lost during the swap. Open does not use it: there the file is only fetched again.
func (t *transaction) orLoss(err error) error {
	lost := t.vanished
	t.vanished = ""
	if err != nil || lost == "" {
		return err
	}
	return diskfault.Vanished(t.fs.Path(lost), nil)
}

// rollBack rolls back the live set of this host. It records nothing before all backups are verified.
func (t *transaction) rollBack(ctx context.Context, b blocking) error {
	if err := t.withdraw(ctx); err != nil {
		return err
	}
	return t.rollBackOf(ctx, t.names.Library(), t.journal.lists.Is, b)
}

func (t *transaction) rollBackOf(ctx context.Context, library string, set release.Digest, b blocking) error {
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
	if b == blockSet {
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
		err := t.move.performWithFallback(func() ([]Step, error) {
			steps, lost, err := t.undoSteps(ctx, t.journal.lists)
			if lost != "" {
				t.log.Error().Str("file", lost).Msg("the backup vanished on the way back")
				err = errors.Join(err, fmt.Errorf("%w: %s", ErrNoWayBack, lost))
			}
			return steps, err
		})
		if errors.Is(err, ErrNoWayBack) { // the live files stay; the next update repairs them
			if stay, err = t.hash.liveFiles(ctx, t.journal.lists.replacing()); err == nil {
				mixed, err = t.hash.wrongFiles(ctx, t.journal.lists.returning())
			}
		}
		if err != nil {
			return err
		}
		t.log.Warn().Msg("went back to the last proven set")
		t.move.clearPrevious()
		waiting := slices.DeleteFunc(slices.Clone(t.journal.lists.Undo), func(u undo) bool { return u.Reverting })
		return t.record(record{
			State: RolledBack, Clean: len(waiting) == 0 && len(mixed) == 0 && len(t.journal.lists.WasMixed) == 0, Stay: stay, Mixed: mixed,
		})
	})
}

// undoSteps computes the steps of a rollback from the state of the disk.
func (t *transaction) undoSteps(ctx context.Context, l lists) (steps []Step, lost string, err error) {
	set := l.setByName()
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
	steps, lost = Undo(back, now, seen, t.swapOptions())
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

// ErrNoWayBack reports that a set can't be rolled back because a backup is missing or damaged.
var ErrNoWayBack = errors.New("no way back to the last proven set")

// blocking says whether a rolled-back set may be installed again.
type blocking bool

const (
	blockSet blocking = true  // it failed: it is not installed again automatically
	allowSet blocking = false // its files were lost or damaged: it may be installed again
)
