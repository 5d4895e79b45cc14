package install

import (
	"context"
	"errors"
	"slices"

	"collet/netproto/release"
)

// moduleRepair replaces a missing or damaged module by a copy on this disk.
type moduleRepair struct{ *transaction }

// restoreMissing restores a missing live module from this disk. Without a copy the built-in client runs until the server offers
// the module again.
func (m *moduleRepair) restoreMissing(ctx context.Context) error {
	live := m.names.Library()
	if there, err := exists(m.fs, live); err != nil || there || m.journal.gaveWay(live) {
		return err
	}
	_, err := m.restoreFromCopy(ctx)
	return err
}

// RestoreModule handles a live module that exists but can't be loaded. If it no longer matches the set, it restores the
// previous module with its whole set, or an exact copy of the module. restored reports whether the live module has changed.
// The error is a *update.Fault, or that of ctx.
func (d *Dir) RestoreModule(ctx context.Context) (restored bool, err error) {
	live, repair := d.names.Library(), &moduleRepair{d.tx}
	right, err := repair.isSetFile(ctx, live, live)
	if _, known := d.journal.lists.setByName()[live]; err != nil || right || !known {
		return false, d.fault(err)
	}
	restored, err = repair.restoreFromCopy(ctx)
	return restored, d.fault(err)
}

// restoreFromCopy restores a module from this disk. A pending module is rolled back with its whole set; otherwise an exact
// copy, a backup or a file with its staging name, takes its place.
func (m *moduleRepair) restoreFromCopy(ctx context.Context) (restored bool, err error) {
	live := m.names.Library()
	replaced := func(u undo) bool { return u.Live == live && !u.Digest.IsZero() }
	if slices.ContainsFunc(m.journal.pending(live), replaced) {
		m.log.Warn().Str("file", live).Msg("the new module is missing or damaged; the last proven set takes its place")
		if err := m.rollBack(ctx, allowSet); !errors.Is(err, ErrNoWayBack) {
			return err == nil, err
		}
	}
	for _, from := range []string{live + BackupSuffix, live + StagingSuffix} {
		if right, err := m.isSetFile(ctx, live, from); err != nil || !right {
			if err != nil {
				return false, err
			}
			continue
		}
		m.log.Warn().Str("from", from).Msg("the live module is missing or damaged; its copy takes its place")
		steps := []Step{{Do: Place, From: from, To: live}}
		if there, err := exists(m.fs, live); err != nil || there {
			if err != nil {
				return false, err
			}
			steps = slices.Insert(steps, 0, Step{Do: Recycle, From: live})
		}
		err := m.locks.exclusively(ctx, func() error { return m.move.perform(steps) })
		return err == nil, err
	}
	return false, nil
}

// isSetFile reports whether a name holds the set's file for live. An install without a recorded set, made by another
// updater, accepts a backup without a check.
func (m *moduleRepair) isSetFile(ctx context.Context, live, name string) (bool, error) {
	if there, err := exists(m.fs, name); err != nil || !there {
		return false, err
	}
	if ok, err := m.journal.load(m.fs); err != nil || !ok {
		return false, err
	}
	e, known := m.journal.lists.setByName()[live]
	if !known {
		return m.base == nil && len(m.journal.lists.Set) == 0 && name == live+BackupSuffix, nil
	}
	seen, err := m.hash.content(ctx, name, e.Digest, release.Digest{})
	return seen == Wanted, err
}

// ModuleIsNew reports whether the live module belongs to a pending set and is intact. If such a module can't be loaded, the
// set is at fault; otherwise the damage is.
func (d *Dir) ModuleIsNew(ctx context.Context) bool {
	live := d.names.Library()
	if !slices.ContainsFunc(d.journal.pending(live), func(u undo) bool { return u.Live == live }) {
		return false
	}
	right, err := (&moduleRepair{d.tx}).isSetFile(ctx, live, live)
	return right && err == nil
}
