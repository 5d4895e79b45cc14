package delta

import (
	"context"
	"io"
)

const (
	// sameBlock is the smallest block for comparing long files, in bytes. A file of more than maxBlocks of them has
	// larger blocks, so that the table of an old file stays below 100 MB.
	sameBlock = 4 << 10
	maxBlocks = 1 << 20
	// rollBase is the base of the rolling hash: an odd number with well distributed bits.
	rollBase = 0x9E3779B97F4A7C15
	// sieveBits is the size of the bit filter before the table, as a power of two of bits: 2 MiB, which stay in the cache.
	sieveBits = 24
)

// oldBlocks maps the rolling hash of each block of an old file to its offset.
type oldBlocks struct {
	size  int64
	at    map[uint64]int64
	sieve []uint64
	out   uint64 // rollBase to the power of size: the factor of the byte leaving the window
}

// findSame finds maximal identical ranges of new in old. It reads each file about once and needs some hundred bytes of
// memory for each block of the old one.
func findSame(ctx context.Context, old io.ReaderAt, oldSize int64, fresh io.ReaderAt, size int64) ([]longCopy, error) {
	b, err := hashBlocks(ctx, old, oldSize)
	if err != nil || b == nil {
		return nil, err
	}
	m := &sameFinder{
		blocks: b, old: &fileWindow{from: old, size: oldSize}, fresh: &fileWindow{from: fresh, size: size},
		rolled: &fileWindow{from: fresh, size: size},
	}
	for m.at+b.size <= size && len(m.copies) < maxCopies/8 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := m.scanPiece(); err != nil {
			return nil, err
		}
	}
	return m.copies, nil
}

// hashBlocks hashes an old file block by block. It returns nil for a file of less than one block.
func hashBlocks(ctx context.Context, old io.ReaderAt, size int64) (*oldBlocks, error) {
	b := &oldBlocks{size: sameBlock, at: map[uint64]int64{}, sieve: make([]uint64, 1<<(sieveBits-6)), out: 1}
	for size/b.size > maxBlocks {
		b.size *= 2
	}
	if size < b.size {
		return nil, nil
	}
	for range b.size {
		b.out *= rollBase
	}
	buf := make([]byte, b.size)
	for at := int64(0); at+b.size <= size; at += b.size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n, err := old.ReadAt(buf, at); n < len(buf) {
			return nil, short(err)
		}
		h := rollHash(buf)
		if _, there := b.at[h]; !there {
			b.at[h] = at
			b.sieve[h>>(64-sieveBits)>>6] |= 1 << (h >> (64 - sieveBits) & 63)
		}
	}
	return b, nil
}

func rollHash(b []byte) (h uint64) {
	for _, c := range b {
		h = h*rollBase + uint64(c) + 1
	}
	return h
}

// find is the offset of a block with this hash.
func (b *oldBlocks) find(h uint64) (int64, bool) {
	if b.sieve[h>>(64-sieveBits)>>6]&(1<<(h>>(64-sieveBits)&63)) == 0 {
		return 0, false
	}
	at, found := b.at[h]
	return at, found
}

// sameFinder scans the new file.
type sameFinder struct {
	blocks     *oldBlocks
	old, fresh *fileWindow // to compare
	rolled     *fileWindow // of the new file, to roll over
	at         int64       // everything before is done
	end        int64       // of the last copy
	copies     []longCopy
}

// scanPiece scans one piece of the new file and uses the first match in it.
func (m *sameFinder) scanPiece() error {
	size := m.blocks.size
	stretch, err := m.rolled.bytes(m.at, 1<<20+size)
	if err != nil {
		return err
	}
	h := rollHash(stretch[:size])
	for i := int64(0); ; i++ {
		if from, found := m.blocks.find(h); found {
			taken, err := m.addCopy(m.at+i, from)
			if err != nil || taken {
				return err
			}
		}
		if i+size >= int64(len(stretch)) {
			m.at += i + 1
			return nil
		}
		h = h*rollBase + uint64(stretch[i+size]) + 1 - m.blocks.out*(uint64(stretch[i])+1)
	}
}

// addCopy extends a match in both directions to a copy, if its bytes are really equal.
func (m *sameFinder) addCopy(at, from int64) (bool, error) {
	forward, err := m.matchForward(at, from)
	if err != nil || forward < m.blocks.size {
		return false, err
	}
	back, err := m.matchBackward(at, from)
	if err != nil {
		return false, err
	}
	at, from, forward = at-back, from-back, forward+back
	m.copies = append(m.copies, longCopy{gap: at - m.end, size: forward, from: from})
	m.end = at + forward
	m.at = m.end
	return true, nil
}

// matchForward is how many bytes are equal from two offsets on.
func (m *sameFinder) matchForward(at, from int64) (n int64, err error) {
	for {
		a, err := m.fresh.bytes(at+n, 256<<10)
		if err != nil {
			return 0, err
		}
		b, err := m.old.bytes(from+n, 256<<10)
		if err != nil {
			return 0, err
		}
		k := common(a, b)
		if n += int64(k); k < len(a) || k < len(b) || k == 0 {
			return n, nil
		}
	}
}

// matchBackward is how many bytes are equal before two offsets, at most back to the last copy.
func (m *sameFinder) matchBackward(at, from int64) (n int64, err error) {
	for n < min(at-m.end, from) {
		step := min(4<<10, at-m.end-n, from-n)
		a, err := m.fresh.bytes(at-n-step, step)
		if err != nil {
			return 0, err
		}
		b, err := m.old.bytes(from-n-step, step)
		if err != nil {
			return 0, err
		}
		k := sharedTail(a, b)
		if n += int64(k); int64(k) < step {
			break
		}
	}
	return n, nil
}

// fileWindow reads a file piece by piece and keeps the last piece.
type fileWindow struct {
	from io.ReaderAt
	size int64
	at   int64
	buf  []byte
}

// windowSize is how much is read at a time, in bytes.
const windowSize = 4 << 20

// bytes returns at most n bytes from an offset on, fewer only at the end of the file. They are valid until the next call.
func (w *fileWindow) bytes(at, n int64) ([]byte, error) {
	n = min(n, w.size-at)
	if at < w.at || at+n > w.at+int64(len(w.buf)) {
		if w.buf == nil {
			w.buf = make([]byte, windowSize)
		}
		w.at = max(0, at-windowSize/4) // some of the bytes before are read, too
		w.buf = w.buf[:min(int64(cap(w.buf)), w.size-w.at)]
		if got, err := w.from.ReadAt(w.buf, w.at); got < len(w.buf) {
			w.buf = w.buf[:0]
			return nil, short(err)
		}
	}
	return w.buf[at-w.at : at-w.at+n], nil
}

// short is the error of a short read.
func short(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
