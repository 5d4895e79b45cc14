package publish

import (
	"context"
	"slices"

	"collet/build/advice"
	"collet/build/publish/check"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// Which selects releases: one number of a channel, for one target or for all targets that have it.
type Which struct {
	Channel string // the default channel if empty
	Target  string // all if empty
	Number  uint64
}

// List describes all releases, the newest of each channel and target last.
func (f *Folder) List() ([]Listed, error) {
	var list []Listed
	for _, e := range f.repo.Entries() {
		h, err := f.releases.head(e)
		if err != nil {
			return nil, err
		}
		list = append(list, Listed{e, h})
	}
	return list, nil
}

// Listed is a release with its head.
type Listed struct {
	Entry release.Entry
	Head  release.Head
}

// Show describes the selected releases.
func (f *Folder) Show(w Which) ([]Listed, error) {
	entries, err := f.releases.findEntries(w)
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, e := range entries {
		h, err := f.releases.head(e)
		if err != nil {
			return nil, err
		}
		list = append(list, Listed{e, h})
	}
	return list, nil
}

// Beside lists the entries of all numbers in the channel of a release, for its targets. It returns an error if there is no such release.
func (f *Folder) Beside(w Which) ([]release.Entry, error) {
	if _, err := f.releases.findEntries(w); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(f.repo.Entries(), func(e release.Entry) bool { return !f.releases.isBeside(e, w) }), nil
}

// Change edits the selected entries of the signed list. It reports whether any entry changed. A killed release does not change any more.
func (f *Folder) Change(ctx context.Context, w Which, keys []*trust.PrivateKey, change func(*release.Entry)) (bool, error) {
	if _, err := f.releases.findEntries(w); err != nil {
		return false, err
	}
	if err := f.CheckKeys(keys, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp); err != nil {
		return false, err
	}
	entries := f.repo.Entries()
	before := slices.Clone(entries)
	for i := range entries {
		if f.releases.selects(entries[i], w) {
			change(&entries[i])
			if before[i].Killed && entries[i] != before[i] {
				return false, advice.Wrong("publish a corrected release with a higher number",
					"release %s was killed, which is for ever: it is offered to no player", before[i].Path())
			}
		}
	}
	if slices.Equal(before, entries) {
		return false, f.updateDerived(ctx)
	}
	if err := f.commit(ctx, entries, keys); err != nil {
		return false, err
	}
	return true, f.updateDerived(ctx)
}

// Promotion says which release is to be offered in another channel.
type Promotion struct {
	Which
	Into    string // the other channel
	Number  uint64 // its number there; 0 for the same
	Percent int    // of the clients there that get the offer

	Review func(ctx context.Context, found Review) error // as in Request
	DryRun bool                                          // as in Request
}

// Promote offers a release in another channel, with the same files, notes and version. Patches start from the releases that players of that
// channel have. A release that was killed in any channel is refused.
func (f *Folder) Promote(ctx context.Context, p Promotion, keys []*trust.PrivateKey) (s Summary, err error) {
	if fault := release.NameFault(p.Into); fault != "" {
		return s, advice.Wrong("name another channel with --into", "channel %q %s", p.Into, fault)
	}
	if p.Into == f.releases.channel(p.Channel) {
		return s, advice.Wrong("name another channel with --into", "release %d is in channel %s already", p.Which.Number, p.Into)
	}
	if !p.DryRun {
		if err := f.CheckKeys(keys, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp); err != nil {
			return s, err
		}
	}
	from, err := f.releases.findEntries(p.Which)
	if err != nil {
		return s, err
	}
	entries, lines := f.repo.Entries(), slices.Clone(from)
	for i, e := range from {
		if err := f.releases.checkNotKilled(e); err != nil {
			return s, err
		}
		if lines[i].Channel = p.Into; p.Number != 0 {
			lines[i].Number = p.Number
		}
		if err := f.releases.checkNumberRises(lines[i], entries); err != nil {
			return s, err
		}
	}
	if p.Review != nil {
		if err := p.Review(ctx, Review{Findings: check.Channel(p.Into, f.releases.channels())}); err != nil {
			return s, err
		}
	}
	for i, e := range from {
		made, err := putPromoted(ctx, f, e, lines[i], p.Percent)
		if err != nil {
			return s, err
		}
		s.Releases = append(s.Releases, made)
		entries = append(entries, made.Entry)
	}
	if p.DryRun {
		return s, f.store.sync()
	}
	if err := f.commit(ctx, entries, keys); err != nil {
		return s, err
	}
	return s, f.updateDerived(ctx)
}

// putPromoted writes the head of one release in another channel.
func putPromoted(ctx context.Context, f *Folder, e, line release.Entry, percent int) (s ReleaseSummary, err error) {
	h, err := f.releases.head(e)
	if err != nil {
		return s, err
	}
	fresh, err := f.releases.readLists(e)
	if err != nil {
		return s, err
	}
	fresh.entry = line
	b := newBlobs(f.unpacker)
	if err := b.addSet(fresh.listing, fresh.sources); err != nil {
		return s, advice.Because(err, "run collet release verify", "release %s", e.Path())
	}
	from, skipped, err := f.releases.selectEarlier(line, f.settings.Patches, nil)
	if err != nil {
		return s, err
	}
	h.Channel, h.Number = line.Channel, line.Number
	if len(f.releases.earlier(line)) > 0 { // else the first channel's changes may help players who switch
		if err := f.heads.putDeltaIndex(&h, &fresh); err != nil {
			return s, err
		}
	}
	s.Files, s.Bytes, s.Compatibility = h.Count, h.Bytes, h.Compatibility
	old := h.Patches
	if h.Patches, s.Patches, err = f.patches.makeAll(ctx, b, fresh, from); err != nil {
		return s, err
	}
	s.Patches = append(s.Patches, skipped...)
	for _, p := range old { // players may come over from the first channel, too
		if _, there := h.PatchFrom(p.From); !there && len(h.Patches) < release.MaxPatches {
			h.Patches = append(h.Patches, p)
		}
	}
	made, err := f.heads.putHead(h)
	made.Percent = uint8(percent)
	s.Entry = made
	return s, err
}

// Refresh signs the timestamp again, and each other document past half of its lifetime that these keys can sign.
func (f *Folder) Refresh(ctx context.Context, keys []*trust.PrivateKey) error {
	if err := f.CheckKeys(keys, trust.RoleTimestamp); err != nil {
		return err
	}
	if err := f.repo.Refresh(keys); err != nil {
		return advice.Because(err, "", "refresh the signatures")
	}
	return f.updateDerived(ctx)
}
