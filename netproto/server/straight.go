package server

import (
	"errors"
	"io"
	"os"

	"collet/netproto"
	"collet/netproto/server/catalogue"
)

// heldBack is how many bytes at the end of a portion go out only after a last look at the file, in bytes: a portion
// during which the file changed is never complete at the client. One page, so that little is copied.
const heldBack = 4 << 10

// straightFrom is the smallest portion that goes straight from the file to the socket, in bytes. Below it the calls of
// the system cost more than the copy that they save.
const straightFrom = 32 << 10

// fileError is a fault of a file, met when a part of its portion had been sent.
type fileError struct{ err error }

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// isStraight reports whether the bytes of f need not pass through this program: they lie on disk and go out as they are.
func (c *session) isStraight(f *catalogue.File, r request, size int) bool {
	return c.straight != nil && r.own && !f.InMemory && size >= straightFrom
}

// sendStraight answers with size bytes of a file that the system takes from the disk's cache. A file that is found changed
// before anything was sent is refused; when it is found later the frame stays incomplete and the connection ends. What a
// writer changes behind the last look, while the bytes wait in the socket, is left to the client's check of the digest.
func (c *session) sendStraight(f *catalogue.File, r request, size int) *ending {
	in, done, err := f.Open()
	if err != nil {
		return c.unreadable(f, r, err)
	}
	defer done()
	if f.IsUnseen() {
		if err := f.Check(in); err != nil {
			return c.unreadable(f, r, err)
		}
	}
	m := &netproto.RangeData{Request: r.number, Offset: r.offset}
	err = c.timed(func() error {
		return c.wire.WriteRange(m, size, func(head []byte) error { return c.straightBody(f, in, head, int64(r.offset), size) })
	})
	var own *fileError
	if errors.As(err, &own) {
		e := c.unreadable(f, r, own.err)
		e.farewell, e.linger = nil, false // it would be taken for data
		return e
	}
	if err != nil {
		return c.broken(err)
	}
	return nil
}

// straightBody writes head and data. Errors of the file are *fileError, others are the connection's.
func (c *session) straightBody(f *catalogue.File, in *os.File, head []byte, offset int64, size int) error {
	most := size - heldBack
	if err := c.straight.send(head, in, offset, most); err != nil {
		return explain(f, in, err)
	}
	if err := f.Check(in); err != nil {
		return &fileError{err}
	}
	return explain(f, in, c.straight.send(nil, in, offset+int64(most), heldBack))
}

// explain prefers the change of a file to what it led to.
func explain(f *catalogue.File, in *os.File, err error) error {
	var own *fileError
	if !errors.As(err, &own) {
		return err
	}
	if changed := f.Check(in); changed != nil {
		return &fileError{changed}
	}
	return err
}

// errShort is a file that ended before its time.
var errShort = &fileError{io.ErrUnexpectedEOF}
