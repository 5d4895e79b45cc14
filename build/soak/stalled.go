package soak

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"collet/netproto"
	"collet/platform/interrupt"
)

const (
	// endSlack is how much later than its limit the server may end a connection, on a busy machine.
	endSlack = 10 * time.Second
	// unreadRequests and unreadSize are the requests of a client that reads no answer: far more bytes than sockets hold.
	unreadRequests, unreadSize = 32, 1_000_000
	// unknownPeriod is how often such a client still sends a message.
	unknownPeriod = 100 * time.Millisecond
	// smallBuffer is the size of its receive buffer, in bytes.
	smallBuffer = 16 << 10
)

// stalledClient is a client that makes no progress: the server has to end its connection.
type stalledClient struct {
	name      string
	limit     time.Duration
	transport int // index in host.transports
	bare      bool
	sends     []byte
	reads     bool
}

// stalledClients returns all kinds.
func stalledClients() []stalledClient {
	hello := encodeHello(netproto.C1)
	return []stalledClient{
		{"sent nothing", handshakeTime, 0, true, nil, true},
		{"sent nothing to TLS", handshakeTime, 1, true, nil, true},
		{"sent half a hello", handshakeTime, 0, true, hello[:len(hello)/2], true},
		{"sent half a hello over TLS", handshakeTime, 1, false, hello[:len(hello)/2], true},
		{"sent half a WebSocket request", handshakeTime, 2, true, []byte("GET / HTTP/1.1\r\nHost: x\r\nUpgrade:"), true},
		{"sent nothing over a WebSocket", handshakeTime, 2, false, nil, true},
		{"answered no ping", pingTime, 0, false, hello, true},
		{"answered no ping over TLS", pingTime, 1, false, hello, true},
		{"read nothing", progressTime, 0, false, append(encodeHello(netproto.C1), encodeUnreadRequests()...), false},
		{"read nothing over TLS", progressTime, 1, false, append(encodeHello(netproto.C1), encodeUnreadRequests()...), false},
	}
}

// buffer collects messages in place of a connection.
type buffer struct{ bytes.Buffer }

// Close implements io.Closer.
func (*buffer) Close() error { return nil }

// encode returns the bytes of messages on the wire.
func encode(g netproto.Generation, messages ...netproto.Message) []byte {
	var b buffer
	c := netproto.NewConn(&b, netproto.ClientSide, netproto.Limits{})
	if err := errors.Join(c.SetGeneration(g), c.Write(messages...)); err != nil {
		panic("soak: internal error: " + err.Error())
	}
	return b.Bytes()
}

// encodeHello returns a valid hello.
func encodeHello(g netproto.Generation) []byte {
	return encode(g, &netproto.Handshake{Version: g.Version(), Capabilities: netproto.CapPipeline, Compatibility: compatibility, Target: linux})
}

// encodeUnreadRequests returns requests for more bytes than sockets hold.
func encodeUnreadRequests() []byte {
	var asks []netproto.Message
	for i := range uint32(unreadRequests) {
		asks = append(asks, &netproto.GetRange{Request: i, Index: large, Length: unreadSize})
	}
	return encode(netproto.C1, asks...)
}

// hold keeps a connection open until the server ends it, or until ctx ends.
func (s stalledClient) hold(ctx context.Context, h *host, t *counter) {
	w := h.transports[s.transport]
	dialer := *w.dialer
	if s.bare {
		dialer.TLS, dialer.WebSocket = nil, ""
	}
	if !s.reads {
		dialer.Direct = dialWithSmallBuffer
	}
	w.dialer = &dialer
	conn, detach, err := w.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			t.fault("connect for one that %s: %v", s.name, err)
		}
		return
	}
	defer detach()
	defer conn.Close()
	began := time.Now()
	conn.SetReadDeadline(began.Add(s.limit + endSlack))
	if _, err = conn.Write(s.sends); err == nil && s.reads {
		_, err = io.Copy(io.Discard, conn)
	} else if err == nil {
		err = sendUnknown(ctx, conn, s.limit+endSlack)
	}
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		t.did(s.name + ", until the pause")
	case took < s.limit/2 || took >= s.limit+endSlack:
		t.fault("one that %s was ended after %v (%v), where the limit says %v", s.name, took.Round(time.Millisecond), err, s.limit)
	default:
		t.did(s.name)
	}
}

// sendUnknown sends messages of an unknown type, which are no progress, until a write fails or most has passed. Reading would show
// sooner that the server has closed, but would also read the answers.
func sendUnknown(ctx context.Context, conn net.Conn, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	message := encode(netproto.C1, &netproto.Unknown{Number: 200})
	for ctx.Err() == nil {
		if _, err := conn.Write(message); err != nil {
			return err
		}
		_ = interrupt.Sleep(ctx, unknownPeriod)
	}
	return ctx.Err()
}

// dialWithSmallBuffer connects with a small buffer for what arrives.
func dialWithSmallBuffer(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.(*net.TCPConn).SetReadBuffer(smallBuffer)
}

// chooseStalled returns n random kinds.
func chooseStalled(r *rand.Rand, n int) []stalledClient {
	all := stalledClients()
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}
