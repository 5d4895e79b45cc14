package chunk

import (
	"fmt"
	"io"
	"sort"
)

// Old is one content that the receiver has. Reads are positioned, so one file may serve many goroutines.
type Old struct {
	io.ReaderAt
	Size int64 // in bytes
}

// New is one content that the receiver is to get. Name gives hints about the kind of bytes only and is not kept.
type New struct {
	io.ReaderAt
	Size int64 // in bytes
	Name string
}

// contents is several contents one behind the other, read by position.
type contents struct {
	parts []Old
	ends  []int64 // where each part ends
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

// readAt fills b from the given place, which the caller has checked. A part that is shorter than it was said to be is an error.
func (c *contents) readAt(b []byte, at int64) error {
	i := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > at })
	for ; len(b) > 0; i++ {
		start := c.ends[i] - c.parts[i].Size
		n := int(min(int64(len(b)), c.ends[i]-at))
		if n == 0 {
			continue
		}
		if got, err := c.parts[i].ReadAt(b[:n], at-start); got < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read old content %d at byte %d: %w", i, at-start, err)
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

// all reads everything into memory.
func (c *contents) all() ([]byte, error) {
	b := make([]byte, c.size())
	return b, c.readAt(b, 0)
}
