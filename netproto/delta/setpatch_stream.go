package delta

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"

	"collet/netproto/release"
)

// newSetInput is a set patch while it is read. An error text continues the words "set patch".
func newSetInput(r io.Reader) *input {
	return newInput(r, func(offset int64, what string, err error) error {
		if err != nil {
			what += ": " + err.Error()
		}
		return &release.FormatError{Document: "set patch", Offset: int(offset), Reason: what}
	})
}

// readRawDelta reads and decodes the delta.
func readRawDelta(in *input) ([]byte, error) {
	coded, err := in.number("the size of the delta", 2*MaxSetDelta+1)
	if err != nil {
		return nil, err
	}
	part, raw := io.LimitReader(in, int64(coded>>1)), int64(coded>>1)
	if coded&1 == 1 {
		size, err := in.number("the decoded size of the delta", MaxSetDelta)
		if err != nil {
			return nil, err
		}
		part, raw = brotli.NewReader(part), int64(size)
	}
	delta, err := readExactly(part, raw)
	if err != nil {
		return nil, in.wrong("the delta is damaged", err)
	}
	return delta, nil
}

// readExactly reads a reader that has raw bytes. Its memory follows the bytes that really come.
func readExactly(r io.Reader, raw int64) ([]byte, error) {
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(r, raw+1)); err != nil {
		return nil, fmt.Errorf("does not unpack to %d bytes: %w", raw, err)
	}
	if int64(out.Len()) != raw {
		return nil, fmt.Errorf("does not unpack to %d bytes", raw)
	}
	return out.Bytes(), nil
}

// codeDelta appends a delta with its sizes, compressed by brotli of a quality if that is smaller.
func codeDelta(out []byte, raw []byte, quality int) []byte {
	window := min(max(bits.Len(uint(len(raw))), 10), 22) // a larger window would only cost memory
	packed := compressed(context.Background(), raw, quality, window)
	if size := binary.AppendUvarint(nil, uint64(len(raw))); len(packed)+len(size) < len(raw) {
		out = binary.AppendUvarint(out, uint64(len(packed))<<1|1)
		return append(append(out, size...), packed...)
	}
	out = binary.AppendUvarint(out, uint64(len(raw))<<1)
	return append(out, raw...)
}

// numberParser reads numbers from a part of the delta. After the first fault it returns zeroes; the fault is err.
type numberParser struct {
	b   []byte
	err error
}

var errSetDelta = errors.New("has a delta that ends too early")

func (s *numberParser) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
	s.b = nil
}

// number reads a number of at most limit.
func (s *numberParser) number(what string, limit int64) int64 {
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
func (s *numberParser) signed(what string) int64 {
	return unsigned(uint64(s.number(what, 2*release.MaxNumber)))
}

// bytes reads so many bytes.
func (s *numberParser) bytes(n int64) []byte {
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
