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
	// squatSlack is how much later than its limit says the server may end a connection, on a busy machine.
	squatSlack = 10 * time.Second
	// gorgeAsks and gorgePortion are what a client asks for that takes nothing of it: far more than sockets hold.
	gorgeAsks, gorgePortion = 32, 1_000_000
	// insistEvery is how often such a client says something all the same.
	insistEvery = 100 * time.Millisecond
	// gorgeBuffer is the buffer of its socket, in bytes.
	gorgeBuffer = 16 << 10
)

// squat is a connection that the server has to end by itself.
type squat struct {
	name  string
	limit time.Duration
	way   int // index of the transport
	bare  bool
	says  []byte
	takes bool // it reads what comes
}

// squats are all kinds.
func squats() []squat {
	hello := greeting(netproto.C1)
	return []squat{
		{"said nothing", handshakeTime, 0, true, nil, true},
		{"said nothing to TLS", handshakeTime, 1, true, nil, true},
		{"said half a hello", handshakeTime, 0, true, hello[:len(hello)/2], true},
		{"said half a hello over TLS", handshakeTime, 1, false, hello[:len(hello)/2], true},
		{"asked for half a WebSocket", handshakeTime, 2, true, []byte("GET / HTTP/1.1\r\nHost: x\r\nUpgrade:"), true},
		{"said nothing over a WebSocket", handshakeTime, 2, false, nil, true},
		{"answered no ping", pingTime, 0, false, hello, true},
		{"answered no ping over TLS", pingTime, 1, false, hello, true},
		{"took nothing", progressTime, 0, false, append(greeting(netproto.C1), gorge()...), false},
		{"took nothing over TLS", progressTime, 1, false, append(greeting(netproto.C1), gorge()...), false},
	}
}

// buffer is a place for what a client would say.
type buffer struct{ bytes.Buffer }

// Close implements io.Closer.
func (*buffer) Close() error { return nil }

// spoken is how messages stand on the wire.
func spoken(g netproto.Generation, messages ...netproto.Message) []byte {
	var b buffer
	c := netproto.NewConn(&b, netproto.ClientSide, netproto.Limits{})
	if err := errors.Join(c.SetGeneration(g), c.Write(messages...)); err != nil {
		panic("soak: internal error: " + err.Error())
	}
	return b.Bytes()
}

// greeting is a good hello of C1.
func greeting(g netproto.Generation) []byte {
	return spoken(g, &netproto.Handshake{Version: g.Version(), Capabilities: netproto.CapPipeline, Compatibility: compatibility, Target: linux})
}

// gorge asks for more than sockets hold.
func gorge() []byte {
	var asks []netproto.Message
	for i := range uint32(gorgeAsks) {
		asks = append(asks, &netproto.GetRange{Request: i, Index: large, Length: gorgePortion})
	}
	return spoken(netproto.C1, asks...)
}

// occupy holds a connection until the server ends it, or until ctx ends.
func (s squat) occupy(ctx context.Context, h *host, t *tally) {
	w := h.ways[s.way]
	dialer := *w.dialer
	if s.bare {
		dialer.TLS, dialer.WebSocket = nil, ""
	}
	if !s.takes {
		dialer.Direct = cramped
	}
	w.dialer = &dialer
	conn, letGo, err := w.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			t.fault("connect for one that %s: %v", s.name, err)
		}
		return
	}
	defer letGo()
	defer conn.Close()
	began := time.Now()
	conn.SetReadDeadline(began.Add(s.limit + squatSlack))
	if _, err = conn.Write(s.says); err == nil && s.takes {
		_, err = io.Copy(io.Discard, conn)
	} else if err == nil {
		err = insist(ctx, conn, s.limit+squatSlack)
	}
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		t.did(s.name + ", until the pause")
	case took < s.limit/2 || took >= s.limit+squatSlack:
		t.fault("one that %s was ended after %v (%v), where the limit says %v", s.name, took.Round(time.Millisecond), err, s.limit)
	default:
		t.did(s.name)
	}
}

// insist says something unknown now and then, which is no progress, until the connection does not take it or the time is
// over. Reading would tell sooner that the server has closed, but would take what waits.
func insist(ctx context.Context, conn net.Conn, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	something := spoken(netproto.C1, &netproto.Unknown{Number: 200})
	for ctx.Err() == nil {
		if _, err := conn.Write(something); err != nil {
			return err
		}
		_ = interrupt.Sleep(ctx, insistEvery)
	}
	return ctx.Err()
}

// cramped connects with a small buffer for what arrives.
func cramped(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.(*net.TCPConn).SetReadBuffer(gorgeBuffer)
}

// choose picks some kinds.
func choose(r *rand.Rand, n int) []squat {
	all := squats()
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}
