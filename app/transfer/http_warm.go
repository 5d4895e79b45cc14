package transfer

import (
	"context"
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

// Warm begins to connect, so that the first requests find connections: for a start that has other work to do before it asks.
// Nothing is sent but what connecting takes. It may be called once, before the first Get; a connection that can't be made is
// tried again by whoever needs it.
func (w *HTTPWay) Warm(ctx context.Context) {
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
}

// addressOf is what is dialed for a URL.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// warmth is connections that are made before somebody needs them. The zero value has none.
type warmth struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	addr   string
	begun  time.Time
	cancel context.CancelFunc
	run    sync.WaitGroup
	made   chan net.Conn // nil for one that could not be made

	mu   sync.Mutex
	left int // that nobody has taken
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

// close ends what nobody has taken.
func (w *warmth) close() {
	if w.cancel == nil {
		return
	}
	w.cancel()
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
