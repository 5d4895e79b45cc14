package delta

import (
	"context"
)

// blocks carry the new bytes from the goroutine that makes them to the one that writes them, so that the two go on side by
// side, and small matches do not become small writes. The maker calls room, pass and end; the writer takes from full, gives
// back to free, and calls drain if it goes on no further.
type blocks struct {
	full, free chan []byte
	size       int
	b          []byte // the one that is being filled
}

const (
	blockSize  = 2 * pieceSize // of a block, in bytes
	blockCount = 4             // being made, waiting, and being written
)

// newBlocks is for so many bytes in all.
func newBlocks(want int64) *blocks {
	k := &blocks{full: make(chan []byte, blockCount), free: make(chan []byte, blockCount), size: int(min(want, blockSize))}
	for range blockCount {
		k.free <- nil
	}
	return k
}

// room is the place for the next n new bytes, at most pieceSize and no more than are to come.
func (k *blocks) room(ctx context.Context, n int) ([]byte, error) {
	if len(k.b)+n > cap(k.b) {
		if err := k.pass(ctx); err != nil {
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

// pass gives the writer what is there.
func (k *blocks) pass(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(k.b) > 0 {
		k.full <- k.b // there is room for as many as there are
	}
	k.b = nil
	return nil
}

// end says that no more come.
func (k *blocks) end() { close(k.full) }

// drain waits until the maker has ended.
func (k *blocks) drain() {
	for range k.full {
	}
}
