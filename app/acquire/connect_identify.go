package acquire

import (
	"context"
	"slices"

	"collet/netproto/release"
)

// identifyLast is how many of the last releases an install of unknown origin is compared with: packages contain recent releases.
const identifyLast = 3

// identify identifies an installed release that is not remembered, as after an installation from a package: it compares the last
// releases that have a patch or a delta index to the new one with the disk. It costs a head for each, requested together, and the
// listing of each candidate. Without it, more bytes of the release would be fetched. An install that lacks all of many resources, such as a
// package with the module alone, can't be an earlier release: identify skips it.
func (c *connecting) identify(ctx context.Context, answer trusted) error {
	if c.old != nil || c.head.PatchCount() == 0 && c.head.Changes.IsZero() || c.o.Disk.Bare() {
		return nil
	}
	if err := c.takeListing(ctx); err != nil || c.listing != nil && !hasResources(c.o.Disk, c.listing) {
		return err
	}
	entries, err := c.lists.client.Entries()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e release.Entry) bool {
		return e.Track() != answer.Track() || e.Number == c.head.Number
	})
	entries = entries[max(len(entries)-identifyLast, 0):]
	a := newPrefetcher(ctx, identifyLast)
	defer a.close()
	slices.Reverse(entries)
	for _, e := range entries {
		a.addTask(e.Head.Size, func(ctx context.Context) (any, error) {
			return c.lists.client.Head(ctx, c.objects.direct(), release.Choice{Entry: e, Listed: true})
		})
	}
	for _, e := range entries {
		found, err := a.nextResult()
		if err == nil {
			err = c.adopt(ctx, e, found.(release.Head))
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			c.o.Log.Info().Err(err).Uint64("number", e.Number).Msg("an earlier release can't be looked at")
		}
		if c.old != nil {
			c.o.Log.Info().Uint64("number", c.installed.Number).Msg("the installed release was told by its files")
			return nil
		}
	}
	return nil
}

// takeListing takes the listing of the head, if it is here: from an earlier start that was stopped, or from the sequel.
func (c *connecting) takeListing(ctx context.Context) (err error) {
	c.listing = c.remembered.listing(object{c.head.Listing.Sum, c.head.Listing.Size})
	if c.listing == nil && c.objects.currentSequel().waitForPart(ctx, c.head.Listing.Object.Path()) {
		c.listing, err = c.objects.fetchListing(ctx, c.head.Listing)
	}
	return err
}

// identifySamples is how many resources are looked for, all over the listing: an earlier release has hardly other names for all of them. With
// fewer resources it may have, and their lists are small.
const identifySamples = 64

// hasResources reports whether a disk may have resources of an earlier release than that of a listing: a file under the name of a new one, or
// the new release has few.
func hasResources(disk Disk, list release.Listing) bool {
	var resources []release.File
	for _, f := range list.Files() {
		if f.Role == release.Resource && disk.Manages(f) {
			resources = append(resources, f)
		}
	}
	step := 1 + len(resources)/identifySamples
	for i := 0; i < len(resources); i += step {
		if disk.Has(resources[i]) {
			return true
		}
	}
	return len(resources) < identifySamples
}

// adopt sets a release as the installed one, if it has a patch or a delta index to the new one and matches the disk.
func (c *connecting) adopt(ctx context.Context, e release.Entry, head release.Head) error {
	if !c.index.follows(ctx, c.head, head.Listing.Sum) {
		return nil
	}
	list, err := c.objects.fetchListing(ctx, head.Listing)
	if err != nil {
		return err
	}
	is, err := matchesDisk(ctx, c.o.Disk, list)
	if err != nil || !is {
		return err
	}
	c.old = list
	c.installed = installedRelease{
		Product: e.Product, Channel: e.Channel, Target: e.Target, Number: e.Number, Head: object(e.Head),
		Listing: object{head.Listing.Sum, head.Listing.Size},
	}
	c.progress.update(func(r *Report) { r.From = e.Number })
	return nil
}
