package install

import (
	"context"
	"errors"
	"slices"

	"collet/netproto/release"
)

// restore restores a missing live module from this disk. Without a copy the built-in client runs until the server offers
// the module again.
func (d *Dir) restore(ctx context.Context) error {
	live := d.cfg.Names.Library()
	if there, err := exists(d.fs, live); err != nil || there || d.gaveWay(live) {
		return err
	}
	_, err := d.restoreFromCopy(ctx)
	return err
}

// RestoreModule handles a live module that exists but can't be loaded. If it no longer matches the set, it restores the
// previous module with its whole set, or an exact copy of the module. restored reports whether the live module has changed.
// The error is a *update.Fault, or that of ctx.
func (d *Dir) RestoreModule(ctx context.Context) (restored bool, err error) {
	live := d.cfg.Names.Library()
	right, err := d.isSetFile(ctx, live, live)
	if _, known := d.journal.lists.set()[live]; err != nil || right || !known {
		return false, d.fault(err)
	}
	restored, err = d.restoreFromCopy(ctx)
	return restored, d.fault(err)
}

// restoreFromCopy restores a module from this disk. A pending module is rolled back with its whole set; otherwise an exact
// copy, a backup or a staged file, takes its place.
func (d *Dir) restoreFromCopy(ctx context.Context) (restored bool, err error) {
	live := d.cfg.Names.Library()
	replaced := func(u undo) bool { return u.Live == live && !u.Digest.IsZero() }
	if slices.ContainsFunc(d.journal.pending(live), replaced) {
		d.log.Warn().Str("file", live).Msg("the new module is missing or damaged; the last proven set takes its place")
		if err := d.rollBack(ctx, excuse); !errors.Is(err, ErrNoWayBack) {
			return err == nil, err
		}
	}
	for _, from := range []string{live + BackupSuffix, live + StagingSuffix} {
		if right, err := d.isSetFile(ctx, live, from); err != nil || !right {
			if err != nil {
				return false, err
			}
			continue
		}
		d.log.Warn().Str("from", from).Msg("the live module is missing or damaged; its copy takes its place")
		steps := []Step{{Do: Place, From: from, To: live}}
		if there, err := exists(d.fs, live); err != nil || there {
			if err != nil {
				return false, err
			}
			steps = slices.Insert(steps, 0, Step{Do: Recycle, From: live})
		}
		err := d.exclusively(ctx, func() error { return d.perform(steps) })
		return err == nil, err
	}
	return false, nil
}

// isSetFile reports whether a name holds the set's file for live. An install without a recorded set, made by another
// updater, accepts a backup without a check.
func (d *Dir) isSetFile(ctx context.Context, live, name string) (bool, error) {
	if there, err := exists(d.fs, name); err != nil || !there {
		return false, err
	}
	if ok, err := d.journal.load(d.fs); err != nil || !ok {
		return false, err
	}
	e, known := d.journal.lists.set()[live]
	if !known {
		return d.cfg.Base == nil && len(d.journal.lists.Set) == 0 && name == live+BackupSuffix, nil
	}
	seen, err := d.content(ctx, name, e.Digest, release.Digest{})
	return seen == Wanted, err
}
