package den

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"collet/platform/testlevel"
)

// story is one run of random traffic over a random path.
type story struct {
	t      *testing.T
	random *rand.Rand
	count  int
	most   int // bytes of a message
}

func (s *story) path() path {
	r := s.random
	p := path{
		delay:     time.Duration(r.IntN(30_000)) * time.Microsecond,
		jitter:    time.Duration(r.IntN(10_000)) * time.Microsecond,
		loss:      float64(r.IntN(4)) * 0.01,
		reorder:   float64(r.IntN(10)) * 0.01,
		duplicate: float64(r.IntN(10)) * 0.01,
	}
	if r.IntN(2) == 0 {
		p.rate, p.queue = float64(1+r.IntN(50))*1e6, time.Duration(5+r.IntN(100))*time.Millisecond
	}
	if r.IntN(3) == 0 {
		p.longest = 1472
	}
	return p
}

// messages are what one end sends.
func (s *story) messages() [][]byte {
	var out [][]byte
	for i := range s.count {
		n := s.random.IntN(200)
		if s.random.IntN(10) == 0 {
			n = s.random.IntN(s.most)
		}
		b := bytes.Repeat([]byte{byte(i)}, n+2)
		b[0], b[1] = 200+byte(i>>8), byte(i)
		out = append(out, b)
	}
	return out
}

// talk sends messages with pauses now and then.
func (s *story) talk(c *Conn, messages [][]byte, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 3))
	for _, m := range messages {
		if r.IntN(20) == 0 {
			time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		}
		if r.IntN(20) == 0 {
			if err := c.SendUnreliable([]byte{1}); err != nil {
				return err
			}
		}
		if err := c.Send(context.Background(), m); err != nil {
			return err
		}
	}
	return c.Flush(context.Background())
}

// hear receives messages, which must come whole and in order.
func (s *story) hear(c *Conn, messages [][]byte) error {
	for i := 0; i < len(messages); {
		m, err := c.Receive(context.Background())
		switch {
		case err != nil:
			return fmt.Errorf("message %d: %w", i, err)
		case !m.Reliable || bytes.HasPrefix(m.Payload, keepAlive):
			continue
		case !bytes.Equal(m.Payload, messages[i]):
			return fmt.Errorf("message %d has %d bytes, want %d", i, len(m.Payload), len(messages[i]))
		}
		m.Release()
		i++
	}
	return nil
}

// TestStories has both ends talk at once over many random paths.
func TestStories(t *testing.T) {
	stride := uint64(testlevel.Stride(3, 15)) // odd: both protocols
	for seed := uint64(0); seed < 60; seed += stride {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &story{t: t, random: rand.New(rand.NewPCG(seed, 4)), count: 150, most: 60_000}
			o := Options{Protocols: []uint16{[]uint16{ProtocolRelease, ProtocolCollet}[seed%2]}, Harmless: keepAlive, GiveUp: time.Minute}
			p, ours, theirs := s.path(), s.messages(), s.messages()
			bubble(t, p, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
				done := make(chan error, 4)
				go func() { done <- s.talk(client, ours, seed) }()
				go func() { done <- s.talk(server, theirs, seed+1) }()
				go func() { done <- s.hear(server, ours) }()
				go func() { done <- s.hear(client, theirs) }()
				for range 4 {
					if err := <-done; err != nil {
						t.Errorf("%+v: %v", p, err)
						client.Abort()
						server.Abort()
					}
				}
			})
		})
	}
}

// TestStrangersAreNotHeard: a third party sends random datagrams into a connection, and to the server.
func TestStrangersAreNotHeard(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			stranger := n.open(netip.MustParseAddrPort("203.0.113.9:9"))
			answers := make(chan []byte, 100)
			go func() {
				buf := make([]byte, readBuffer)
				for {
					n, _, _, err := stranger.read(buf)
					if err != nil {
						return
					}
					answers <- bytes.Clone(buf[:n])
				}
			}()
			for _, line := range append(lines(t, "commands.txt"), lines(t, "stream.txt")...) {
				if d := unhex(t, line[1]); d[0] != cmdRequest {
					for _, to := range []netip.AddrPort{fakeServer, server.RemoteAddr()} {
						_ = stranger.write(d, len(d), to)
					}
				}
			}
			time.Sleep(time.Second)
			flood(t, client, server, 100_000, 1000)
			flood(t, server, client, 100_000, 1000)
			_ = stranger.Close()
			for len(answers) > 0 {
				if d := <-answers; d[0] != cmdClose && d[0] != kindEnd || len(d) > 5+sealSize {
					t.Errorf("a stranger was answered with %x", d)
				}
			}
		})
	})
}

// TestOneGoroutineForEachConnection counts them.
func TestOneGoroutineForEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNet(1, quick)
		l := listenOn(n.open(fakeServer), Options{})
		defer func() { _ = l.Close() }()
		before := runtime.NumGoroutine()
		const count = 20
		for range count {
			c, err := dialWith(t.Context(), []netip.AddrPort{fakeServer}, Options{}, n.dial)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if err := c.Send(t.Context(), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		// The client has one more for its socket.
		if got := runtime.NumGoroutine() - before; got > 3*count || got < 2*count {
			t.Errorf("%d goroutines for %d connections at both ends", got, count)
		}
	})
}

// TestHostileMessagesTakeNoMemory declares long messages and sends little data.
func TestHostileMessagesTakeNoMemory(t *testing.T) {
	measure := func(f func()) uint64 {
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		f()
		runtime.ReadMemStats(&b)
		return b.TotalAlloc - a.TotalAlloc
	}
	got := measure(func() {
		for i := range 10 {
			in := newIn(&recordingSink{})
			in.maxMessage = 1 << 30
			header := putRecord(cmdReliable, 1<<30)
			if err := in.handleSegment(&segment{Number: uint64(i), Bytes: header[:]}, testTime); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got > 11*firstGrab {
		t.Errorf("ten headers took %d bytes", got)
	}
	got = measure(func() {
		for _, hexed := range []string{"0500000000000000ffff", "050000000000000000ffff", "00ffff", "09ff0000ff"} {
			d := unhex(t, hexed)
			if err := decode(d, decoders[d[0]]()); err == nil && d[0] != cmdLinkUpdate {
				t.Errorf("%s was taken", hexed)
			}
		}
	})
	if got > 1<<20 {
		t.Errorf("declared lengths took %d bytes", got)
	}
}

// TestManySegmentsThatWait sends single bytes with gaps: their number is bounded.
func TestManySegmentsThatWait(t *testing.T) {
	in := newIn(&recordingSink{})
	for i := range uint64(3 * maxEarly) {
		if err := in.handleSegment(&segment{Number: i, Offset: 1 + 2*i, Bytes: []byte{0}}, testTime); err != nil {
			t.Fatal(err)
		}
	}
	if len(in.early) != maxEarly || in.dropped != 2*maxEarly || len(in.numbers) > maxRanges {
		t.Errorf("%d wait, %d were dropped, %d ranges", len(in.early), in.dropped, len(in.numbers))
	}
}
