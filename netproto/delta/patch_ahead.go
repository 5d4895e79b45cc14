package delta

import (
	"cmp"
	"io"
	"sync"
)

const (
	// aheadFrom is the size in bytes from which a frame's extra bytes are decoded in a separate goroutine, and the old bytes of
	// its matches are read in another one. Between two minor versions of a program the extra bytes are a fifth of it, and
	// decoding them takes longer than all other work. Reading is a quarter of the work on a module.
	aheadFrom = 1 << 20
	// diffAheadFrom is the same for the streams of a difference: decoding them is an eighth of the work on a module.
	diffAheadFrom = 64 << 10
	// aheadBlocks is how many pieces are prefetched: half a MiB of memory.
	aheadBlocks = 8
)

// readAhead prefetches a stream in a separate goroutine. One goroutine calls Read and close. A nil one may be closed.
type readAhead struct {
	full, free chan []byte
	stop       chan struct{}
	done       sync.WaitGroup
	piece      []byte // the unread part of the current one
	whole      []byte // all of it
	err        error  // how the stream ended; set before full is closed
}

func newReadAhead(r io.Reader) *readAhead {
	a := &readAhead{full: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
	for range aheadBlocks {
		a.free <- nil
	}
	a.done.Go(func() { a.prefetch(r) })
	return a
}

// prefetch reads to the end of the stream.
func (a *readAhead) prefetch(r io.Reader) {
	defer close(a.full)
	for a.err == nil {
		var b []byte
		select {
		case b = <-a.free:
		case <-a.stop:
			return
		}
		if b == nil {
			b = make([]byte, pieceSize)
		}
		n := 0
		for n < pieceSize && a.err == nil {
			var more int
			more, a.err = r.Read(b[n:pieceSize])
			n += more
		}
		if n > 0 {
			a.full <- b[:n] // full has room for all pieces
		}
	}
}

// Read implements io.Reader.
func (a *readAhead) Read(p []byte) (int, error) {
	for len(a.piece) == 0 {
		if a.whole != nil {
			a.free <- a.whole
			a.whole = nil
		}
		b, more := <-a.full
		if !more {
			return 0, cmp.Or(a.err, io.ErrClosedPipe)
		}
		a.piece, a.whole = b, b[:pieceSize]
	}
	n := copy(p, a.piece)
	a.piece = a.piece[n:]
	return n, nil
}

// close stops the goroutine and waits for it, so that the underlying stream is free. It may be called again.
func (a *readAhead) close() {
	if a == nil || a.stop == nil {
		return
	}
	close(a.stop)
	a.done.Wait()
	a.stop = nil
}
