package delta

import (
	"context"
)

// blocks pass the new bytes from the producing goroutine to the writing one. So the two run concurrently, and small
// matches do not become small writes. The producer calls room, pass and end; the writer takes from full, returns to
// free, and calls drain if it stops early.
type blocks struct {
	full, free chan []byte
	size       int
	b          []byte // the block being filled
}

const (
	blockSize  = 2 * pieceSize // of a block, in bytes
	blockCount = 4             // being filled, waiting, and being written
)

// newBlocks makes blocks for so many bytes in all.
func newBlocks(want int64) *blocks {
	k := &blocks{full: make(chan []byte, blockCount), free: make(chan []byte, blockCount), size: int(min(want, blockSize))}
	for range blockCount {
		k.free <- nil
	}
	return k
}

// reserve returns space for the next n new bytes, at most pieceSize and no more than are left.
func (k *blocks) reserve(ctx context.Context, n int) ([]byte, error) {
	if len(k.b)+n > cap(k.b) {
		if err := k.flush(ctx); err != nil {
			return nil, err
		}
		select {
		case k.b = <-k.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if k.b = k.b[:0]; cap(k.b) == 0 {
			k.b = make([]byte, 0, k.size)
		}
	}
	k.b = k.b[:len(k.b)+n]
	return k.b[len(k.b)-n:], nil
}

// flush sends the filled block to the writer.
func (k *blocks) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(k.b) > 0 {
		k.full <- k.b // full has room for all blocks
	}
	k.b = nil
	return nil
}

// end marks the end of the data.
func (k *blocks) end() { close(k.full) }

// drain waits until the producer has ended.
func (k *blocks) drain() {
	for range k.full {
	}
}
