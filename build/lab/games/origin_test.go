package games

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// origin is the web server of a release folder. It counts what it sends, and can stop in the middle of an answer.
type origin struct {
	*httptest.Server
	files http.Handler

	mu   sync.Mutex
	sent int64         // bytes of answers
	stop int64         // count of bytes at which it stops; 0: never
	held chan struct{} // closed when it has stopped
	free chan struct{} // closed to go on
}

func newOrigin(t *testing.T, folder string) *origin {
	o := &origin{files: http.FileServer(http.Dir(folder))}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.files.ServeHTTP(counted{w, r.Context(), o}, r)
}

// counted is an answer that is counted.
type counted struct {
	http.ResponseWriter
	ctx context.Context
	o   *origin
}

// errHeld ends an answer whose reader has gone while the server stood still.
var errHeld = errors.New("the reader has gone")

// Write sends in portions, so that the server stops near the count.
func (c counted) Write(data []byte) (n int, err error) {
	const portion = 4 << 10
	for len(data) > 0 && err == nil {
		if err = c.o.pass(c.ctx, min(portion, len(data))); err != nil {
			break
		}
		var m int
		m, err = c.ResponseWriter.Write(data[:min(portion, len(data))])
		n, data = n+m, data[m:]
	}
	return n, err
}

// pass counts bytes that are about to be sent, and waits where the server stands still.
func (o *origin) pass(ctx context.Context, bytes int) error {
	o.mu.Lock()
	o.sent += int64(bytes)
	stops, held, free := o.stop > 0 && o.sent > o.stop, o.held, o.free
	if stops {
		select {
		case <-held:
		default:
			close(held)
		}
	}
	o.mu.Unlock()
	if !stops {
		return nil
	}
	select {
	case <-free:
		return nil
	case <-ctx.Done():
		return errHeld
	}
}

// count returns what was sent since the last call.
func (o *origin) count() (bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	bytes, o.sent = o.sent, 0
	return bytes
}

// holdAfter makes the server stop after so many bytes from now. held is closed when it does; release makes it go on.
func (o *origin) holdAfter(bytes int64) (held <-chan struct{}, release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop, o.held, o.free = o.sent+bytes, make(chan struct{}), make(chan struct{})
	free := o.free
	return o.held, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.stop = 0
		close(free)
	}
}
