package delta

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
