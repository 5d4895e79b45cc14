package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"collet/platform/interrupt"
)

// content is bytes that can be read anywhere.
type content struct {
	io.ReaderAt
	size int64
}

func inBytes(data []byte) content { return content{bytes.NewReader(data), int64(len(data))} }

// part is some of the bytes; it ends where they end.
func (c content) part(from, size int64) content {
	from = max(0, min(from, c.size))
	size = max(0, min(size, c.size-from))
	return content{io.NewSectionReader(c, from, size), size}
}

func (c content) reader() io.Reader { return io.NewSectionReader(c, 0, c.size) }

// head is the first n bytes, or fewer.
func (c content) head(n int) []byte {
	buf := make([]byte, min(int64(n), c.size))
	got, _ := c.ReadAt(buf, 0)
	return buf[:got]
}

// byteAt is a byte for people.
func (c content) byteAt(offset int64) string {
	var one [1]byte
	if n, _ := c.ReadAt(one[:], offset); n == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%#02x", one[0])
}

// held is content that has to be given back.
type held struct {
	content
	close func() error
}

func openContent(name string) (held, error) {
	f, err := os.Open(name)
	if err != nil {
		return held{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		return held{}, errors.Join(err, f.Close())
	}
	return held{content{f, info.Size()}, f.Close}, nil
}

// spool takes a member out of its archive: into memory if it is small, else into a file.
func (c *comparer) spool(r io.Reader) (held, error) {
	small, err := io.ReadAll(io.LimitReader(r, inMemory+1))
	if err != nil {
		return held{}, err
	}
	if len(small) <= inMemory {
		return held{inBytes(small), func() error { return nil }}, nil
	}
	f, err := os.CreateTemp(c.dir, "member")
	if err != nil {
		return held{}, err
	}
	done := func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }
	size, err := io.Copy(f, interrupt.Reader(c.ctx, io.LimitReader(io.MultiReader(bytes.NewReader(small), r), maxMember+1)))
	if err == nil && size > maxMember {
		err = fmt.Errorf("a member has more than %d bytes", int64(maxMember))
	}
	if err != nil {
		return held{}, errors.Join(err, done())
	}
	return held{content{f, size}, done}, nil
}
