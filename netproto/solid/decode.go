package solid

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"

	"github.com/andybalholm/brotli"

	"collet/netproto/chunk"
)

// Decoder unpacks the parts of one group, in order. It takes about 20 MB beside the memory for contents. It is for one goroutine, but for
// ReadAt.
type Decoder struct {
	history
	shifts  shifts
	streams [streams]stream
	numbers [3]*bufio.Reader
}

// NewDecoder makes a decoder for a group whose contents have size bytes together. buffer, which may be nil, is memory to use again. With older,
// buffer holds as many of the last bytes as its capacity, and those before go to older. Without it, memory holds all.
func NewDecoder(size int64, buffer []byte, older Scratch) (*Decoder, error) {
	if size < 1 || size > MaxGroup {
		return nil, fault("a group of %d bytes; %d are allowed", size, MaxGroup)
	}
	buffer = buffer[:cap(buffer)]
	if int64(len(buffer)) < size && (older == nil || len(buffer) == 0) {
		buffer = make([]byte, size)
	}
	d := &Decoder{history: history{buffer: buffer, size: int(size), older: older}}
	for i := range d.numbers {
		d.numbers[i] = bufio.NewReaderSize(nil, 4<<10)
	}
	return d, nil
}

// Done reports whether the group is complete.
func (d *Decoder) Done() bool { return d.done == d.size }

// Part unpacks the next part. The contents of a failed part are unusable. A malformed part is an *Error; errors of r are returned.
// Those of the scratch are returned, too. unpacked, which may be nil, is called when Len has grown; its error ends the part and is returned.
func (d *Decoder) Part(r io.ReaderAt, size int64, unpacked func() error) error {
	in := &source{r: r}
	for at := int64(0); at < size; {
		if d.Done() {
			return fault("bytes behind the end of a group")
		}
		frame := io.NewSectionReader(in, at, size-at)
		n, err := d.frame(frame)
		if cause := cmp.Or(in.err, d.err); cause != nil {
			return cause
		}
		if err != nil {
			return asError(err)
		}
		if at += n; unpacked != nil {
			if err := unpacked(); err != nil {
				return err
			}
		}
	}
	return nil
}

// source records the error of a reader, to distinguish it from malformed bytes.
type source struct {
	r   io.ReaderAt
	err error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func asError(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	return &Error{What: "a frame does not decode", Err: err}
}

// maxHeader is the largest header of a frame in bytes: two numbers, and two for each stream.
const maxHeader = (2 + 2*streams) * binary.MaxVarintLen64

// row describes a stream of a frame.
type row struct {
	raw, size int64
	code      byte
}

// frame unpacks a frame and returns its size.
func (d *Decoder) frame(in *io.SectionReader) (int64, error) {
	head, err := readAtMost(in, maxHeader)
	if err != nil {
		return 0, err
	}
	r := bytes.NewReader(head)
	size, err := number(r, "size of a frame", int64(min(MaxFrame, d.size-d.done)))
	if err == nil && size == 0 {
		err = fault("an empty frame")
	}
	if err != nil {
		return 0, err
	}
	matches, err := number(r, "number of matches", min(maxMatches, size))
	if err != nil {
		return 0, err
	}
	var rows [streams]row
	for i := range rows {
		limit := matches * binary.MaxVarintLen64
		if i == literalStream {
			limit = size
		}
		if rows[i], err = readRow(r, limit); err != nil {
			return 0, err
		}
	}
	at := int64(len(head) - r.Len())
	for i, w := range rows {
		if at+w.size > in.Size() {
			return 0, fault("a frame that is cut off")
		}
		if err := d.streams[i].open(io.NewSectionReader(in, at, w.size), w, windows[i]); err != nil {
			return 0, err
		}
		at += w.size
	}
	return at, d.applyMatches(int(size), int(matches))
}

func readAtMost(r *io.SectionReader, n int) ([]byte, error) {
	head := make([]byte, n)
	n, err := io.ReadFull(r, head)
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// readRow reads the description of a stream with at most limit bytes.
func readRow(r *bytes.Reader, limit int64) (w row, err error) {
	if w.raw, err = number(r, "size of a stream", limit); err != nil || w.raw == 0 {
		return w, err
	}
	v, err := number(r, "packed size of a stream", 2*MaxPart)
	w.size, w.code = v>>1, byte(v&1)
	if err == nil && w.code == codeStored && w.size != w.raw {
		err = fault("a stored stream of %d bytes in %d", w.raw, w.size)
	}
	return w, err
}

// number reads a number of at most limit.
func number(r io.ByteReader, what string, limit int64) (int64, error) {
	v, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, &Error{What: what, Err: err}
	}
	if v > uint64(limit) {
		return 0, fault("%s is %d; %d are allowed", what, v, limit)
	}
	return int64(v), nil
}

// stream decodes one of the streams over all frames of a group.
type stream struct {
	brotli  *brotli.Reader
	decoded io.Reader // by brotli; nil before the first bytes
	packed  io.Reader // of the current frame; decoded reads from here
	left    int64     // raw bytes left of the current frame
	from    io.Reader // the raw bytes of the current frame
}

// maxTail is how many bytes of a frame's packed stream may be unread when all its raw bytes are there: the end of a flush.
const maxTail = 64

// open sets the bytes of the next frame.
func (s *stream) open(packed io.Reader, w row, window int) (err error) {
	s.left = w.raw
	if s.from = packed; w.code == codeStored {
		return nil
	}
	if s.packed != nil {
		tail := make([]byte, maxTail+1)
		n, err := io.ReadFull(s.packed, tail)
		if err == nil {
			return fault("a stream that is longer than its frame")
		}
		packed = io.MultiReader(bytes.NewReader(tail[:n]), packed)
	}
	s.packed = packed
	if s.decoded == nil {
		s.brotli = new(brotli.Reader)
		if s.decoded, err = chunk.Inflate(s.brotli, frameReader{s}, window); err != nil {
			return err
		}
	}
	s.from = s.decoded
	return nil
}

// frameReader reads the packed bytes of the current frame of a stream.
type frameReader struct{ s *stream }

func (r frameReader) Read(p []byte) (int, error) { return r.s.packed.Read(p) }

// Read reads the raw bytes of the current frame. An early end is an error.
func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); s.left == 0 || n > 0 {
		err = nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// applyMatches appends a frame of size bytes: its literals and what its matches copy.
func (d *Decoder) applyMatches(size, matches int) error {
	end := d.done + size
	for i, r := range d.numbers {
		r.Reset(&d.streams[i])
	}
	for range matches {
		gap, err := number(d.numbers[gapStream], "gap", int64(end-d.done))
		if err == nil {
			err = d.readLiterals(int(gap))
		}
		if err != nil {
			return err
		}
		n, err := number(d.numbers[sizeStream], "size of a match", int64(end-d.done))
		if err != nil {
			return err
		}
		v, err := binary.ReadUvarint(d.numbers[shiftStream])
		if err != nil {
			return &Error{What: "shift", Err: err}
		}
		shift, known := d.shifts.decode(v)
		if !known || shift < 1 || shift > d.done {
			return fault("a match that begins before its group")
		}
		if err := d.copyMatch(int(n), shift); err != nil {
			return err
		}
	}
	if err := d.readLiterals(end - d.done); err != nil {
		return err
	}
	for i := range d.streams {
		if s := &d.streams[i]; s.left > 0 || i < literalStream && d.numbers[i].Buffered() > 0 {
			return fault("a stream that is longer than its frame")
		}
	}
	return nil
}

// readLiterals appends n literals.
func (d *Decoder) readLiterals(n int) error {
	for n > 0 {
		to, err := d.room(n)
		if err != nil {
			return err
		}
		got, err := io.ReadFull(&d.streams[literalStream], to)
		d.done += got
		n -= got
		if err != nil {
			return &Error{What: "literals", Err: err}
		}
	}
	return nil
}
