package delta

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// source is the patch while it is read. It records the reader's own error and the offset.
type source struct {
	r   io.Reader
	b   *bufio.Reader
	n   int64
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// wrong makes a *PatchError of a fault.
func (s *source) wrong(what string, err error) error {
	return &PatchError{What: what, Offset: s.n - int64(s.b.Buffered()), Err: err}
}

// number reads a number that is at most limit.
func (s *source) number(what string, limit uint64) (uint64, error) {
	v, err := binary.ReadUvarint(s.b)
	if err != nil {
		return 0, s.wrong(what+" is cut off", err)
	}
	if v > limit {
		return 0, s.wrong(fmt.Sprintf("%s is %d, the most is %d", what, v, limit), nil)
	}
	return v, nil
}

// sink distributes the new bytes over the writers.
type sink struct {
	sizes []int64
	write func(i int) (io.Writer, error)
	next  int   // the content to open next
	left  int64 // of the open one
	w     io.Writer
	sum   uint32
	err   error
}

// open advances to the next content that is not empty, opening empty ones on the way.
func (s *sink) open() error {
	for s.left == 0 && s.next < len(s.sizes) {
		w, err := s.write(s.next)
		if err != nil {
			s.err = err
			return err
		}
		s.w, s.left = w, s.sizes[s.next]
		s.next++
	}
	return nil
}

func (s *sink) Write(b []byte) (int, error) {
	s.sum = crc32.Update(s.sum, castagnoli, b)
	total := len(b)
	for len(b) > 0 {
		if err := s.open(); err != nil {
			return 0, err
		}
		n, err := s.w.Write(b[:min(int64(len(b)), s.left)])
		if b, s.left = b[n:], s.left-int64(n); err != nil {
			s.err = err
			return 0, err
		}
	}
	return total, nil
}
