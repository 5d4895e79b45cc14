package delta

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/andybalholm/brotli"

	"collet/netproto/chunk"
)

// Codes of a stream's compression. The numbers are stored in patches and never change.
const (
	codeStored = 0 // uncompressed
	codeBrotli = 1 // brotli, in the window for the stream
)

// coded is one encoded stream of a frame.
type coded struct {
	raw  int
	code byte
	data []byte
}

// compressStream compresses a stream as small as possible. If ctx ends, the result is useless.
func compressStream(ctx context.Context, raw []byte, window int) coded {
	c := coded{raw: len(raw), code: codeStored, data: raw}
	if len(raw) > 0 {
		if data := deflated(ctx, raw, window); len(data) < len(raw) {
			c.code, c.data = codeBrotli, data
		}
	}
	return c
}

// appendRow appends the header entry of a stream.
func (c coded) appendRow(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(c.raw))
	if c.raw == 0 {
		return b
	}
	return binary.AppendUvarint(b, uint64(len(c.data))<<1|uint64(c.code))
}

// decompressStream returns the decoded bytes of a stream: exactly raw of them, or an error.
func decompressStream(r io.Reader, code byte, raw int64, window int) (io.Reader, error) {
	if code == codeBrotli {
		var err error
		if r, err = chunk.Inflate(new(brotli.Reader), r, window); err != nil {
			return nil, err
		}
	}
	return &exactly{r: r, left: raw}, nil
}

// exactly returns a fixed number of bytes, and makes an early end an error.
type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(b[:min(int64(len(b)), e.left)])
	if e.left -= int64(n); err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	} else if e.left == 0 {
		err = nil
	}
	return n, err
}

// numbers reads a stream of numbers that binary.AppendUvarint wrote.
type numbers struct {
	r       io.Reader
	buf     []byte
	at, end int // of the unread part of buf
}

func newNumbers(r io.Reader) *numbers { return &numbers{r: r, buf: make([]byte, 8<<10)} }

// next reads a number. The end of the stream is io.EOF, or io.ErrUnexpectedEOF inside a number.
func (n *numbers) next() (uint64, error) {
	if n.at < n.end {
		if v := n.buf[n.at]; v < 0x80 { // the usual case, without a call
			n.at++
			return uint64(v), nil
		}
	}
	return binary.ReadUvarint(n)
}

// ReadByte implements io.ByteReader.
func (n *numbers) ReadByte() (byte, error) {
	if n.at == n.end {
		got, err := io.ReadAtLeast(n.r, n.buf, 1)
		if got == 0 {
			return 0, err
		}
		n.at, n.end = 0, got
	}
	n.at++
	return n.buf[n.at-1], nil
}

// signed encodes a signed number as an unsigned one with small absolute values first (zigzag).
func signed(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unsigned(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
