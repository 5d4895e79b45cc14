package server

import (
	"cmp"
	"errors"
	"io"
	"os"

	"collet/netproto"
	"collet/netproto/server/catalogue"
)

// minSendfile is the smallest portion that is sent by sendfile, in bytes. Below it the system calls cost more than the copy that
// they save.
const minSendfile = 32 << 10

// writer is the writing half of a session. Only the session's goroutine uses it.
type writer struct {
	wire     *netproto.Conn
	sendfile *fileSender // nil: files are copied through memory
	pings    *pings
}

// source is what a range is sent from.
type source struct {
	data  []byte       // used if file is nil
	file  *os.File     // on disk
	check func() error // reports a change of file since it was offered
}

// fileError is a fault of the file of a range. Other errors of a writer are the connection's.
type fileError struct {
	err     error
	partial bool // a part of the range may have been sent
}

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// errShort is a file that ended early.
var errShort = &fileError{err: io.ErrUnexpectedEOF}

// write sends messages in one flush.
func (w *writer) write(ms ...netproto.Message) error {
	return w.pings.during(func() error { return w.wire.Write(ms...) })
}

// writeRange answers r with size bytes from offset on. The end of a file is sent after a check of it, so a range during which the
// file changed never completes at the client.
func (w *writer) writeRange(r request, from source, offset int64, size int) error {
	switch {
	case from.file == nil:
		return w.write(r.answer(from.data[offset : offset+int64(size)]))
	case w.sendfile != nil && r.own && size >= minSendfile:
		return w.sendFile(r, from, offset, size)
	default:
		return w.copyFile(r, from, offset, size)
	}
}

// sendFile sends by sendfile. After a fault of the file the frame stays incomplete. A change after the last check, while the bytes
// wait in the socket, is left to the client's digest check.
func (w *writer) sendFile(r request, from source, offset int64, size int) error {
	first := size - catalogue.TailSize
	err := w.pings.during(func() error {
		return w.wire.WriteRange(&netproto.RangeData{Request: r.number, Offset: r.offset}, size, func(head []byte) error {
			if err := w.sendfile.send(head, from.file, offset, first); err != nil {
				return err
			}
			if err := from.check(); err != nil {
				return &fileError{err: err}
			}
			return w.sendfile.send(nil, from.file, offset+int64(first), catalogue.TailSize)
		})
	})
	var fault *fileError
	if errors.As(err, &fault) {
		return &fileError{err: cmp.Or(from.check(), fault.err), partial: true} // a change is the cause of other errors
	}
	return err
}

// copyFile reads and sends in pieces, and holds one piece in memory at a time.
func (w *writer) copyFile(r request, from source, offset int64, size int) error {
	pieces, done := 0, 0
	return w.pings.during(func() error {
		return w.wire.WritePieces(r.answer(nil), size, func(piece []byte) error {
			pieces++
			n, err := from.file.ReadAt(piece, offset+int64(done))
			if done += n; n == len(piece) {
				err = nil
			}
			if err == nil && done < size {
				return nil
			}
			if err = cmp.Or(from.check(), err); err != nil { // a change is the cause of other errors
				return &fileError{err: err, partial: pieces > 1}
			}
			return nil
		})
	})
}
