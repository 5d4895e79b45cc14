package delta

import (
	"io"

	"collet/netproto/delta/predict"
)

// matchedReader reads the old bytes of a frame's matches, one after the other.
type matchedReader struct {
	old     *oldPages
	matches []predict.Match
	done    uint32 // bytes of the first match that are read
}

// Read implements io.Reader.
func (r *matchedReader) Read(b []byte) (n int, err error) {
	for n < len(b) && len(r.matches) > 0 {
		m := r.matches[0]
		part := b[n:][:min(len(b)-n, int(m.Size-r.done))]
		if err := r.old.readAt(part, int64(m.Old)+int64(r.done)); err != nil {
			return n, err
		}
		n += len(part)
		if r.done += uint32(len(part)); r.done == m.Size {
			r.matches, r.done = r.matches[1:], 0
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// oldPages is a page cache for positioned reads of old contents: matches are short and close together, and a system call
// for each would dominate the time.
type oldPages struct {
	*contents
	pages [pageCount]oldPage
}

const (
	pageBits  = 13 // a page is 8 KiB: larger ones waste more where matches are scattered
	pageCount = 64 // of pages that are cached, 512 KiB in all
)

// oldPage is a page of the old contents, limited to one of them: a content without matches is not read.
type oldPage struct {
	at int64
	b  []byte
}

func newOldPages(c *contents) *oldPages { return &oldPages{contents: c} }

// readAt fills b from an offset, which the caller has checked.
func (o *oldPages) readAt(b []byte, at int64) error {
	if len(b) >= 1<<pageBits {
		return o.contents.readAt(b, at)
	}
	for len(b) > 0 {
		p, err := o.pageAt(at)
		if err != nil {
			return err
		}
		n := copy(b, p.b[at-p.at:])
		b, at = b[n:], at+int64(n)
	}
	return nil
}

// pageAt returns the page with at least one byte from an offset on.
func (o *oldPages) pageAt(at int64) (*oldPage, error) {
	p := &o.pages[at>>pageBits%pageCount]
	if at-p.at >= 0 && at-p.at < int64(len(p.b)) {
		return p, nil
	}
	i := o.partAt(at)
	from := max(at&^(1<<pageBits-1), o.ends[i]-o.parts[i].Size)
	to := min((at>>pageBits+1)<<pageBits, o.ends[i])
	if p.b == nil {
		p.b = make([]byte, 1<<pageBits)
	}
	n, err := o.readPart(p.b[:to-from], i, from)
	if p.at, p.b = from, p.b[:n]; at-from < int64(n) {
		return p, nil
	}
	return nil, err
}
