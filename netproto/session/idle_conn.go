package session

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// idleConn is a network connection with an idle timeout. A Read must receive something in time. A Write may take longer
// while bytes arrive: a busy peer on a slow link may send its answers before it reads.
type idleConn struct {
	net.Conn
	idle time.Duration

	mu    sync.Mutex
	until time.Time // latest end of a read, if set
	moved time.Time // when data last arrived
}

func (w *idleConn) Read(p []byte) (int, error) {
	w.mu.Lock()
	deadline := time.Now().Add(w.idle)
	if !w.until.IsZero() && w.until.Before(deadline) {
		deadline = w.until
	}
	err := w.SetReadDeadline(deadline)
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.mu.Lock()
		w.moved = time.Now()
		w.mu.Unlock()
	}
	return n, err
}

func (w *idleConn) Write(p []byte) (done int, err error) {
	for {
		if err := w.SetWriteDeadline(time.Now().Add(w.idle)); err != nil {
			return done, err
		}
		n, err := w.Conn.Write(p[done:])
		done += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 && w.isSilent() {
			return done, err
		}
	}
}

// isSilent reports whether nothing has arrived for the idle timeout.
func (w *idleConn) isSilent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.moved) >= w.idle
}

// limitReading limits reading to d from now. If it fails, the connection is already closed.
func (w *idleConn) limitReading(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Now().Add(d)
	_ = w.SetReadDeadline(w.until)
}
