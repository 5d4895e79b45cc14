package publish

import (
	"bufio"
	"context"
	"errors"
	"io"

	"collet/netproto/deflate"
	"collet/netproto/delta"
	"collet/netproto/release"
)

const (
	// minExpandedShare is how much smaller than the set patch, or than all whole objects, an expanded one is at least, in percent. A client
	// spends processor time on it.
	minExpandedShare = 20
	// minExpandedSaving is how many bytes it saves at least.
	minExpandedSaving = 4 << 10
)

// expandedKey is the key of an expanded set patch in the ledger.
func expandedKey(from, to release.Digest) string {
	return "expanded1 " + from.String() + ">" + to.String()
}

// makeExpanded makes one expanded set patch, or reuses an existing one. patch is the size of the set patch, 0 without one, and whole what
// it replaces, in bytes. The result is zero if it would save too little.
func (pm *patchMaker) makeExpanded(ctx context.Context, b *blobs, old, fresh releaseLists, patch, whole int64) (release.Object, error) {
	if patch == 0 {
		patch = whole
	}
	most := min(patch*(100-minExpandedShare)/100, patch-minExpandedSaving)
	if most <= 0 {
		return release.Object{}, nil
	}
	o, _, err := pm.makeObject(old, fresh, patchJob{
		key: expandedKey(old.sum, fresh.sum), name: "expanded patch",
		make: func(out io.Writer) (int64, error) {
			stats, err := deflate.MakePatch(ctx, out, b.side(ctx, old.listing), b.side(ctx, fresh.listing), scratchFiles{pm.store}, delta.SetPatchOptions{
				Workers: pm.workers, MaxMemory: pm.memory, MaxBytes: most, Progress: pm.meter.setBytes,
			})
			if errors.Is(err, deflate.ErrNothingDeflated) {
				err = delta.ErrPatchTooLarge
			}
			return stats.Bytes, err
		},
		verify: func(patch io.Reader) error { return pm.verifyExpanded(ctx, b, patch, old, fresh) },
	})
	return o, err
}

// verifyExpanded applies an expanded set patch like a client, so that a wrong one is never published.
func (pm *patchMaker) verifyExpanded(ctx context.Context, b *blobs, patch io.Reader, old, fresh releaseLists) error {
	p, err := deflate.OpenPatch(patch, old.listing, fresh.sum)
	if err != nil {
		return err
	}
	return p.ApplySome(ctx, b.side(ctx, old.listing).Source, scratchFiles{pm.store}, discardSink{}, delta.SetWish{
		Wanted: func(int) bool { return true },
		Failed: func(_, _ int, err error) error { return err },
	})
}

// scratchFiles are temporary files beside the unfinished objects.
type scratchFiles struct{ store *objectStore }

// Create implements deflate.Scratch.
func (s scratchFiles) Create() (deflate.ScratchFile, error) {
	u, err := s.store.create()
	if err != nil {
		return nil, err
	}
	return scratchFile{u, bufio.NewWriterSize(u, scratchPage)}, nil
}

// scratchPage is how many bytes of a temporary file are written at once.
const scratchPage = 256 << 10

type scratchFile struct {
	*unfinished
	out *bufio.Writer
}

// Write implements io.Writer.
func (f scratchFile) Write(b []byte) (int, error) { return f.out.Write(b) }

// Flush implements deflate.ScratchFile.
func (f scratchFile) Flush() error { return f.out.Flush() }

// Close removes the file. A file that stays goes with the next start.
func (f scratchFile) Close() error {
	f.drop()
	return nil
}
