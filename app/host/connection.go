package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"collet/app/acquire"
	"collet/app/download"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// connection is the updater connection as a source of signed releases. Only signed files are accepted from it, so its own file list is
// not requested. One Updater uses it at a time; Close may be called from any goroutine.
type connection struct {
	source *source
	mu     sync.Mutex
	way    *objectWay
}

var _ acquire.Server = (*connection)(nil)

// Connect implements acquire.Server.
func (l *connection) Connect(ctx context.Context) (compat.Judgement, download.Mirror, error) {
	if err := l.Close(); err != nil {
		return compat.Judgement{}, nil, err
	}
	l.source.options.Unlisted = true
	judgement, err := l.source.Connect(ctx)
	if err != nil {
		return judgement, nil, err
	}
	client := l.source.session()
	if !client.Objects() {
		return judgement, nil, nil
	}
	way := newObjectWay(client, l.source.options.Addr)
	l.mu.Lock()
	l.way = way
	l.mu.Unlock()
	return judgement, way, nil
}

// Close implements acquire.Server.
func (l *connection) Close() error {
	err := l.source.Close()
	l.mu.Lock()
	way := l.way
	l.mu.Unlock()
	if way != nil {
		way.close()
	}
	return err
}

// objectWay is a session as a download.Mirror. The caller of newObjectWay closes it.
type objectWay struct {
	client *session.Client
	name   string
	life   context.Context // ended by close
	end    context.CancelFunc

	mu      sync.Mutex
	closed  bool
	reading sync.WaitGroup // incremented under mu, and not after closed is set
}

func newObjectWay(client *session.Client, name string) *objectWay {
	w := &objectWay{client: client, name: name}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// close ends all reads, unread answers included, and waits for them. Later Gets return an error.
func (w *objectWay) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.reading.Wait()
}

// run runs f on a goroutine that close waits for. It returns false, without running f, after close.
func (w *objectWay) run(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.reading.Go(f)
	}
	return !w.closed
}

// Name implements download.Mirror.
func (w *objectWay) Name() string { return w.name }

// Get implements download.Mirror. Bytes arrive as fast as the caller reads: the session requests no more than its window.
func (w *objectWay) Get(ctx context.Context, name string, from, to int64, limit int64) (io.ReadCloser, error) {
	length := int64(-1)
	switch {
	case to >= 0 && to > limit:
		return nil, &download.WrongError{Mirror: w.name, Name: name, Kind: download.WrongLong}
	case to >= 0:
		length = to - from
	}
	inner, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	r := &objectReader{PipeReader: out, cancel: cancel, done: make(chan struct{})}
	gone := w.fault(ctx, name, net.ErrClosed)
	begun := w.run(func() {
		defer close(r.done)
		defer context.AfterFunc(w.life, func() {
			cancel()
			in.CloseWithError(gone)
		})()
		left := limit - from
		err := w.client.Object(inner, name, from, length, func(data []byte) error {
			if left -= int64(len(data)); left < 0 {
				return &download.WrongError{Mirror: w.name, Name: name, Kind: download.WrongLong, Detail: fmt.Sprintf("more than %d bytes", limit)}
			}
			_, err := in.Write(data)
			return err
		})
		in.CloseWithError(w.fault(ctx, name, err))
	})
	if !begun {
		cancel()
		return nil, gone
	}
	return r, nil
}

// fault maps an error of the session to a mirror's error. nil is the end of the object.
func (w *objectWay) fault(ctx context.Context, name string, err error) error {
	var missing *session.MissingObjectError
	var short *session.ObjectEndError
	var wrong *download.WrongError
	var format *netproto.FormatError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &wrong):
		return wrong
	case errors.As(err, &missing):
		return &download.MissingError{Mirror: w.name, Name: name}
	case errors.As(err, &short):
		return &download.WrongError{Mirror: w.name, Name: name, Kind: download.WrongShort, Err: err}
	case errors.As(err, &format):
		return &download.WrongError{Mirror: w.name, Name: name, Kind: download.WrongStatus, Err: err}
	default:
		return &download.NetError{Mirror: w.name, Name: name, Kind: download.NetReset, Err: err}
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
