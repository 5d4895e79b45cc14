package session_test

import (
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// stranger answers a client of G1 with a compressed stream: the answer, and then the same frame forever, with pauses. It
// counts the inflated bytes.
type stranger struct {
	answer []byte // a whole frame, as the next
	frame  []byte
	every  int
	pause  time.Duration
	sent   int64
	wire   int64
	gone   sync.WaitGroup
}

func (s *stranger) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.gone.Go(func() {
		defer far.Close()
		if _, err := netproto.NewConn(far, netproto.ServerSide, netproto.Limits{}).Read(); err != nil {
			return
		}
		s.gone.Go(func() { // pings of the client
			page := make([]byte, 1000)
			for {
				if _, err := far.Read(page); err != nil {
					return
				}
			}
		})
		zw, _ := zlib.NewWriterLevel(counter{far, &s.wire}, zlib.BestCompression) // the level is right
		if _, err := zw.Write(s.answer); err != nil {
			return
		}
		for n := 1; ; n++ {
			if _, err := zw.Write(s.frame); err != nil {
				return
			}
			s.sent += int64(len(s.frame))
			if n%s.every == 0 {
				if zw.Flush() != nil {
					return
				}
				time.Sleep(s.pause)
			}
		}
	})
	return near, nil
}

type counter struct {
	net.Conn
	sum *int64
}

func (c counter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	*c.sum += int64(n)
	return n, err
}

// TestStrangersBombEndsSoon: unsolicited data ends a session after a few megabytes, however little of it is on the wire.
// A server that only sends many messages does not.
func TestStrangersBombEndsSoon(t *testing.T) {
	unknown := append(rawFrame(200, ""), make([]byte, 1<<20)...)
	binary.LittleEndian.PutUint32(unknown[4:], uint32(len(unknown)))
	ping := frame(t, netproto.G1, &netproto.Ping{})
	answer := frame(t, netproto.G1, netproto.NewAnswer(compat.Judgement{Verdict: compat.UpdateResources}))
	tests := map[string]*stranger{
		"unknown messages": {answer: answer, frame: unknown, every: 4},
		"pings":            {answer: answer, frame: ping, every: 1000},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := session.Dial(t.Context(), session.Options{Addr: "there:1", Generation: netproto.G1, Compatibility: "1", Target: "Linux-x64", Dial: s.dial})
				if err == nil {
					_, err = c.List(t.Context())
					c.Close()
				}
				var format *netproto.FormatError
				if !errors.As(err, &format) {
					t.Errorf("it ended with %v", err)
				}
				s.gone.Wait()
				if s.sent > 32<<20 {
					t.Errorf("it took %d bytes, of %d on the line", s.sent, s.wire)
				}
				t.Logf("%d bytes on the line, %d inflated", s.wire, s.sent)
			})
		})
	}
	talkative := &stranger{answer: answer, frame: ping, every: 200, pause: time.Second}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		c, err := session.Dial(ctx, session.Options{Addr: "there:1", Generation: netproto.G1, Compatibility: "1", Target: "Linux-x64", Dial: talkative.dial})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
		c.Close()
		talkative.gone.Wait()
	})
}
