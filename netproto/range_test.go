package netproto_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"collet/netproto"
)

// rangeSink is the stream of a server whose client speaks once.
type rangeSink struct {
	io.Reader
	bytes.Buffer
}

func (s *rangeSink) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (*rangeSink) Close() error                 { return nil }

// afterHello is a server's connection that has read a hello.
func afterHello(t *testing.T, g netproto.Generation) (*netproto.Conn, *rangeSink) {
	t.Helper()
	m := &netproto.Handshake{Version: g.Version(), Compatibility: "c", Target: "t", Key: 1}
	hello, err := netproto.EncodeFrame(g, 0, 0, m)
	if err != nil {
		t.Fatal(err)
	}
	s := &rangeSink{Reader: bytes.NewReader(hello)}
	c := netproto.NewConn(s, netproto.ServerSide, netproto.Limits{})
	if _, err := c.Read(); err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestWriteRangeIsRangeData compares the head with what the codec writes.
func TestWriteRangeIsRangeData(t *testing.T) {
	for _, data := range []string{"", "x", "some data"} {
		m := &netproto.RangeData{Request: 0x01020304, Offset: 0x1122334455667788, Data: []byte(data)}
		want, err := netproto.EncodeFrame(netproto.C1, 0, 0, m)
		if err != nil {
			t.Fatal(err)
		}
		c, s := afterHello(t, netproto.C1)
		err = c.WriteRange(&netproto.RangeData{Request: m.Request, Offset: m.Offset}, len(data), func(head []byte) error {
			_, err := s.Write(append(head, data...))
			return err
		})
		if err != nil || !bytes.Equal(s.Bytes(), want) {
			t.Errorf("%q: %x, %v; want %x", data, s.Bytes(), err, want)
		}
	}
}

func TestWriteRangeThatFailsEndsTheSending(t *testing.T) {
	c, s := afterHello(t, netproto.C1)
	broken := errors.New("half a frame")
	if err := c.WriteRange(&netproto.RangeData{}, 5, func([]byte) error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}
	if err := c.Write(&netproto.Refuse{}); err != broken || s.Len() != 0 {
		t.Errorf("behind half a frame: %v, %d bytes", err, s.Len())
	}
	if err := c.WriteRange(&netproto.RangeData{}, 5, nil); err != broken {
		t.Errorf("again: %v", err)
	}
}

func TestWriteRangeIsForOwnOnly(t *testing.T) {
	for _, test := range []struct {
		g    netproto.Generation
		size int
	}{{netproto.G1, 1}, {netproto.G2a, 1}, {netproto.G2b, 1}, {netproto.C1, -1}, {netproto.C1, 1<<32 - 1}} {
		c, s := afterHello(t, test.g)
		err := c.WriteRange(&netproto.RangeData{}, test.size, func([]byte) error { t.Error("sent"); return nil })
		if err == nil || s.Len() != 0 {
			t.Errorf("%v, %d bytes: %v", test.g, test.size, err)
		}
		if err := c.Write(&netproto.Ping{}); err != nil {
			t.Errorf("%v: the connection ended: %v", test.g, err)
		}
	}
}
