package acquire

import (
	"context"
	"slices"

	"collet/netproto/release"
)

// identifyLast is how many of the last releases an install of unknown origin is held against: an installation from a package
// gets one that was made lately.
const identifyLast = 3

// identify finds out which release is installed where nothing of it is remembered, as after an installation from a package:
// the last releases from which there are patches, or which the changes follow, are held against the disk. It costs a head for each, asked for together,
// and the listing of those that come into question; without it more of the release would be fetched than that.
func (s *Source) identify(ctx context.Context, answer trusted) error {
	if s.old != nil || len(s.head.Patches) == 0 && s.head.Changes.IsZero() || s.o.Disk.Bare() {
		return nil
	}
	entries, err := s.trust.Entries()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e release.Entry) bool {
		return e.Product != answer.Product || e.Channel != answer.Channel || e.Target != answer.Target || e.Number == s.head.Number
	})
	entries = entries[max(len(entries)-identifyLast, 0):]
	a := newPrefetcher(ctx, identifyLast)
	defer a.close()
	slices.Reverse(entries)
	for _, e := range entries {
		a.add(e.Head.Size, func(ctx context.Context) (any, error) {
			return s.trust.Head(ctx, documents{s.fetcher}, release.Choice{Entry: e, Listed: true})
		})
	}
	for _, e := range entries {
		found, err := a.next()
		if err == nil {
			err = s.adopt(ctx, e, found.(release.Head))
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			s.o.Log.Info().Err(err).Uint64("number", e.Number).Msg("an earlier release can't be looked at")
		}
		if s.old != nil {
			s.o.Log.Info().Uint64("number", s.installed.Number).Msg("the installed release was told by its files")
			return nil
		}
	}
	return nil
}

// adopt takes a release for the installed one if there is a patch from it, or what changed since is said, and the disk
// resembles it.
func (s *Source) adopt(ctx context.Context, e release.Entry, head release.Head) error {
	if !s.follows(ctx, head.Listing.Sum) {
		return nil
	}
	data, err := s.fetchBytes(ctx, head.Listing.Object)
	if err != nil {
		return err
	}
	list, err := release.UnpackListing(data, head.Listing)
	if err != nil {
		return err
	}
	is, err := s.matchesDisk(ctx, list)
	if err != nil || !is {
		return err
	}
	s.old = list
	s.installed = installedRelease{
		Product: e.Product, Channel: e.Channel, Target: e.Target, Number: e.Number, Head: object(e.Head),
		Listing: object{head.Listing.Sum, head.Listing.Size},
	}
	s.updateReport(func(r *Report) { r.From = e.Number })
	return nil
}
