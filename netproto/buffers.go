package netproto

import (
	"bufio"
	"bytes"
	"compress/flate"
	"io"
	"sync"
)

const (
	// ioBuffer is the size in bytes of the buffer for one batch, and of a client's read buffer: a few dozen small
	// messages or the start of a portion. Larger pieces bypass it.
	ioBuffer = 64 << 10
	// serverReadBuffer is the size of a server's read buffer, in bytes. Clients send requests of some thirty bytes, a
	// full window of them at a time, and every idle connection holds this buffer.
	serverReadBuffer = 1 << 10
	// deflatePiece is how many bytes are compressed at once. Pieces are independent, which costs two percent of the
	// output, because the window is half a piece.
	deflatePiece = 64 << 10
	// cipherScratch is the size in bytes of the pieces in which long fields are enciphered.
	cipherScratch = 32 << 10
	// zlibStart begins a zlib stream of level 1 with a window of 32 KiB (RFC 1950, section 2.2).
	zlibStart = "\x78\x01"
)

// Buffers is memory that connections need only while they write. A server's connections share one, so an idle connection
// holds none of it. It is safe for concurrent use; the zero value is ready, and must not be copied.
type Buffers struct {
	batches   sync.Pool // *batch
	deflaters sync.Pool // *flate.Writer
}

// WithBuffers makes a Conn take its memory for writing from b. By default it has its own Buffers.
func WithBuffers(b *Buffers) Option { return func(c *Conn) { c.out.buffers = b } }

// batch is the buffer in which one batch is assembled.
type batch struct {
	to      *bufio.Writer
	scratch []byte       // for enciphering; nil until needed
	packed  bytes.Buffer // a compressed piece
}

// take returns an empty batch that writes to w.
func (b *Buffers) take(w io.Writer) *batch {
	d, found := b.batches.Get().(*batch)
	if !found {
		return &batch{to: bufio.NewWriterSize(w, ioBuffer)}
	}
	d.to.Reset(w)
	return d
}

// give returns a batch, whatever the outcome of its batch.
func (b *Buffers) give(d *batch) {
	d.to.Reset(nil)
	b.batches.Put(d)
}

// cipherRoom returns the buffer for enciphering.
func (d *batch) cipherRoom() []byte {
	if d.scratch == nil {
		d.scratch = make([]byte, cipherScratch)
	}
	return d.scratch
}

// deflater writes a compressed stream without an end. Every piece ends with an empty stored block, which ends on a byte
// boundary, and refers to no earlier data. So any compressor can write the next piece, and none is held while the
// network is slow or the connection is idle.
type deflater struct {
	to      io.Writer
	buffers *Buffers
	packed  *bytes.Buffer
	begun   *bool // whether the stream's first bytes were written
}

// Write implements io.Writer. It does not buffer.
func (z *deflater) Write(p []byte) (done int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), deflatePiece)]
		if err = z.piece(piece); err == nil {
			done, p = done+len(piece), p[len(piece):]
		}
	}
	return done, err
}

// piece compresses and sends at most deflatePiece bytes.
func (z *deflater) piece(p []byte) error {
	z.packed.Reset()
	if !*z.begun {
		*z.begun = true
		z.packed.WriteString(zlibStart)
	}
	if err := z.buffers.deflate(z.packed, p); err != nil {
		return err
	}
	_, err := z.to.Write(z.packed.Bytes())
	return err
}

// deflate appends p to out, compressed at the level that the engine uses, and flushed.
func (b *Buffers) deflate(out *bytes.Buffer, p []byte) error {
	fw, found := b.deflaters.Get().(*flate.Writer)
	if found {
		fw.Reset(out)
	} else {
		var err error
		if fw, err = flate.NewWriter(out, flate.BestSpeed); err != nil {
			return err
		}
	}
	defer b.deflaters.Put(fw)
	if _, err := fw.Write(p); err != nil {
		return err
	}
	return fw.Flush()
}
