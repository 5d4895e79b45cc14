package install

import (
	"context"
	"slices"

	"collet/netproto/release"
	"collet/platform"
)

// Incomplete lists files of the live set known to be missing or from another release. These are files that a rollback could
// not restore, and packs that are missing or have another size. It reads no contents. The next update repairs such a set;
// without an update the player must confirm the start. A missing module does not count, because the built-in client
// replaces it. The error is a *update.Fault.
func (d *Dir) Incomplete() (files []string, err error) {
	if err := d.loadLists(); err != nil {
		return nil, d.fault(err)
	}
	files = slices.Clone(d.journal.lists.Mixed)
	if d.journal.State == Prepared || d.journal.State == RollingBack {
		return files, nil // the set is not live, and other processes use the previous one
	}
	for _, e := range d.journal.lists.Set {
		if e.Kind != Pack || slices.Contains(files, e.Live) {
			continue
		}
		info, err := d.fs.Lstat(e.Live)
		if err != nil && !IsAbsent(err) {
			return nil, d.fault(err)
		}
		if err != nil || !info.Mode().IsRegular() || info.Size() != e.Size {
			files = append(files, e.Live)
		}
	}
	return files, nil
}

// astray lists the files among these that differ from the previous set because they could not be restored, at most
// maxNamed. Companions are best effort and not listed.
func (d *Dir) astray(ctx context.Context, files []entry) (names []string, err error) {
	for _, e := range files {
		if e.Kind == Companion || len(names) == maxNamed {
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

// returning are the files to restore: Old is the restored content.
func (l *lists) returning() (files []entry) {
	for _, u := range l.Undo {
		if u.Reverting {
			files = append(files, entry{Kind: u.Kind, Live: u.Live, Digest: release.Digest{}, Old: u.Digest, OldSize: u.Size})
		}
	}
	return files
}
