package servertest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/dashboard"
	"collet/platform/testwait"
)

// Server is a server under test.
type Server struct {
	*server.Server                    // nil until it is opened
	About          dashboard.About    // what its dashboard says of it
	Log            *Log               // receives everything that the server logs
	Addr           string             // of its listener, once it serves
	Stop           context.CancelFunc // ends Serve
	Done           chan error         // receives Serve's result
}

// New returns a log without a server.
func New() *Server { return &Server{Log: &Log{}, Done: make(chan error, 1)} }

// Open builds a catalogue and a server of it that does not serve yet.
func Open(t testing.TB, set config.Settings) *Server {
	t.Helper()
	s := New()
	catalogue, err := catalogue.Open(t.Context(), set, s.Logger())
	if err != nil {
		t.Fatal(err)
	}
	s.Server = server.New(catalogue, set, s.Logger())
	return s
}

// Logger writes to the log of the server.
func (s *Server) Logger() zerolog.Logger { return s.Log.Logger() }

// ServeOn serves on a listener until the test ends, and closes the catalogue then. A test that fails shows the log.
func (s *Server) ServeOn(t testing.TB, listener net.Listener) *Server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s.Stop, s.Addr = stop, listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { s.Done <- s.Serve(ctx, listener) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		s.Close()
		if t.Failed() {
			t.Log(s.Log)
		}
	})
	return s
}

// Start runs a server on loopback. It returns when the server is ready: before, its HTTP port answers that it is not.
func Start(t testing.TB, set config.Settings) *Server {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Open(t, set).ServeOn(t, listener)
	s.WaitUntil(t, s.Ready)
	return s
}

// WaitUntil waits until done returns true.
func (s *Server) WaitUntil(t testing.TB, done func() bool) {
	t.Helper()
	testwait.Until(t, done, "nothing happened")
}

// WaitForNoClients waits until no client is connected.
func (s *Server) WaitForNoClients(t testing.TB) {
	t.Helper()
	s.WaitUntil(t, func() bool { return s.Connections() == 0 })
}
