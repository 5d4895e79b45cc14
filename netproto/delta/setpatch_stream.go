package delta

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"

	"collet/netproto/release"
)

// setStream is a set patch while it is read. It records the reader's own error, which is not the patch's fault.
type setStream struct {
	from io.Reader
	buf  *bufio.Reader
	n    int64 // bytes read from from
	err  error // of from
}

func newSetStream(r io.Reader) *setStream {
	s := &setStream{from: r}
	s.buf = bufio.NewReaderSize((*setFeed)(s), 64<<10)
	return s
}

// setFeed connects the reader to the buffer.
type setFeed setStream

func (f *setFeed) Read(b []byte) (int, error) {
	n, err := f.from.Read(b)
	f.n += int64(n)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func (s *setStream) Read(b []byte) (int, error) { return s.buf.Read(b) }

// offset is how many bytes of the patch were used.
func (s *setStream) offset() int64 { return s.n - int64(s.buf.Buffered()) }

// wrong makes a *release.FormatError of a fault.
func (s *setStream) wrong(reason string, err error) error {
	if err != nil {
		reason += ": " + err.Error()
	}
	return &release.FormatError{Document: "set patch", Offset: int(s.offset()), Reason: reason}
}

// fault is err, unless the reader's own error caused it.
func (s *setStream) fault(err error) error {
	if s.err != nil {
		return s.err
	}
	return err
}

// number reads a number that is at most limit.
func (s *setStream) number(what string, limit uint64) (uint64, error) {
	v, err := binary.ReadUvarint(s.buf)
	if err != nil {
		return 0, s.wrong("is cut off in "+what, err)
	}
	if v > limit {
		return 0, s.wrong(fmt.Sprintf("has %d as %s, the most is %d", v, what, limit), nil)
	}
	return v, nil
}

// delta reads and decodes the delta.
func (s *setStream) delta() ([]byte, error) {
	coded, err := s.number("the size of the delta", 2*MaxSetDelta+1)
	if err != nil {
		return nil, err
	}
	in, raw := io.LimitReader(s, int64(coded>>1)), coded>>1
	if coded&1 == 1 {
		if raw, err = s.number("the decoded size of the delta", MaxSetDelta); err != nil {
			return nil, err
		}
		in = io.LimitReader(brotli.NewReader(in), int64(raw)+1)
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, in); err != nil || uint64(out.Len()) != raw {
		return nil, s.wrong("has a damaged delta", err)
	}
	return out.Bytes(), nil
}

// codeDelta appends a delta with its sizes, compressed by brotli of a quality if that is smaller.
func codeDelta(out []byte, raw []byte, quality int) []byte {
	var packed bytes.Buffer
	window := min(max(bits.Len(uint(len(raw))), 10), 22) // a larger window would only cost memory
	w := brotli.NewWriterOptions(&packed, brotli.WriterOptions{Quality: quality, LGWin: window})
	if _, err := w.Write(raw); err != nil {
		panic("delta: internal error: brotli to memory: " + err.Error())
	}
	if err := w.Close(); err != nil {
		panic("delta: internal error: brotli to memory: " + err.Error())
	}
	if size := binary.AppendUvarint(nil, uint64(len(raw))); packed.Len()+len(size) < len(raw) {
		out = binary.AppendUvarint(out, uint64(packed.Len())<<1|1)
		return append(append(out, size...), packed.Bytes()...)
	}
	out = binary.AppendUvarint(out, uint64(len(raw))<<1)
	return append(out, raw...)
}

// setNumbers reads numbers from a part of the delta. After the first fault it returns zeroes; the fault is err.
type setNumbers struct {
	b   []byte
	err error
}

var errSetDelta = errors.New("has a delta that ends too early")

func (s *setNumbers) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
	s.b = nil
}

// next reads a number of at most limit.
func (s *setNumbers) next(what string, limit int64) int64 {
	v, n := binary.Uvarint(s.b)
	if n <= 0 {
		if s.err == nil {
			s.err = errSetDelta
		}
		return 0
	}
	if s.b = s.b[n:]; v > uint64(limit) {
		s.fail("has %d as %s, the most is %d", v, what, limit)
		return 0
	}
	return int64(v)
}

// signed reads a zigzag number within ± MaxNumber.
func (s *setNumbers) signed(what string) int64 {
	return unsigned(uint64(s.next(what, 2*release.MaxNumber)))
}

// take reads so many bytes.
func (s *setNumbers) take(n int64) []byte {
	if s.err != nil || n > int64(len(s.b)) {
		if s.err == nil {
			s.err = errSetDelta
		}
		return nil
	}
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}
