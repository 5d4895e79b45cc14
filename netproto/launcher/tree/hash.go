package tree

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/minio/sha256-simd"

	"collet/netproto/launcher/wire"
	"collet/platform"
)

// ReadSize is how many bytes one read for hashing takes: it fits into a second level cache.
const ReadSize = 256 << 10

// hashRange hashes the n bytes of f from off on. A shorter file gives io.ErrUnexpectedEOF: it was truncated meanwhile.
func hashRange(ctx context.Context, f io.ReaderAt, off, n int64, buf []byte, done func(int)) (wire.Hash, error) {
	d := sha256.New()
	if err := ReadInto(ctx, d, f, off, n, buf, done); err != nil {
		return wire.Hash{}, err
	}
	return wire.Hash(d.Sum(nil)), nil
}

// ReadInto copies the n bytes of f from off on to w, through buf. w must not fail.
func ReadInto(ctx context.Context, w io.Writer, f io.ReaderAt, off, n int64, buf []byte, done func(int)) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := buf[:min(int64(len(buf)), n)]
		got, err := f.ReadAt(piece, off)
		if got < len(piece) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		_, _ = w.Write(piece)
		done(got)
		off, n = off+int64(got), n-int64(got)
	}
	return nil
}

// hashBlocks hashes the blocks of a file, on all cores.
func hashBlocks(ctx context.Context, f platform.File, size int64, blockSize uint32) ([]wire.Hash, error) {
	n := wire.BlockCount(uint64(size), uint64(blockSize))
	if n > wire.MaxBlocks {
		return nil, fmt.Errorf("%d bytes in blocks of %d: %d is above the limit of %d", size, blockSize, n, wire.MaxBlocks)
	}
	hashes := make([]wire.Hash, n)
	err := atOnce(ctx, int(n), func(ctx context.Context, i int, buf []byte) error {
		off := int64(i) * int64(blockSize)
		var err error
		hashes[i], err = hashRange(ctx, f, off, min(int64(blockSize), size-off), buf, func(int) {})
		return err
	})
	if err != nil {
		return nil, err
	}
	return hashes, nil
}

// atOnce calls do for each of n items, on all cores, until one fails. do may use buf, of ReadSize bytes.
func atOnce(ctx context.Context, n int, do func(ctx context.Context, i int, buf []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		working.Go(func() {
			buf := make([]byte, ReadSize)
			for i := int(next.Add(1) - 1); i < n && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := do(ctx, i, buf); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}
