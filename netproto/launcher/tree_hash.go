package launcher

import (
	"context"
	"fmt"
	"hash"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/minio/sha256-simd"

	"collet/platform"
)

// digester makes a Hash of what is written to it.
type digester struct{ hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) sum() (h Hash) {
	d.Sum(h[:0])
	return h
}

// HashOf is the SHA-256 of data.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// readSize is how many bytes are read at once for hashing: what fits into a second level cache.
const readSize = 256 << 10

// hashRange hashes the n bytes of f from off on. Fewer are io.ErrUnexpectedEOF: somebody cut the file.
func hashRange(ctx context.Context, f io.ReaderAt, off, n int64, buf []byte, done func(int)) (Hash, error) {
	d := newDigester()
	if err := readInto(ctx, d, f, off, n, buf, done); err != nil {
		return Hash{}, err
	}
	return d.sum(), nil
}

// readInto feeds the n bytes of f from off on to a digester, by way of buf.
func readInto(ctx context.Context, d digester, f io.ReaderAt, off, n int64, buf []byte, done func(int)) error {
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
		d.Write(piece)
		done(got)
		off, n = off+int64(got), n-int64(got)
	}
	return nil
}

// blockCount is how many blocks a file has. An empty file has one, of no bytes.
func blockCount(size uint64, blockSize uint64) uint64 {
	if size == 0 {
		return 1
	}
	return (size-1)/blockSize + 1
}

// hashBlocks hashes the blocks of a file, on all cores.
func hashBlocks(ctx context.Context, f platform.File, size int64, blockSize uint32) ([]Hash, error) {
	n := blockCount(uint64(size), uint64(blockSize))
	if n > MaxBlocks {
		return nil, fmt.Errorf("%d bytes in blocks of %d: %w", size, blockSize, tooMany(n, MaxBlocks))
	}
	hashes := make([]Hash, n)
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

// atOnce does something for each of n items, on all cores, until one fails. do may use buf, of readSize bytes.
func atOnce(ctx context.Context, n int, do func(ctx context.Context, i int, buf []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		working.Go(func() {
			buf := make([]byte, readSize)
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
