package releases

import (
	"fmt"
	"slices"

	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/platform"
)

// maxFetches is how many earlier releases of each target Fetches tells about: as many as the summaries of `collet release`.
const maxFetches = 5

// Fetch is what players of one earlier release fetch for a promoted one.
type Fetch struct {
	Target string
	From   uint64
	Patch  bool
	Bytes  int64 // of the patch; without one at most so many: chunks that players have are left out
}

// promotion is a release in another channel.
type promotion struct {
	heads   map[string][]byte // by their names, for the proposal
	fetches []Fetch
}

// promote adds the releases of a change in another channel. No file but their heads is new: contents have their digest as name, whichever
// channel they are for. Patches of the first channel start from sets of files, so they serve the players who have the same set from
// another channel; others fetch chunks or whole files.
func (p *promotion) promote(dir platform.FS, c Change, before []release.Entry) (after []release.Entry, err error) {
	if c.Into == c.Channel || !slices.ContainsFunc(before, func(e release.Entry) bool { return e.Product == c.Product && e.Channel == c.Into }) {
		return nil, ErrInto
	}
	head := func(e release.Entry) (release.Head, error) { return proposal.Head(dir, e) }
	after, p.heads = slices.Clone(before), map[string][]byte{}
	for _, e := range before {
		if e.Product != c.Product || e.Channel != c.Channel || e.Number != c.Number {
			continue
		}
		if killed, found, err := release.FindKilled(before, e, head); err != nil {
			return nil, fmt.Errorf("look for killed releases: %w", err)
		} else if found {
			return nil, fmt.Errorf("release %s: %w", killed.Path(), ErrKilled)
		}
		h, err := head(e)
		if err != nil {
			return nil, fmt.Errorf("head of release %s: %w", e.Path(), err)
		}
		earlier := earlierOf(before, release.Track{Product: e.Product, Channel: c.Into, Target: e.Target})
		if len(earlier) > 0 && earlier[0].Number >= e.Number {
			return nil, ErrNumber
		}
		if err := p.addFetches(dir, h, earlier); err != nil {
			return nil, fmt.Errorf("what players fetch for release %s: %w", e.Path(), err)
		}
		h.Channel = c.Into
		data, err := h.Encode()
		if err != nil {
			return nil, fmt.Errorf("head of release %s in %s: %w", e.Path(), c.Into, err)
		}
		promoted := release.Entry{Product: h.Product, Channel: h.Channel, Target: h.Target, Number: h.Number, Percent: uint8(c.Percent), Head: release.ObjectOf(data)}
		p.heads[promoted.Head.HeadPath()] = data
		after = append(after, promoted)
	}
	if len(after) == len(before) {
		return nil, ErrUnknown
	}
	slices.SortFunc(after, release.CompareEntries)
	return after, nil
}

// earlierOf are the releases of a track, the newest first.
func earlierOf(entries []release.Entry, track release.Track) (list []release.Entry) {
	for _, e := range entries {
		if e.Track() == track {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b release.Entry) int { return release.CompareEntries(b, a) })
	return list
}

// addFetches tells what players of the newest of the earlier releases fetch.
func (p *promotion) addFetches(dir platform.FS, h release.Head, earlier []release.Entry) error {
	earlier = slices.DeleteFunc(earlier, func(e release.Entry) bool { return e.Killed })
	listing, err := readListing(dir, h)
	if err != nil {
		return err
	}
	data, err := platform.ReadFile(dir, h.Sources.Path(), h.Sources.Size)
	if err != nil {
		return err
	}
	sources, err := release.UnpackSources(data, h.Sources)
	if err != nil {
		return err
	}
	for _, e := range earlier[:min(len(earlier), maxFetches)] {
		f := Fetch{Target: e.Target, From: e.Number}
		old, err := proposal.Head(dir, e)
		if err == nil {
			f.Bytes, f.Patch, err = costOf(dir, h, listing, sources, old)
		}
		if err == nil { // a damaged old release must not hide the others
			p.fetches = append(p.fetches, f)
		}
	}
	return nil
}

// costOf is what a player with an old release fetches: the smaller patch, or else at most all contents that are new.
func costOf(dir platform.FS, h release.Head, listing release.Listing, sources release.Sources, old release.Head) (bytes int64, patch bool, err error) {
	if old.Listing.Sum == h.Listing.Sum {
		return 0, true, nil
	}
	usual, plain := h.PatchFrom(old.Listing.Sum)
	expanded, wide := h.ExpandedFrom(old.Listing.Sum)
	switch {
	case plain && wide:
		return min(usual.Size, expanded.Size), true, nil
	case plain:
		return usual.Size, true, nil
	case wide:
		return expanded.Size, true, nil
	}
	before, err := readListing(dir, old)
	if err != nil {
		return 0, false, err
	}
	has, wanted := map[release.Digest]bool{}, map[release.Digest]bool{}
	for _, f := range before {
		has[f.Sum] = true
	}
	for _, f := range listing {
		wanted[f.Sum] = !has[f.Sum]
	}
	for _, s := range sources {
		if wanted[s.Content] {
			bytes += s.Whole.Size
		}
	}
	return bytes, false, nil
}

// readListing reads the list of files of a release.
func readListing(dir platform.FS, h release.Head) (release.Listing, error) {
	data, err := platform.ReadFile(dir, h.Listing.Object.Path(), h.Listing.Object.Size)
	if err != nil {
		return nil, err
	}
	return release.UnpackListing(data, h.Listing)
}
