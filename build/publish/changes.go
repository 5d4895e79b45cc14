package publish

import (
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
	// maxCompared is the maximum number of earlier releases that are compared one by one if no delta index exists for them.
	maxCompared = 32
)

// changeSteps compares a release with the previous one that has another set, and takes over that one's own steps. It stops at a release that
// can't be read. last is the newest release with another set, or nil.
func (r *releases) changeSteps(to releaseLists) (last *releaseLists, steps []delta.ChangeStep) {
	next := to
	for i, e := range r.earlier(to.entry) {
		if i == maxCompared {
			break
		}
		h, err := r.head(e)
		if err != nil {
			break
		}
		if h.Listing.Sum != next.sum {
			listing, err := r.listing(h)
			if err != nil {
				break
			}
			steps = append(steps, delta.ChangeStep{From: delta.MarkOf(h.Listing.Sum), Paths: delta.ChangedPaths(listing, next.listing)})
			next = releaseLists{entry: e, listing: listing, sum: h.Listing.Sum}
			if last == nil {
				before := next
				last = &before
			}
		}
		if table, data, err := r.deltaIndex(h); err == nil && table != nil {
			if more, err := table.Steps(data); err == nil {
				return last, append(steps, more...)
			}
		}
	}
	return last, steps
}

// deltaIndex reads the delta index of a head; nil if the head has none.
func (r *releases) deltaIndex(h release.Head) (table *delta.Changes, data []byte, err error) {
	if h.Changes.IsZero() {
		return nil, nil, nil
	}
	if data, err = r.object(h.Changes); err == nil {
		err = h.Changes.Verify(data)
	}
	if err == nil {
		table, err = delta.ReadChangesTable(data[:min(len(data), delta.MaxChangesTable)])
	}
	return table, data, err
}

// readDeltaIndex reads the delta index of a published release.
func (o *releaseLists) readDeltaIndex(r *releases, h release.Head) (err error) {
	o.object = h.Changes
	if o.changes, _, err = r.deltaIndex(h); err != nil {
		return advice.Because(err, "run collet release verify", "changes of release %s", o.entry.Path())
	}
	return nil
}

// reach returns how many bytes of the delta index a client with the given set needs; 0 if the index does not cover it.
func (o releaseLists) reach(from release.Digest) int64 {
	if o.changes == nil {
		return 0
	}
	return o.changes.Reach(from)
}

// listsCost is what a client with an older set and without a patch fetches to obtain the new listing and sources.
func (o releaseLists) listsCost(old release.Digest) acquire.Cost {
	reach := o.reach(old)
	cost := acquire.AskChanges(o.object.Size, reach)
	if reach > 0 && cost.Bytes < o.packed {
		return cost
	}
	cost.Bytes += o.packed
	cost.RoundTrips += 2
	return cost
}
