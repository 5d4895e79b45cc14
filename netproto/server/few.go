package server

import (
	"net"
	"sync"
)

// few is a listener that has only as many connections open at once as there are seats.
type few struct {
	net.Listener
	seats  chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (f *few) Accept() (net.Conn, error) {
	select {
	case f.seats <- struct{}{}:
	case <-f.closed:
		return nil, net.ErrClosed
	}
	conn, err := f.Listener.Accept()
	if err != nil {
		<-f.seats
		return nil, err
	}
	return &seated{Conn: conn, leave: sync.OnceFunc(func() { <-f.seats })}, nil
}

// Close implements net.Listener.
func (f *few) Close() error {
	f.once.Do(func() { close(f.closed) })
	return f.Listener.Close()
}

// seated gives its seat back when it is closed.
type seated struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (s *seated) Close() error {
	defer s.leave()
	return s.Conn.Close()
}
