package delta

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// input is a patch or a set patch while it is read. It tells faults of its bytes from errors of the reader.
type input struct {
	from io.Reader
	buf  *bufio.Reader
	n    int64                                            // bytes read from from
	err  error                                            // of from
	wrap func(offset int64, what string, err error) error // makes the error of a fault
}

func newInput(r io.Reader, wrap func(offset int64, what string, err error) error) *input {
	in := &input{from: r, wrap: wrap}
	in.buf = bufio.NewReaderSize((*inputFeed)(in), 64<<10)
	return in
}

// inputFeed fills the buffer.
type inputFeed input

func (f *inputFeed) Read(b []byte) (int, error) {
	n, err := f.from.Read(b)
	f.n += int64(n)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func (in *input) Read(b []byte) (int, error) { return in.buf.Read(b) }

// wrong makes an error of a fault at this offset.
func (in *input) wrong(what string, err error) error {
	return in.wrap(in.n-int64(in.buf.Buffered()), what, err)
}

// fault is err, unless the reader's own error caused it.
func (in *input) fault(err error) error {
	if in.err != nil {
		return in.err
	}
	return err
}

// number reads a number that is at most limit.
func (in *input) number(what string, limit uint64) (uint64, error) {
	v, err := binary.ReadUvarint(in.buf)
	if err != nil {
		return 0, in.wrong(what+" is cut off", err)
	}
	if v > limit {
		return 0, in.wrong(fmt.Sprintf("%s is %d, the most is %d", what, v, limit), nil)
	}
	return v, nil
}

// sink distributes consecutive bytes over the writers of several contents.
type sink struct {
	sizes []int64
	write func(i int) (io.Writer, error)
	next  int   // the content to open next
	left  int64 // of the open one
	w     io.Writer
	err   error // of write, or of a writer
}

// openNext advances to the next content that is not empty, opening empty ones on the way.
func (s *sink) openNext() error {
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

func (s *sink) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if err := s.openNext(); err != nil {
			return n, err
		}
		got, err := s.w.Write(b[n:][:min(int64(len(b)-n), s.left)])
		if n, s.left = n+got, s.left-int64(got); err != nil {
			s.err = err
			return n, err
		}
	}
	return n, nil
}
