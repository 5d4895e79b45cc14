package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"collet/netproto"
	"collet/netproto/session"
)

// SessionMirror is a session of the updater connection as a mirror: the release folder that its server offers. NewSessionMirror makes
// one; the caller closes it.
type SessionMirror struct {
	client *session.Client
	name   string
	life   context.Context // ended by Close
	end    context.CancelFunc

	mu      sync.Mutex
	closed  bool
	reading sync.WaitGroup // incremented under mu, and not after closed is set
}

var _ Mirror = (*SessionMirror)(nil)

// NewSessionMirror makes a mirror of a session. The caller keeps the session, and ends it before it closes the mirror.
func NewSessionMirror(client *session.Client, name string) *SessionMirror {
	w := &SessionMirror{client: client, name: name}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Close ends all reads, unread answers included, and waits for them. Later Gets return an error. It returns nil.
func (w *SessionMirror) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.reading.Wait()
	return nil
}

// startReading runs f on a goroutine that Close waits for. It returns false, without running f, after Close.
func (w *SessionMirror) startReading(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.reading.Go(f)
	}
	return !w.closed
}

// Name implements Mirror.
func (w *SessionMirror) Name() string { return w.name }

// Get implements Mirror. Bytes arrive as fast as the caller reads: the session requests no more than its window.
func (w *SessionMirror) Get(ctx context.Context, name string, from, to int64, limit int64) (io.ReadCloser, error) {
	length := int64(-1)
	switch {
	case to >= 0 && to > limit:
		return nil, &WrongError{Mirror: w.name, Name: name, Kind: WrongLong}
	case to >= 0:
		length = to - from
	}
	inner, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	r := &objectReader{PipeReader: out, cancel: cancel, done: make(chan struct{})}
	gone := w.classify(ctx, name, net.ErrClosed)
	begun := w.startReading(func() {
		defer close(r.done)
		defer context.AfterFunc(w.life, func() {
			cancel()
			in.CloseWithError(gone)
		})()
		left := limit - from
		err := w.client.Object(inner, name, from, length, func(data []byte) error {
			if left -= int64(len(data)); left < 0 {
				return &WrongError{Mirror: w.name, Name: name, Kind: WrongLong, Detail: fmt.Sprintf("more than %d bytes", limit)}
			}
			_, err := in.Write(data)
			return err
		})
		in.CloseWithError(w.classify(ctx, name, err))
	})
	if !begun {
		cancel()
		return nil, gone
	}
	return r, nil
}

// classify maps an error of the session to a mirror's error. nil is the end of the object.
func (w *SessionMirror) classify(ctx context.Context, name string, err error) error {
	var missing *session.MissingObjectError
	var short *session.ObjectEndError
	var wrong *WrongError
	var format *netproto.FormatError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &wrong):
		return wrong
	case errors.As(err, &missing):
		return &MissingError{Mirror: w.name, Name: name}
	case errors.As(err, &short):
		return &WrongError{Mirror: w.name, Name: name, Kind: WrongShort, Err: err}
	case errors.As(err, &format):
		return &WrongError{Mirror: w.name, Name: name, Kind: WrongStatus, Err: err}
	default:
		return &NetError{Mirror: w.name, Name: name, Kind: NetReset, Err: err}
	}
}

// objectReader is one answer. Closing it cancels the request.
type objectReader struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close implements io.Closer.
func (r *objectReader) Close() error {
	r.cancel()
	err := r.PipeReader.Close()
	<-r.done
	return err
}
