package netproto_test

import (
	"bytes"
	"compress/zlib"
	"io"
	"testing"

	"go.uber.org/goleak"

	"collet/netproto"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a connection made of two halves; a nil half is empty or swallows.
type stream struct {
	io.Reader
	io.Writer
	closed *bool
}

var _ io.ReadWriteCloser = stream{}

func (s stream) Read(p []byte) (int, error) {
	if s.Reader == nil {
		return 0, io.EOF
	}
	return s.Reader.Read(p)
}

func (s stream) Write(p []byte) (int, error) {
	if s.Writer == nil {
		return len(p), nil
	}
	return s.Writer.Write(p)
}

func (s stream) Close() error {
	if s.closed != nil {
		*s.closed = true
	}
	return nil
}

// clientConn is a client's Conn of g that reads input and writes to output.
func clientConn(t testing.TB, g netproto.Generation, input []byte, output io.Writer) *netproto.Conn {
	t.Helper()
	c := netproto.NewConn(stream{Reader: bytes.NewReader(input), Writer: output}, netproto.ClientSide, netproto.Limits{})
	if err := c.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	return c
}

// serverConn is a server's Conn.
func serverConn(input []byte, output io.Writer, options ...netproto.Option) *netproto.Conn {
	return netproto.NewConn(stream{Reader: bytes.NewReader(input), Writer: output}, netproto.ServerSide, netproto.Limits{}, options...)
}

// frame encodes one plain frame.
func frame(t testing.TB, g netproto.Generation, m netproto.Message) []byte {
	t.Helper()
	data, err := netproto.EncodeFrame(g, 0, 0, m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hello is a valid hello of g.
func hello(g netproto.Generation) *netproto.Handshake {
	h := &netproto.Handshake{Version: g.Version(), Compatibility: "compat-A", Target: "Linux-x64"}
	if g.Engine() {
		h.Key = 0x12345678
	} else {
		h.Capabilities = netproto.CapPipeline
	}
	return h
}

// deflate compresses one batch, and finishes the stream if asked to.
func deflate(t testing.TB, level int, data []byte, finish bool) []byte {
	t.Helper()
	var out bytes.Buffer
	zw, err := zlib.NewWriterLevel(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	end := zw.Flush
	if finish {
		end = zw.Close
	}
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
