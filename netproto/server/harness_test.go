package server_test

import (
	"net"
	"sync"
	"testing"

	"collet/netproto/releasetest"
	"collet/netproto/server/servertest"
)

// templates are the release folders with which tests begin. TestMain sets and removes them.
var templates *releasetest.Templates

func TestMain(m *testing.M) { servertest.Main(m, &templates) }

// pipes is a listener whose connections are net.Pipe, for tests in a bubble of fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// connect hands the server one end and returns the other.
func (p *pipes) connect() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

var _ net.Listener = (*pipes)(nil)
