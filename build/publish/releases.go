package publish

import (
	"fmt"
	"slices"

	"collet/build/advice"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// releases reads what is published: the signed list, and the heads and lists that its entries name. It writes nothing.
type releases struct {
	fs       platform.FS
	repo     *trust.Repo
	settings Settings
	heads    map[release.Object]release.Head    // that were read
	lists    map[[2]release.Object]releaseLists // listings and sources that were read last, by their objects; at most keptLists
	first    map[string]int64                   // what firstListed returned for the signed list of version firstOf
	firstOf  int64
}

// keptLists is how many listings and sources are kept: those of a release and the ones before it, which are needed several times.
const keptLists = 8

// channel returns name, or the default channel if it is empty.
func (r *releases) channel(name string) string {
	if name == "" {
		return r.settings.Channel
	}
	return name
}

// selects reports whether w selects an entry.
func (r *releases) selects(e release.Entry, w Which) bool {
	return r.isBeside(e, w) && e.Number == w.Number
}

// isBeside reports whether an entry has the channel and a target of those that w selects.
func (r *releases) isBeside(e release.Entry, w Which) bool {
	return e.Product == r.settings.Product && e.Channel == r.channel(w.Channel) && (w.Target == "" || e.Target == w.Target)
}

// findEntries lists the selected entries. It returns an error if no entry matches.
func (r *releases) findEntries(w Which) ([]release.Entry, error) {
	var list []release.Entry
	for _, e := range r.repo.Entries() {
		if r.selects(e, w) {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return nil, advice.Wrong("collet release list shows those that are", "there is no release %d in channel %s%s", w.Number, r.channel(w.Channel), forTarget(w.Target))
	}
	return list, nil
}

func forTarget(target string) string {
	if target == "" {
		return ""
	}
	return " for " + target
}

// nextNumber is the highest number of any target in any channel plus one, so that a release keeps its number when it is promoted.
func (r *releases) nextNumber() uint64 {
	highest := uint64(0)
	for _, e := range r.repo.Entries() {
		if e.Product == r.settings.Product {
			highest = max(highest, e.Number)
		}
	}
	return highest + 1
}

// checkNumberRises checks that a number is above those already in its channel and target.
func (r *releases) checkNumberRises(line release.Entry, entries []release.Entry) error {
	for _, e := range entries {
		if e.Track() == line.Track() && e.Number >= line.Number {
			return advice.Wrong(fmt.Sprintf("take another number there with --as-number %d", r.nextNumber()),
				"channel %s has release %d for %s, and numbers rise for ever", e.Channel, e.Number, e.Target)
		}
	}
	return nil
}

// checkNotKilled checks that a release was not killed in any of the channels that offer it.
func (r *releases) checkNotKilled(e release.Entry) error {
	killed, found, err := release.FindKilled(r.repo.Entries(), e, r.head)
	if found {
		return advice.Wrong("publish a corrected one with collet release publish", "release %s was killed, which is for ever: it is offered in no other channel", killed.Path())
	}
	return err
}

// channels are those with releases.
func (r *releases) channels() (names []string) {
	for _, e := range r.repo.Entries() {
		if e.Product == r.settings.Product && !slices.Contains(names, e.Channel) {
			names = append(names, e.Channel)
		}
	}
	return names
}

// earlier lists the releases of an entry's channel and target with lower numbers, the newest first.
func (r *releases) earlier(line release.Entry) (list []release.Entry) {
	for _, e := range r.repo.Entries() {
		if e.Track() == line.Track() && e.Number < line.Number {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

// firstListed is trust.Repo.FirstListed, which reads up to 64 lists. The caller does not change the map.
func (r *releases) firstListed() map[string]int64 {
	if now := r.repo.Version(); r.first == nil || r.firstOf != now {
		r.first, r.firstOf = r.repo.FirstListed(), now
	}
	return r.first
}

// head reads the head of an entry.
func (r *releases) head(e release.Entry) (release.Head, error) {
	if h, known := r.heads[e.Head]; known {
		return h, nil
	}
	data, err := platform.ReadFile(r.fs, e.Head.HeadPath(), release.MaxHead)
	if err != nil {
		return release.Head{}, advice.Because(err, "", "head of release %s", e.Path())
	}
	h, err := trust.OpenHead(trust.UnverifiedBytes(data), e)
	if err != nil {
		return release.Head{}, advice.Because(err, "", "head of release %s", e.Path())
	}
	r.heads[e.Head] = h
	return h, nil
}

// object reads a small object whole. The caller verifies it.
func (r *releases) object(o release.Object) ([]byte, error) {
	data, err := platform.ReadFile(r.fs, o.Path(), o.Size)
	if err != nil {
		return nil, advice.Because(err, "run collet release verify", "object %s", o.Path())
	}
	return data, nil
}

// listing reads the listing of a head.
func (r *releases) listing(h release.Head) (release.Listing, error) {
	data, err := r.object(h.Listing.Object)
	if err != nil {
		return nil, err
	}
	return release.UnpackListing(data, h.Listing)
}

// sources reads the list of sources of a head.
func (r *releases) sources(h release.Head) (release.Sources, error) {
	data, err := r.object(h.Sources)
	if err != nil {
		return nil, err
	}
	return release.UnpackSources(data, h.Sources)
}

// signedLists reads the newest signed documents, in the order in which clients read them.
func (r *releases) signedLists() (list []release.SequelPart, err error) {
	for _, name := range r.repo.Lists() {
		data, err := platform.ReadFile(r.fs, name, maxMetadata)
		if err != nil {
			return nil, advice.Because(err, "", "read %s", name)
		}
		list = append(list, release.SequelPart{Name: name, Data: data})
	}
	return list, nil
}

// releaseLists are the lists of a release: of an earlier one that players may have, or of the one that is being published.
type releaseLists struct {
	entry   release.Entry
	listing release.Listing
	sum     release.Digest
	sources release.Sources
	packed  int64          // bytes of the packed listing and sources, which a patch saves, too
	changes *delta.Changes // delta index; nil if it has none or is not needed
	object  release.Object // the object of changes
}

// readLists reads the lists of a release.
func (r *releases) readLists(e release.Entry) (o releaseLists, err error) {
	h, err := r.head(e)
	if err != nil {
		return o, err
	}
	key := [2]release.Object{h.Listing.Object, h.Sources}
	o, known := r.lists[key]
	o.entry, o.sum, o.packed = e, h.Listing.Sum, h.Listing.Object.Size+h.Sources.Size
	if known {
		return o, nil
	}
	if o.listing, err = r.listing(h); err == nil {
		o.sources, err = r.sources(h)
	}
	if err != nil {
		return o, advice.Because(err, "", "release %s", e.Path())
	}
	if len(r.lists) >= keptLists || r.lists == nil {
		r.lists = map[[2]release.Object]releaseLists{}
	}
	r.lists[key] = o
	return o, nil
}

// selectEarlier selects the releases from which patches are made: the last few of a channel and target, and the named ones. A release whose lists
// can't be read is skipped, unless it is named, so that a damaged old release does not block a new one.
func (r *releases) selectEarlier(line release.Entry, last int, named []uint64) (chosen []releaseLists, skipped []PatchSummary, err error) {
	list := r.earlier(line)
	for _, n := range named {
		if !slices.ContainsFunc(list, func(e release.Entry) bool { return e.Number == n }) {
			return nil, nil, advice.Wrong("collet release list shows those that are", "there is no earlier release %s/%s/%s/%d to make a patch from", line.Product, line.Channel, line.Target, n)
		}
	}
	for i, e := range list {
		if i >= last && !slices.Contains(named, e.Number) {
			continue
		}
		o, err := r.readLists(e)
		switch {
		case err == nil:
			chosen = append(chosen, o)
		case slices.Contains(named, e.Number):
			return nil, nil, err
		default:
			skipped = append(skipped, PatchSummary{From: e.Number, Why: "that release is damaged: see collet release verify"})
		}
	}
	return chosen, skipped, nil
}
