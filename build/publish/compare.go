package publish

import (
	"cmp"
	"context"
	"slices"

	"collet/app/acquire"
	"collet/netproto/release"
)

// Update is what a release changes for players of earlier ones.
type Update struct {
	Entry  release.Entry
	Before uint64   // number of the release before; 0 without one
	Files  []Change // compared with that release, sorted by path; without one, all files as added

	First Estimate   // what a new player fetches, by what the client chooses
	From  []Estimate // what players of the earlier releases fetch, the newest first; without the way by chunks
}

// Kinds of changes.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// Change is one file that differs between two releases.
type Change struct {
	Kind string
	Path string
	Size int64 // bytes of the new file; of the old one where it was removed
}

// Update compares a release with the one before, and estimates what players of the last few earlier releases fetch. A zero line stands for the
// values that clients assume before they have measured their link.
func (f *Folder) Update(ctx context.Context, e release.Entry, last int, line acquire.Link) (Update, error) {
	u := Update{Entry: e}
	fresh, err := f.releases.readLists(e)
	if err != nil {
		return u, err
	}
	var old release.Listing
	for i, before := range f.releases.earlier(e) {
		if i == max(last, 1) {
			break
		}
		if i == 0 {
			o, err := f.releases.readLists(before)
			if err != nil {
				return u, err
			}
			u.Before, old = before.Number, o.listing
		}
		if i < last {
			one, err := f.releases.estimate(ctx, before, e, line, false)
			if err != nil {
				return u, err
			}
			u.From = append(u.From, one)
		}
	}
	u.Files = compareSets(old, fresh.listing)
	u.First, err = f.releases.estimateFirst(e, fresh, line)
	return u, err
}

// Count returns the number of files with a kind of change, and their bytes.
func (u Update) Count(kind string) (files int, bytes int64) {
	for _, c := range u.Files {
		if c.Kind == kind {
			files, bytes = files+1, bytes+c.Size
		}
	}
	return files, bytes
}

// compareSets lists the files that differ.
func compareSets(old, fresh release.Listing) (list []Change) {
	for _, f := range fresh {
		if was, found := old.Find(f.Path); !found {
			list = append(list, Change{Added, f.Path, f.Size})
		} else if was != f {
			list = append(list, Change{Changed, f.Path, f.Size})
		}
	}
	for _, f := range old {
		if _, found := fresh.Find(f.Path); !found {
			list = append(list, Change{Removed, f.Path, f.Size})
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return list
}
