package dentest_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// bad is a bad network: one per cent lost, two per cent out of order, one per cent doubled.
func bad(delay time.Duration) dentest.Impairment {
	return dentest.Impairment{Drop: 0.01, Reorder: 0.02, ReorderBy: 3 * time.Millisecond, Duplicate: 0.01, Delay: delay}
}

// TestDenTrapTwoLapsUnderLoss sends more than two laps to a reference receiver on a bad network. Every resend plants a
// copy and every doubled datagram does; nothing may come twice, change or be missing.
func TestDenTrapTwoLapsUnderLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("two laps take a while")
	}
	t.Parallel()
	const n = 2*65535 + 900
	lossy := dentest.Impairment{Drop: 0.002, Reorder: 0.002, ReorderBy: time.Millisecond}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := denServes(t, dentest.ProxyOptions{Seed: seed, ToServer: lossy, ToClient: lossy}, nil)
			must(t, p.pour(within(t, 4*time.Minute), 0, n))
			p.whole(t, n)
			p.clean(t)
		})
	}
}

// TestDenLongMessagesUnderLoss sends messages of all sizes to the reference on a bad network; probes for larger parts and
// fillers must not tear a long message.
func TestDenLongMessagesUnderLoss(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := denServes(t, dentest.ProxyOptions{Seed: seed, ToServer: bad(time.Millisecond), ToClient: bad(time.Millisecond)}, nil)
			p.longs(t)
		})
	}
}

// TestDenPartsOnANarrowPath loses every datagram above 1500 bytes, as a path without fragments does; parts must come back
// to a size that passes.
func TestDenPartsOnANarrowPath(t *testing.T) {
	wide := func(g *dentest.Datagram) bool { return len(g.Data) > 1472 }
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(wide)}}, nil)
	p.longs(t)
}

// TestDenPartsBecomeNarrow takes away what was possible in the middle of a connection. A part can only be repeated with the
// size that it was sent with, and the released receiver says nothing that would prove that it has not come: so the
// connection ends and says that the network did it, nothing arrives torn, and the next one goes on with a size that passes.
func TestDenPartsBecomeNarrow(t *testing.T) {
	t.Parallel()
	var narrow atomic.Bool
	wide := func(g *dentest.Datagram) bool { return narrow.Load() && len(g.Data) > 1472 }
	p := denServes(t, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(wide)}}, nil)
	ctx := within(t, time.Minute)
	long := dentest.Noise(1, 61_000)
	long[0] = 'm'
	for p.den.Stats().PartSize < den.DefaultPartMax {
		must(t, p.den.Send(ctx, long))
		must(t, p.den.Flush(ctx))
	}
	narrow.Store(true)
	if err := p.pour(ctx, 0, 1); err != nil {
		t.Errorf("a short message after the change: %v", err)
	}
	must(t, p.den.Send(ctx, long))
	if err := p.den.Flush(ctx); !errors.Is(err, den.ErrTimeout) {
		t.Errorf("ended with %v, want a timeout", err)
	}
	for i, m := range p.heard.Messages() {
		if m[0] != wire.CodeKeepAlive && !bytes.Equal(m, long) && string(m) != "0" {
			t.Errorf("message %d arrived with %d bytes, changed", i, len(m))
		}
	}
	p.clean(t)
	p.join(t, nil)
	p.longs(t)
}

// longs sends long and short messages for a while and compares them.
func (p *pairing) longs(t *testing.T) {
	t.Helper()
	ctx := within(t, time.Minute)
	var want [][]byte
	for i, size := range []int{1, 1357, 1358, 2714, 65_000, 3, 200_000, 5000, 1, 40_000, 1_024_000, 9, 300_000, 61_000, 61_000, 61_000} {
		m := dentest.Noise(uint64(i), size)
		m[0] = 'm'
		want = append(want, m)
		must(t, p.den.Send(ctx, m))
	}
	must(t, p.den.Flush(ctx))
	next := 0
	for _, m := range p.genuine(t, len(want)) {
		if m[0] == wire.CodeKeepAlive {
			continue
		}
		if next == len(want) || !bytes.Equal(m, want[next]) {
			t.Fatalf("message %d arrived with %d bytes, changed", next, len(m))
		}
		next++
	}
	t.Log(p.notes())
	p.clean(t)
}

// TestDenReceivesUnderLoss takes messages of a reference sender on a bad network.
func TestDenReceivesUnderLoss(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := denConnects(t, dentest.ProxyOptions{Seed: seed + 3, ToServer: bad(time.Millisecond), ToClient: bad(time.Millisecond)}, nil)
			const n = 1000
			p.send(0, n)
			p.ref.Send(make([]byte, 50_000))
			ctx := within(t, time.Minute)
			must(t, p.draw(ctx, 0, n))
			m, err := p.den.Receive(ctx)
			if must(t, err); len(m.Payload) != 50_000 {
				t.Errorf("the long message came with %d bytes", len(m.Payload))
			}
			p.clean(t)
		})
	}
}
