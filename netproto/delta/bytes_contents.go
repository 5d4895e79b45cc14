package delta

import (
	"fmt"
	"io"
	"sort"
)

// Old is one content that the receiver has. Reads are positioned, so one file may be shared by many goroutines.
type Old struct {
	io.ReaderAt
	Size int64 // in bytes
}

// New is one content that the receiver gets. Name is only a hint at the kind of bytes and is not stored.
type New struct {
	io.ReaderAt
	Size int64 // in bytes
	Name string
}

// contents is a concatenation of several contents with positioned reads.
type contents struct {
	parts []Old
	ends  []int64 // end offset of each part
}

func newContents(parts []Old) *contents {
	c := &contents{parts: parts, ends: make([]int64, len(parts))}
	sum := int64(0)
	for i, p := range parts {
		sum += p.Size
		c.ends[i] = sum
	}
	return c
}

func (c *contents) size() int64 {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// partAt is the number of the part with the byte at an offset, which the caller has checked.
func (c *contents) partAt(at int64) int {
	return sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > at })
}

// readPart fills b from an offset inside part i, which has all of it. Fewer bytes are an error.
func (c *contents) readPart(b []byte, i int, at int64) (int, error) {
	start := c.ends[i] - c.parts[i].Size
	n, err := c.parts[i].ReadAt(b, at-start)
	if n == len(b) {
		return n, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, fmt.Errorf("read old content %d at byte %d: %w", i, at-start, err)
}

// readAt fills b from an offset, which the caller has checked. A part shorter than its declared size is an error.
func (c *contents) readAt(b []byte, at int64) error {
	for i := c.partAt(at); len(b) > 0; i++ {
		want := b[:min(int64(len(b)), c.ends[i]-at)]
		if len(want) == 0 { // an empty part
			continue
		}
		n, err := c.readPart(want, i, at)
		if err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

// readAll reads everything into memory.
func (c *contents) readAll() ([]byte, error) {
	b := make([]byte, c.size())
	return b, c.readAt(b, 0)
}
