package server

import (
	"errors"
	"io"
	"os"

	"collet/netproto"
	"collet/netproto/server/catalogue"
)

// minSendfile is the smallest portion that is sent by sendfile, in bytes. Below it the system calls cost more than the copy that
// they save.
const minSendfile = 32 << 10

// fileError is a fault of a file after a part of its portion may have been sent.
type fileError struct{ err error }

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// usesSendfile reports whether a portion of f is sent by sendfile: it lies on disk and is sent unchanged.
func (c *session) usesSendfile(f *catalogue.File, r request, size int) bool {
	return c.sendfile != nil && r.own && !f.InMemory && size >= minSendfile
}

// sendRangeByFile answers with size bytes of a file by sendfile. A change of the file before the first byte is refused. After that
// the frame stays incomplete and the connection ends. A change after the last check, while the bytes wait in the socket, is left
// to the client's digest check.
func (c *session) sendRangeByFile(f *catalogue.File, r request, size int) *ending {
	in, done, err := f.Open()
	if err != nil {
		return c.endUnreadable(f, r, err)
	}
	defer done()
	if f.IsUnseen() {
		if err := f.Check(in); err != nil {
			return c.endUnreadable(f, r, err)
		}
	}
	m := &netproto.RangeData{Request: r.number, Offset: r.offset}
	err = c.timed(func() error {
		return c.wire.WriteRange(m, size, func(head []byte) error { return c.writeFileRange(f, in, head, int64(r.offset), size) })
	})
	var own *fileError
	if errors.As(err, &own) {
		e := c.endUnreadable(f, r, own.err)
		e.farewell, e.linger = nil, false // the client would read it as data
		return e
	}
	if err != nil {
		return c.endBroken(err)
	}
	return nil
}

// writeFileRange writes head and data. Errors of the file are *fileError; others are the connection's.
func (c *session) writeFileRange(f *catalogue.File, in *os.File, head []byte, offset int64, size int) error {
	most := size - catalogue.TailSize
	if err := c.sendfile.send(head, in, offset, most); err != nil {
		return preferChange(f, in, err)
	}
	if err := f.Check(in); err != nil {
		return &fileError{err}
	}
	return preferChange(f, in, c.sendfile.send(nil, in, offset+int64(most), catalogue.TailSize))
}

// preferChange replaces the consequence of a file's change by the change.
func preferChange(f *catalogue.File, in *os.File, err error) error {
	var own *fileError
	if !errors.As(err, &own) {
		return err
	}
	if changed := f.Check(in); changed != nil {
		return &fileError{changed}
	}
	return err
}

// errShort is a file that ended early.
var errShort = &fileError{io.ErrUnexpectedEOF}
