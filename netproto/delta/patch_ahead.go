package delta

import (
	"cmp"
	"io"
	"sync"
)

const (
	// aheadFrom is the size in bytes from which a frame's extra bytes are decoded in a goroutine of their own. Between two minor
	// versions of a program they are a fifth of it, and decoding them takes longer than everything else.
	aheadFrom = 1 << 20
	// aheadBlocks is how many pieces are decoded before they are wanted: half a MiB of memory.
	aheadBlocks = 8
)

// ahead reads a stream in a goroutine of its own, a few pieces before they are wanted. One goroutine calls Read and close. A nil one
// may be closed.
type ahead struct {
	full, free chan []byte
	stop       chan struct{}
	done       sync.WaitGroup
	piece      []byte // what is left of the one that is being read
	whole      []byte // all of it
	err        error  // how the stream ended; it is set when full is closed
}

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
	for range aheadBlocks {
		a.free <- nil
	}
	a.done.Go(func() { a.fill(r) })
	return a
}

// fill reads to the end of the stream.
func (a *ahead) fill(r io.Reader) {
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
			a.full <- b[:n] // there is room for as many as there are
		}
	}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
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

// close ends the goroutine and waits for it: nobody reads the stream below any more. It may be called again.
func (a *ahead) close() {
	if a == nil || a.stop == nil {
		return
	}
	close(a.stop)
	a.done.Wait()
	a.stop = nil
}
