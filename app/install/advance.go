package install

import (
	"context"
	"errors"
	"path"
	"slices"

	"collet/platform"
)

// transaction moves the install from one set to the next and back. It is the only writer of the journal: all other parts read
// it, and planning begins its transactions.
//
//	Plan ─begin─► Commit: stage ─► Promote: swap ─► Health: rollBack, or proven ─► clean
//	Open: settle, then the same steps again from where a stop left them
type transaction struct {
	*folder
	move     *mover
	locks    *locks
	vanished string // a file found missing during the last swap; may be empty
}

// changes reports whether the transaction leads to another set, rather than only repairing this one. Missed companions do
// not count: a companion that is locked at every start must not look like a set that never proves itself.
func (j *Journal) changes(missed []string) bool {
	return slices.ContainsFunc(j.lists.Files, func(e entry) bool { return !e.Repair && !slices.Contains(missed, e.Live) })
}

// record writes one record to the journal.
func (t *transaction) record(r record) error { return t.journal.write(t.fs, r) }

// ways is what this install allows for a swap.
func (t *transaction) ways() ways {
	return ways{exchange: !t.move.twoStep, inherits: t.journal.lists.unproven()}
}

// look determines the content of every name of the transaction, as far as needed.
func (t *transaction) look(ctx context.Context) ([]Seen, error) {
	files, inherits := t.journal.lists.Files, t.ways().inherits
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
		if !inherits[e.Live] && !e.Repair {
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

// stage moves a prepared set as far as allowed while the old set is in use.
func (t *transaction) stage(ctx context.Context) error {
	seen, err := t.look(ctx)
	if err != nil {
		return err
	}
	steps := Next(t.journal.lists.Files, seen, Stage, t.ways())
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
	err := t.move.eachWay(func() (steps []Step, err error) {
		seen, err := t.look(ctx)
		if err != nil {
			return nil, err
		}
		steps = Next(t.journal.lists.Files, seen, Swap, t.ways())
		if lost, err = t.onLoss(ctx, steps); lost {
			return nil, err
		}
		return steps, err
	})
	if err != nil || lost {
		return err
	}
	files := slices.Concat(t.journal.lists.Files, t.journal.lists.Adopted)
	missed, err := t.missed(ctx)
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
		return t.locks.asSole(alone, func() error { return t.swapNow(ctx) })
	}
	if !errors.Is(err, platform.ErrLocked) {
		return err
	}
	seen, err := t.look(ctx)
	if err != nil || touched(t.journal.lists.Files, seen) {
		return errors.Join(err, t.swap(ctx))
	}
	t.log.Info().Msg("another process uses the old set; the new one waits")
	return nil
}

// missed lists companions that were not replaced. They are best effort; the set records the files that are really live.
func (t *transaction) missed(ctx context.Context) (names []string, err error) {
	inherits := t.ways().inherits
	for _, e := range t.journal.lists.Files {
		if e.Kind != Companion || e.Repair {
			continue
		}
		seen, err := t.hash.content(ctx, e.Live, e.Digest, e.Old)
		if err == nil && seen == Absent && !e.gone() && !e.Old.IsZero() && !inherits[e.Live] {
			seen, err = t.putBack(ctx, e)
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

// putBack restores the backup of a companion. Where names can't be exchanged, the old file is moved away first; the new one
// may then be locked, for example by a virus scanner. putBack returns what is live afterwards.
func (t *transaction) putBack(ctx context.Context, e entry) (Content, error) {
	there, err := t.hash.content(ctx, e.backup(), e.Digest, e.Old)
	if err != nil || there != Previous {
		return Absent, err
	}
	if err := t.move.perform([]Step{{Place, e.backup(), e.Live, true}}); err != nil {
		return Absent, err
	}
	return t.hash.content(ctx, e.Live, e.Digest, e.Old)
}

// onLoss handles Restart and Revert. done reports that no other step remains.
func (t *transaction) onLoss(ctx context.Context, steps []Step) (done bool, err error) {
	if len(steps) != 1 || steps[0].Do != Restart && steps[0].Do != Revert {
		return false, nil
	}
	t.vanished = steps[0].From
	t.log.Warn().Str("file", t.vanished).Msg("prepared bytes are gone, perhaps a virus scanner took them; they will be fetched again")
	if steps[0].Do == Restart {
		return true, t.record(t.journal.withdrawn())
	}
	seen, err := t.look(ctx)
	if err == nil {
		err = t.move.perform(Found(t.journal.lists.Files, seen, t.ways()))
	}
	if err != nil {
		return false, err
	}
	err = t.rollBackOf(ctx, t.journal.library(t.names.Library()), t.journal.Build, excuse)
	if errors.Is(err, ErrNoWayBack) {
		r := record{State: RolledBack}
		if r.Stay, err = t.hash.live(ctx, t.journal.lists.Files); err == nil {
			r.Mixed, err = t.hash.astray(ctx, t.journal.lists.Files)
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
	seen, err := t.look(ctx)
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
	seen, err := t.look(ctx)
	return err == nil && touched(t.journal.lists.Files, seen), err
}

// orLoss returns an error for bytes lost during the swap. Open does not use it: there the file is only fetched again.
func (t *transaction) orLoss(err error) error {
	lost := t.vanished
	t.vanished = ""
	if err != nil || lost == "" {
		return err
	}
	return vanishedFault(t.fs.Path(lost), nil)
}
