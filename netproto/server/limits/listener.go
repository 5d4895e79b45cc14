package limits

import (
	"net"
	"sync"
)

// Listener is a listener that has only as many connections open at once as there are slots. Accept waits for a free slot.
type Listener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

// NewListener allows most connections at once.
func NewListener(inner net.Listener, most int) *Listener {
	return &Listener{Listener: inner, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slotConn gives its slot back when it is closed.
type slotConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *slotConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
