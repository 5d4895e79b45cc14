package fileset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// SameBlock is the block size of SameFile in bytes.
const SameBlock = 256 << 10

// SameFile returns an error unless two files are equal byte for byte. errors.Is with fs.ErrNotExist holds for a missing file.
func SameFile(got, want string) error {
	a, err := os.Open(got)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := os.Open(want)
	if err != nil {
		return err
	}
	defer b.Close()
	c := NewComparer(b)
	_, err = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{a}, make([]byte, SameBlock))
	if err == nil {
		err = c.End()
	}
	if err != nil {
		return fmt.Errorf("%s is not what %s is: %w", got, want, err)
	}
	return nil
}

// Comparer is a writer that accepts only the bytes of its reader. NewComparer makes one.
type Comparer struct {
	want *bufio.Reader
	at   int64
	buf  []byte
}

// NewComparer compares written bytes with want, which stays the caller's.
func NewComparer(want io.Reader) *Comparer {
	return &Comparer{want: bufio.NewReaderSize(want, SameBlock)}
}

// Write implements io.Writer. The error contains the position of the difference.
func (c *Comparer) Write(b []byte) (int, error) {
	c.buf = slices.Grow(c.buf[:0], len(b))[:len(b)]
	switch n, err := io.ReadFull(c.want, c.buf); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0, fmt.Errorf("it is longer than %d bytes", c.at+int64(n))
	case err != nil:
		return 0, err
	}
	if !bytes.Equal(b, c.buf) {
		return 0, fmt.Errorf("it differs in the %d bytes from %d on", len(b), c.at)
	}
	c.at += int64(len(b))
	return len(b), nil
}

// End returns an error unless all expected bytes were written.
func (c *Comparer) End() error {
	switch _, err := c.want.Peek(1); {
	case err == nil:
		return fmt.Errorf("it ends after %d bytes", c.at)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
