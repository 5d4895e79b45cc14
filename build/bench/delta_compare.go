package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// compareBlock is how many bytes are compared at a time.
const compareBlock = 256 << 10

// sameTree wants two folders to have the same files, byte for byte.
func sameTree(got, want string) error {
	mine, err := filesBelow(got)
	if err != nil {
		return err
	}
	theirs, err := filesBelow(want)
	if err != nil {
		return err
	}
	if !slices.Equal(mine, theirs) {
		return fmt.Errorf("%d files came out, %d are expected, or their names differ", len(mine), len(theirs))
	}
	for _, name := range theirs {
		if err := sameFile(filepath.Join(got, name), filepath.Join(want, name)); err != nil {
			return err
		}
	}
	return nil
}

// sameFile wants two files to be the same, byte for byte.
func sameFile(got, want string) error {
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
	c := newComparer(b)
	if _, err := io.CopyBuffer(struct{ io.Writer }{c}, a, make([]byte, compareBlock)); err != nil {
		return fmt.Errorf("%s is not what it should be: %w", got, err)
	}
	if err := c.end(); err != nil {
		return fmt.Errorf("%s is not what it should be: %w", got, err)
	}
	return nil
}

func newComparer(want io.Reader) *comparer {
	return &comparer{want: bufio.NewReaderSize(want, compareBlock)}
}

// comparer is a writer that takes exactly what its reader gives.
type comparer struct {
	want *bufio.Reader
	at   int64
	buf  []byte
}

func (c *comparer) Write(b []byte) (int, error) {
	c.buf = slices.Grow(c.buf[:0], len(b))[:len(b)]
	if n, err := io.ReadFull(c.want, c.buf); err != nil {
		return 0, fmt.Errorf("it is longer than %d bytes", c.at+int64(n))
	}
	if !bytes.Equal(b, c.buf) {
		return 0, fmt.Errorf("it differs in the %d bytes from %d on", len(b), c.at)
	}
	c.at += int64(len(b))
	return len(b), nil
}

// end wants everything to have been written.
func (c *comparer) end() error {
	switch _, err := c.want.Peek(1); {
	case err == nil:
		return fmt.Errorf("it ends after %d bytes", c.at)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
