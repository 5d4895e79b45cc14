package download

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"collet/netproto/dial"
)

// firstConnections is how many requests a start makes at once: the next root, the timestamp, and the sequel. Without HTTP/2 each needs
// a connection.
const firstConnections = 3

// warmAge is how long a connection waits for its first request. Servers close silent connections after 10 s or more.
const warmAge = 5 * time.Second

// First is a file that will be fetched whole, with its largest size in bytes.
type First struct {
	Name  string
	Limit int64
}

// Warm opens connections and requests files in advance, for a start that has other work to do first. It may be called once, before the
// first Get. The first Get of each of these files gets the early answer; a failed request is made again. It does nothing
// if HTTPOptions.PlainProxy has a proxy for the mirror.
func (w *HTTPMirror) Warm(ctx context.Context, files ...First) {
	if w.transport.Proxy != nil {
		if proxy, err := w.transport.Proxy(&http.Request{URL: w.base}); proxy != nil || err != nil {
			return
		}
	}
	n := firstConnections
	if w.base.Scheme == "https" {
		n = 1 // HTTP/2 has one connection for all requests
	}
	w.warm.openConnections(ctx, addressOf(w.base), n)
	for _, f := range files {
		w.warm.requestFile(f.Name, func(ctx context.Context) (io.ReadCloser, error) { return w.request(ctx, f.Name, 0, openEnd, f.Limit) })
	}
}

// addressOf is the HOST:PORT of a URL.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// warmth has the connections and requests that were made in advance. The zero value is empty.
type warmth struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	addr   string
	begun  time.Time
	cancel context.CancelFunc
	run    sync.WaitGroup
	made   chan net.Conn // nil for a failed attempt

	mu    sync.Mutex
	left  int // connections not taken yet
	asked map[string]*eager
}

// eager is a request made in advance.
type eager struct {
	cancel context.CancelFunc
	done   chan struct{}
	body   io.ReadCloser
	err    error
}

// requestFile makes a request in advance.
func (w *warmth) requestFile(name string, get func(ctx context.Context) (io.ReadCloser, error)) {
	ctx, cancel := context.WithCancel(context.Background()) // answer and close end it
	e := &eager{cancel: cancel, done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = map[string]*eager{}
	}
	w.asked[name] = e
	w.run.Go(func() {
		e.body, e.err = get(ctx)
		close(e.done)
	})
}

// takeAnswer returns the early answer for a file, once. is is false if the file was not requested, the answer is too old, or the request
// failed with another error than a *MissingError: then the caller makes the request.
func (w *warmth) takeAnswer(ctx context.Context, name string) (body io.ReadCloser, err error, is bool) {
	w.mu.Lock()
	e := w.asked[name]
	delete(w.asked, name)
	old := time.Since(w.begun) > warmAge
	w.mu.Unlock()
	if e == nil {
		return nil, nil, false
	}
	if old {
		e.drop()
		return nil, nil, false
	}
	stop := context.AfterFunc(ctx, e.cancel)
	<-e.done
	var missing *MissingError
	if e.err != nil {
		stop()
		e.cancel()
		return nil, e.err, errors.As(e.err, &missing)
	}
	return &eagerBody{e.body, e.cancel, stop}, nil, true
}

// drop cancels and closes an unused answer.
func (e *eager) drop() {
	e.cancel()
	<-e.done
	if e.err == nil {
		_ = e.body.Close() // its content is not used
	}
}

// eagerBody is an early answer. Its request ends when it is closed, or with the context of the Get that took it.
type eagerBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	stop   func() bool
}

// Close implements io.Closer.
func (b *eagerBody) Close() error {
	err := b.ReadCloser.Close()
	b.stop()
	b.cancel()
	return err
}

// Total implements Sized.
func (b *eagerBody) Total() int64 {
	if sized, is := b.ReadCloser.(Sized); is {
		return sized.Total()
	}
	return -1
}

// openConnections opens n connections in the background.
func (w *warmth) openConnections(ctx context.Context, addr string, n int) {
	ctx, w.cancel = context.WithTimeout(context.WithoutCancel(ctx), dial.ConnectTimeout)
	w.addr, w.begun, w.made, w.left = addr, time.Now(), make(chan net.Conn, n), n
	for range n {
		w.run.Go(func() {
			conn, err := w.dial(ctx, "tcp", addr)
			if err != nil {
				conn = nil
			}
			w.made <- conn
		})
	}
}

// takeConnection waits for the next connection. It returns nil if no connection is left for this address, or if the attempt failed.
func (w *warmth) takeConnection(ctx context.Context, addr string) net.Conn {
	w.mu.Lock()
	if w.left == 0 || addr != w.addr || time.Since(w.begun) > warmAge {
		w.mu.Unlock()
		return nil
	}
	w.left--
	w.mu.Unlock()
	select {
	case conn := <-w.made:
		return conn
	case <-ctx.Done():
		return nil // close closes the connection
	}
}

// close ends unused connections and requests.
func (w *warmth) close() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	w.mu.Lock()
	asked := w.asked
	w.asked = nil
	w.mu.Unlock()
	for _, e := range asked {
		e.drop()
	}
	w.run.Wait()
	for {
		select {
		case conn := <-w.made:
			if conn != nil {
				_ = conn.Close() // no data was sent
			}
		default:
			return
		}
	}
}
