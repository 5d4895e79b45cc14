package publish

import (
	"slices"

	"collet/app/acquire"
	"collet/build/advice"
	"collet/netproto/delta"
	"collet/netproto/release"
)

const (
	// minChangedLists is from how many bytes of packed listing and sources on a release says what changed lately: smaller
	// ones come in about a round trip (64 KiB at 20 Mbit/s and 25 ms).
	minChangedLists = 64 << 10
	// changesShare is how many percent of the lists' bytes the changes may have. Whoever is so far behind that they would
	// need more fetches the lists.
	changesShare = 50
	// catchUp is how many earlier releases are compared one by one, as long as none of them says what changed before it.
	catchUp = 32
)

// putChanges writes what changed in a release since earlier ones of its channel and target, where the lists are large.
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
		_, _, err = to.changes.Apply(data, last.listing, last.sum, to.sum) // as a client does, so that none is published that leads elsewhere
	}
	if err != nil {
		return advice.Because(err, "report this", "what changed from release %d to %d for %s does not apply", last.entry.Number, h.Number, h.Target)
	}
	h.Changes, err = f.put(data)
	to.object = h.Changes
	return err
}

// steps compares a release with the one before it that has another set, and takes over what that one says of those before. What
// lies behind a release that can't be read is left out. last is the newest release that differs; nil if there is none.
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

// changes reads the changes of a head; nil if it has none.
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

// knowChanges reads the changes of a release that is published.
func (o *origin) knowChanges(f *Folder, h release.Head) (err error) {
	o.object = h.Changes
	if o.changes, _, err = f.changes(h); err != nil {
		return advice.Because(err, "run collet release verify", "changes of release %s", o.entry.Path())
	}
	return nil
}

// reach is how many bytes of the changes lead from a set; 0 if they don't.
func (o origin) reach(from release.Digest) int64 {
	if o.changes == nil {
		return 0
	}
	return o.changes.Reach(from)
}

// listsFrom is what a client fetches that has an older set and no patch, to know the new listing and the sources.
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
