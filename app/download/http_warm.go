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

	"collet/netproto"
)

// firstConnections is how many requests a start makes at once, which are as many connections before HTTP/2: the next root, the
// timestamp, and the sequel.
const firstConnections = 3

// warmAge is how long a connection waits for its first request: servers end those that never say anything, after 10 s and more.
const warmAge = 5 * time.Second

// First is a file that will be asked for, whole, and how many bytes it may have.
type First struct {
	Name  string
	Limit int64
}

// Warm begins to connect and to ask, so that the first requests find connections and the first files are on their way: for a
// start that has other work to do before it asks. It may be called once, before the first Get, of which each gets what was asked
// for early once; what failed is asked for again.
func (w *HTTPMirror) Warm(ctx context.Context, files ...First) {
	if w.transport.Proxy != nil {
		if proxy, err := w.transport.Proxy(&http.Request{URL: w.base}); proxy != nil || err != nil {
			return
		}
	}
	n := firstConnections
	if w.base.Scheme == "https" {
		n = 1 // HTTP/2 has one for all
	}
	w.warm.begin(ctx, addressOf(w.base), n)
	for _, f := range files {
		w.warm.ask(f.Name, func(ctx context.Context) (io.ReadCloser, error) { return w.get(ctx, f.Name, 0, openEnd, f.Limit) })
	}
}

// addressOf is what is dialed for a URL.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// warmth is connections that are made before they are needed. The zero value has none.
type warmth struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	addr   string
	begun  time.Time
	cancel context.CancelFunc
	run    sync.WaitGroup
	made   chan net.Conn // nil for one that could not be made

	mu    sync.Mutex
	left  int // not taken yet
	asked map[string]*eager
}

// eager is a request that was made before it was needed.
type eager struct {
	cancel context.CancelFunc
	done   chan struct{}
	body   io.ReadCloser
	err    error
}

// ask makes a request ahead of time.
func (w *warmth) ask(name string, get func(ctx context.Context) (io.ReadCloser, error)) {
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

// answer gives what was asked for ahead of time, once. is is false for what was not, is too old, or failed otherwise than by
// not being there: then it is to be asked for now.
func (w *warmth) answer(ctx context.Context, name string) (body io.ReadCloser, err error, is bool) {
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

// drop lets go of an unused answer.
func (e *eager) drop() {
	e.cancel()
	<-e.done
	if e.err == nil {
		_ = e.body.Close() // nothing of it was wanted
	}
}

// eagerBody is an answer whose request ends with it, or with the context of who took it.
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

func (w *warmth) begin(ctx context.Context, addr string, n int) {
	ctx, w.cancel = context.WithTimeout(context.WithoutCancel(ctx), netproto.DefaultConnectTimeout)
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

// take gives the connection that is made first, once it is. It is nil where none is left for this address, or it could not be
// made.
func (w *warmth) take(ctx context.Context, addr string) net.Conn {
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
		return nil // close finds it
	}
}

// close ends what was not taken.
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
				_ = conn.Close() // nothing was ever sent
			}
		default:
			return
		}
	}
}
