package publish

import (
	"slices"

	"collet/app/acquire"
	"collet/build/advice"
	"collet/netproto/delta"
	"collet/netproto/release"
)

const (
	// minChangedLists is the minimum size in bytes of a packed listing and sources for which a release has a delta index. Smaller lists
	// arrive in about one round trip (64 KiB at 20 Mbit/s and 25 ms).
	minChangedLists = 64 << 10
	// changesShare is the largest size of the delta index, in percent of the lists' bytes. A client that would need more fetches the lists.
	changesShare = 50
	// catchUp is the maximum number of earlier releases that are compared one by one when none of them has a delta index.
	catchUp = 32
)

// putChanges writes the delta index of a release against earlier ones of its channel and target, where the lists are large.
func (f *Folder) putChanges(h *release.Head, to *origin) error {
	h.Changes, to.changes, to.object = release.Object{}, nil, release.Object{}
	if to.lists < minChangedLists {
		return nil
	}
	last, steps := f.steps(*to)
	data, err := delta.EncodeChanges(steps, to.listing, to.sources, to.lists*changesShare/100)
	if err != nil {
		return advice.Because(err, "run collet release verify", "what changed in the release for %s", h.Target)
	}
	if data == nil {
		return nil
	}
	if to.changes, err = delta.ReadChangesTable(data); err == nil && last != nil {
		_, _, err = to.changes.Apply(data, last.listing, last.sum, to.sum) // as a client does, so that a wrong index is never published
	}
	if err != nil {
		return advice.Because(err, "report this", "what changed from release %d to %d for %s does not apply", last.entry.Number, h.Number, h.Target)
	}
	h.Changes, err = f.put(data)
	to.object = h.Changes
	return err
}

// steps compares a release with the previous one that has another set, and takes over that one's own steps. It stops at a release that
// can't be read. last is the newest release with another set, or nil.
func (f *Folder) steps(to origin) (last *origin, steps []delta.ChangeStep) {
	next := to
	for i, e := range f.earlier(to.entry) {
		if i == catchUp {
			break
		}
		h, err := f.head(e)
		if err != nil {
			break
		}
		if h.Listing.Sum != next.sum {
			listing, err := f.listing(h)
			if err != nil {
				break
			}
			steps = append(steps, delta.ChangeStep{From: delta.MarkOf(h.Listing.Sum), Paths: delta.ChangedPaths(listing, next.listing)})
			next = origin{entry: e, listing: listing, sum: h.Listing.Sum}
			if last == nil {
				before := next
				last = &before
			}
		}
		if table, data, err := f.changes(h); err == nil && table != nil {
			if more, err := table.Steps(data); err == nil {
				return last, append(steps, more...)
			}
		}
	}
	return last, steps
}

// earlier lists the releases of an entry's channel and target with lower numbers, the newest first.
func (f *Folder) earlier(line release.Entry) (list []release.Entry) {
	for _, e := range f.repo.Entries() {
		if e.Product == line.Product && e.Channel == line.Channel && e.Target == line.Target && e.Number < line.Number {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

// changes reads the delta index of a head; nil if the head has none.
func (f *Folder) changes(h release.Head) (table *delta.Changes, data []byte, err error) {
	if h.Changes.IsZero() {
		return nil, nil, nil
	}
	if data, err = f.object(h.Changes); err == nil {
		err = h.Changes.Verify(data)
	}
	if err == nil {
		table, err = delta.ReadChangesTable(data[:min(len(data), delta.MaxChangesTable)])
	}
	return table, data, err
}

// knowChanges reads the delta index of a published release.
func (o *origin) knowChanges(f *Folder, h release.Head) (err error) {
	o.object = h.Changes
	if o.changes, _, err = f.changes(h); err != nil {
		return advice.Because(err, "run collet release verify", "changes of release %s", o.entry.Path())
	}
	return nil
}

// reach returns how many bytes of the delta index a client with the given set needs; 0 if the index does not cover it.
func (o origin) reach(from release.Digest) int64 {
	if o.changes == nil {
		return 0
	}
	return o.changes.Reach(from)
}

// listsFrom is what a client with an older set and without a patch fetches to obtain the new listing and sources.
func (o origin) listsFrom(old release.Digest) acquire.Cost {
	reach := o.reach(old)
	cost := acquire.AskChanges(o.object.Size, reach)
	if reach > 0 && cost.Bytes < o.lists {
		return cost
	}
	cost.Bytes += o.lists
	cost.RoundTrips += 2
	return cost
}
