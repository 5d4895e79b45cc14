package install

import (
	"context"
	"slices"

	"collet/netproto/release"
	"collet/platform"
)

// Incomplete lists files of the live set that are known to be missing or another release's: those that a way back could not
// bring back, and packs that are not there or have another size. It reads no contents. Such a set is mended by the next
// update; without one a player has to agree before it is started. A missing module does not count, because the
// built-in client stands in for it. The error is a *update.Fault.
func (d *Dir) Incomplete() (files []string, err error) {
	if err := d.loadLists(); err != nil {
		return nil, d.fault(err)
	}
	files = slices.Clone(d.journal.lists.Mixed)
	if d.journal.State == Prepared || d.journal.State == RollingBack {
		return files, nil // the set is not live, and others use the one before it
	}
	for _, e := range d.journal.lists.Set {
		if e.Kind != pack || slices.Contains(files, e.Live) {
			continue
		}
		info, err := d.fs.Lstat(e.Live)
		if err != nil && !isAbsent(err) {
			return nil, d.fault(err)
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() != e.Size {
			files = append(files, e.Live)
		}
	}
	return files, nil
}

// astray lists the files among these that are not what the set before had: there was no way back for them. Companions are best
// effort. A set so large that it does not fit keeps some to itself.
func (d *Dir) astray(ctx context.Context, files []entry) (names []string, err error) {
	for _, e := range files {
		if e.Kind == companion || len(names) == maxNamed {
			continue
		}
		seen, err := d.content(ctx, e.Live, e.Digest, e.Old)
		if platform.IsUnreadable(err) {
			seen, err = Other, nil
		}
		if err != nil {
			return nil, err
		}
		if seen != Previous && !(e.Repair && seen == Wanted) && !(e.Old.IsZero() && seen == Absent) {
			names = append(names, e.Live)
		}
	}
	return names, nil
}

// returning are the files that are on their way back: Old is what comes back.
func (l *lists) returning() (files []entry) {
	for _, u := range l.Undo {
		if u.Reverting {
			files = append(files, entry{Kind: u.Kind, Live: u.Live, Digest: release.Digest{}, Old: u.Digest, OldSize: u.Size})
		}
	}
	return files
}
