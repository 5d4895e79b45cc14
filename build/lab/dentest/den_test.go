package dentest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// released are the options with which our transport meets released programs in these tests: both protocols offered, as
// by default, and the Remote Launcher's harmless message.
func released() den.Options { return den.Options{Harmless: []byte{wire.CodeKeepAlive}} }

// pairing is a connection between our transport and the reference, through a proxy.
type pairing struct {
	den   *den.Conn
	ref   *dentest.Conn
	heard *dentest.Recorder
	proxy *dentest.Proxy

	listener *den.Listener // where our side is connected to
}

// denServes joins a reference device to our listener through a proxy.
func denServes(t testing.TB, o dentest.ProxyOptions, states map[string]*dentest.State) *pairing {
	t.Helper()
	l, err := den.Listen("127.0.0.1:0", released())
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	p := &pairing{listener: l}
	p.proxy = watched(t, l.Addr(), o)
	p.join(t, states)
	return p
}

// join connects a reference device, the first or another one, in place of the one before.
func (p *pairing) join(t testing.TB, states map[string]*dentest.State) {
	t.Helper()
	p.heard = dentest.NewRecorder(states)
	heard := p.heard
	ctx := within(t, 10*time.Second)
	var err error
	p.ref, err = dentest.Dial(ctx, p.proxy.Addr().String(), dentest.Options{}, func(*dentest.Conn) dentest.App { return heard })
	must(t, err)
	t.Cleanup(p.ref.Socket().Close)
	p.den, err = p.listener.Accept(ctx)
	must(t, err)
	if p.den.Protocol() != den.ProtocolRelease {
		t.Fatalf("protocol %#x with a released device", p.den.Protocol())
	}
}

// denConnects joins our connecting side to a reference listener through a proxy.
func denConnects(t testing.TB, o dentest.ProxyOptions, states map[string]*dentest.State) *pairing {
	t.Helper()
	p := &pairing{heard: dentest.NewRecorder(states)}
	conns := make(chan *dentest.Conn, 4)
	e, err := dentest.Listen("127.0.0.1:0", dentest.Options{Timers: dentest.DeskTimers}, func(c *dentest.Conn) dentest.App {
		conns <- c
		return p.heard
	})
	must(t, err)
	t.Cleanup(e.Close)
	p.proxy = watched(t, e.Addr(), o)
	p.den, err = den.Dial(within(t, 10*time.Second), p.proxy.Addr().String(), released())
	must(t, err)
	t.Cleanup(func() { must(t, p.den.Close()) })
	for p.ref = <-conns; len(conns) > 0; {
		p.ref = <-conns // the last one is the port that was answered
	}
	return p
}

// watched is a proxy that prints its recording when the test fails.
func watched(t testing.TB, to netip.AddrPort, o dentest.ProxyOptions) *dentest.Proxy {
	t.Helper()
	p, err := dentest.NewProxy(to, o)
	must(t, err)
	t.Cleanup(func() {
		p.Close()
		if t.Failed() && !o.Quiet {
			t.Logf("recorded:\n%s", tail(p.Text(), 5000))
		}
	})
	return p
}

// clean fails the test when the reference peer saw something it doesn't survive.
func (p *pairing) clean(t testing.TB) {
	t.Helper()
	p.ref.Socket().Journal().MustBeClean(t)
}

// pour sends messages i to j-1 from our side, each its number as text.
func (p *pairing) pour(ctx context.Context, i, j int) error {
	for ; i < j; i++ {
		if err := p.den.Send(ctx, fmt.Append(nil, i)); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return p.den.Flush(ctx)
}

// send has the reference peer queue messages i to j-1 at once, each its number as text.
func (p *pairing) send(i, j int) {
	p.ref.Do(func(now time.Time, core *dentest.Transport) {
		for ; i < j; i++ {
			core.Send(now, fmt.Append(nil, i))
		}
	})
}

// draw reads messages i to j-1 on our side and checks them.
func (p *pairing) draw(ctx context.Context, i, j int) error {
	for ; i < j; i++ {
		m, err := p.den.Receive(ctx)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if string(m.Payload) != fmt.Sprint(i) {
			return fmt.Errorf("message %d came as %.40q", i, m.Payload)
		}
	}
	return nil
}

// drawPortions has the reference peer send messages 0 to n-1 and draws them. No lap of numbers waits at once: the released
// sender finds the message of an ack by its number alone, so a second ack would finish the unsent message of the next lap.
func (p *pairing) drawPortions(ctx context.Context, n int) error {
	const portion = 10_000
	for i := 0; i < n; i += portion {
		end := min(i+portion, n)
		p.send(i, end)
		if err := p.draw(ctx, i, end); err != nil {
			return err
		}
	}
	return nil
}

// whole checks that the reference peer got exactly messages 0 to n-1, harmless ones aside.
func (p *pairing) whole(t testing.TB, n int) {
	t.Helper()
	next, harmless := 0, 0
	for _, m := range p.genuine(t, n) {
		if m[0] == wire.CodeKeepAlive {
			harmless++
			continue
		}
		if string(m) != fmt.Sprint(next) {
			t.Fatalf("message %d arrived as %.40q\n%s", next, m, p.story(m))
		}
		next++
	}
	if next != n {
		t.Fatalf("%d messages of %d arrived", next, n)
	}
	t.Logf("%d messages, %d harmless, %s", n, harmless, p.notes())
}

// genuine waits until n messages that aren't harmless have come, and returns all: the reference acknowledges before it
// delivers.
func (p *pairing) genuine(t testing.TB, n int) [][]byte {
	t.Helper()
	ctx, enough := within(t, 30*time.Second), n
	for {
		all, err := p.heard.Wait(ctx, enough)
		must(t, err)
		harmless := 0
		for _, m := range all {
			if m[0] == wire.CodeKeepAlive {
				harmless++
			}
		}
		if len(all)-harmless >= n {
			return all
		}
		enough = n + harmless
	}
}

// story is everything that happened to the number that carried a message, both ways, from the recording.
func (p *pairing) story(message []byte) string {
	text, number := &strings.Builder{}, -1
	trace := p.proxy.Trace()
	for _, g := range trace {
		if k, ok := dentest.Number(g.Data); ok && g.Direction == dentest.ToClient && bytes.Equal(g.Data[3:], message) {
			number = k
			break
		}
	}
	for _, g := range trace {
		if k, ok := dentest.Number(g.Data); ok && k == number && (g.Direction == dentest.ToClient) == (g.Data[0] != dentest.CmdReliableAck) {
			fmt.Fprintf(text, "%v %s %x %s\n", g.At, g.Direction, g.Data[:min(len(g.Data), 24)], g.Fate)
		}
	}
	return text.String()
}

func (p *pairing) notes() string {
	j := p.ref.Socket().Journal()
	return fmt.Sprintf("the reference stored %d old and %d twice, delivered %d stale, refused %d, resent %d; ours: %+v",
		j.Count(dentest.CountStoredOld), j.Count(dentest.CountStoredTwice), j.Count(dentest.CountStaleDelivered),
		j.Count(dentest.CountOutside), j.Count(dentest.CountResend), p.den.Stats())
}
