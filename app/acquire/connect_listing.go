package acquire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"collet/app/diskfault"
	"collet/app/download"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/span"
)

const (
	// smallPatch is the size in bytes up to which a set patch is fetched whole for the listing at its beginning: a small release
	// then costs one round trip.
	smallPatch = delta.MaxComputedPatch
	// firstWindow is the size of the first read of a larger patch for its listing, in bytes. Each further read is twice as large,
	// at most lastWindow.
	firstWindow = 32 << 10
	lastWindow  = 4 << 20
)

// findListing gets the listing of the head: from an earlier start or the sequel, from the beginning of a set patch, from the delta index, or
// from its own object, whichever is smallest. It is verified by the digest in the head.
func (c *connecting) findListing(ctx context.Context) error {
	if c.head.Listing.Sum == c.installed.Listing.Sum {
		c.listing = c.old
		return nil
	}
	if c.listing == nil { // identify has not taken it
		c.listing = c.remembered.listing(object{c.head.Listing.Sum, c.head.Listing.Size})
	}
	if c.listing != nil {
		return nil
	}
	patch, found := c.patch(c.failures)
	if o, there := c.expanded(c.failures); there && (!found || o.Size < patch.Size) {
		p, err := c.openExpanded(ctx, o, c.connected)
		if err == nil {
			c.expansion, c.listing = expansionOf(p), p.Listing()
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
	}
	if found && (patch.Size <= smallPatch || c.head.Listing.Object.Size > firstWindow) {
		list, err := c.listingOfPatch(ctx, patch)
		if err == nil || ctx.Err() != nil {
			c.listing = list
			return err
		}
		c.o.Log.Warn().Err(err).Msg("the set patch does not give the listing; its object is fetched")
		if local := (*localError)(nil); !errors.As(err, &local) {
			c.failures.record(patch.Sum, Patched, 1)
		}
	}
	if !c.objects.currentSequel().waitForPart(ctx, c.head.Listing.Object.Path()) {
		if index, err := c.index.fetch(ctx, c.connected); index != nil || err != nil {
			if index != nil {
				c.listing = index.listing
			}
			return err
		}
	}
	list, err := c.objects.fetchListing(ctx, c.head.Listing)
	c.listing = list
	return err
}

func (c *connecting) listingOfPatch(ctx context.Context, o release.Object) (release.Listing, error) {
	if o.Size > smallPatch {
		get := func(r download.Range) ([]byte, error) { return c.objects.fetchRange(ctx, o, r) }
		return c.listingOf(ctx, &windows{size: o.Size, next: firstWindow, get: get}, o.Size)
	}
	content, err := c.objects.fetchSpooled(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	list, err := c.listingOf(ctx, io.NewSectionReader(content, 0, content.Size()), o.Size)
	closed := content.Close() // an error does not matter after reading
	if local := (*localError)(nil); err == nil || endsFetch(ctx, err) || errors.As(err, &local) {
		return list, err
	}
	c.failures.record(o.Sum, Patched, maxFailures) // the object is the one in the head, so the failure is permanent
	return nil, errors.Join(err, closed, c.objects.discard(ctx, o))
}

// listingOf reads the new listing from a set patch, or computes it.
func (c *connecting) listingOf(ctx context.Context, patch io.Reader, size int64) (release.Listing, error) {
	p, err := delta.OpenSetPatch(patch, c.old, c.head.Listing.Sum)
	if err != nil {
		return nil, err
	}
	if !p.HasListing() {
		return c.compute(ctx, p, size)
	}
	return p.Listing(), nil
}

// localError says that a set patch could not be applied because of this machine: the disk is full, or an old file is damaged. The patch
// may be good, and is kept.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// compute applies a set patch without digests to the scratch file, and returns the resulting listing.
func (c *connecting) compute(ctx context.Context, p *delta.SetPatch, size int64) (release.Listing, error) {
	if size > delta.MaxComputedPatch {
		return nil, fmt.Errorf("a set patch of %d bytes has no digests; at most %d may do without", size, delta.MaxComputedPatch)
	}
	if err := c.dropScratch(); err != nil {
		return nil, &localError{err}
	}
	list, room := p.Contents(), int64(diskfault.Reserve)
	for _, content := range list {
		room += 2 * content.Size // in the scratch file, and as parts in the install
	}
	if free, err := c.o.FS.Free(); err == nil && free < uint64(room) {
		return nil, &localError{fmt.Errorf("%d bytes are free in %s, and %d are needed", free, c.o.FS.Path("."), room)}
	}
	m, err := createScratch(c.o.FS, c.o.Folder, list)
	if err != nil {
		return nil, &localError{err}
	}
	if err = p.Apply(ctx, openOldSet(ctx, c.o.Disk, c.old), m); err == nil {
		err = m.recordVerified(p.Contents())
	}
	if err == nil {
		c.scratch = m
		return p.Listing(), nil
	}
	return nil, errors.Join(c.blameMachine(ctx, p, err), m.drop())
}

// blameMachine returns a localError if a patch failed because of this machine, else err.
func (c *connecting) blameMachine(ctx context.Context, p *delta.SetPatch, err error) error {
	if endsFetch(ctx, err) {
		return &localError{err}
	}
	damaged, ended := p.Damaged(ctx, openOldSet(ctx, c.o.Disk, c.old))
	switch {
	case ended != nil:
		return ended
	case len(damaged) > 0:
		return &localError{fmt.Errorf("%q and %d more files are not what was installed: %w", c.old[damaged[0]].Path, len(damaged)-1, err)}
	default:
		return err
	}
}

// windows reads an object from its start on demand, in growing pieces. The bytes are unverified.
type windows struct {
	get  func(download.Range) ([]byte, error)
	size int64
	at   int64
	next int64
	data []byte
}

func (w *windows) Read(p []byte) (int, error) {
	if len(w.data) == 0 {
		if w.at == w.size {
			return 0, io.EOF
		}
		piece := span.Of(w.at, min(w.at+w.next, w.size))
		data, err := w.get(piece)
		if err != nil {
			return 0, err
		}
		w.data, w.at, w.next = data, piece.End, min(2*w.next, lastWindow)
	}
	n := copy(p, w.data)
	w.data = w.data[n:]
	return n, nil
}
