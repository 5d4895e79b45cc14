package den

import (
	"testing"
	"time"
)

// pipe is a path of a fixed rate and round trip, driven without packets being lost: what is sent waits its turn.
type pipe struct {
	c     congestion
	rate  float64
	trip  time.Duration
	now   time.Duration
	free  time.Duration // when the bottleneck is idle
	under int
	queue []pipeItem
}

type pipeItem struct {
	arrives time.Duration
	sent    time.Duration
	size    int
	sample  rateSample
}

const pipeSegment = 1372

func newPipe(rate float64, trip time.Duration) *pipe {
	return &pipe{c: newCongestion(farSegment), rate: rate, trip: trip, now: time.Millisecond}
}

// run sends for d, as much as the window and the rate allow, but no more than most bytes a millisecond.
func (p *pipe) run(d time.Duration, most int) (delivered int) {
	for end := p.now + d; p.now < end; p.now += 100 * time.Microsecond {
		for len(p.queue) > 0 && p.queue[0].arrives <= p.now {
			i := p.queue[0]
			p.queue = p.queue[1:]
			p.under -= i.size
			delivered += i.size
			p.c.acked(ackSample{bytes: i.size, sent: i.sent, then: i.sample, now: p.now, trip: p.now - i.sent, under: p.under})
		}
		sent := 0
		for p.under < p.c.window() && p.c.ready(p.now) && sent < most/10 {
			p.free = max(p.free, p.now) + time.Duration(pipeSegment/p.rate*float64(time.Second))
			p.queue = append(p.queue, pipeItem{p.free + p.trip, p.now, pipeSegment, p.c.sent(pipeSegment, p.under, p.now)})
			p.under += pipeSegment
			sent += pipeSegment
		}
		if p.under < p.c.window() && sent >= most/10 {
			p.c.starved(p.under)
		}
	}
	return delivered
}

func TestRateIsFoundAndKept(t *testing.T) {
	for _, rate := range []float64{1e6, 10e6, 60e6} {
		for _, trip := range []time.Duration{5 * time.Millisecond, 40 * time.Millisecond, 150 * time.Millisecond} {
			p := newPipe(rate, trip)
			p.run(20*trip+2*time.Second, 1<<30)
			if !p.c.gains.full || !p.c.gains.drained {
				t.Errorf("%v at %v MB/s: the start is not over", trip, rate/1e6)
			}
			got := float64(p.run(2*time.Second, 1<<30)) / 2
			if got < 0.9*rate {
				t.Errorf("%v: %.1f of %.1f MB/s", trip, got/1e6, rate/1e6)
			}
			if window, product := float64(p.c.window()), rate*trip.Seconds(); window > 3*product+10*pipeSegment+firstWindow {
				t.Errorf("%v at %v MB/s: %v bytes under way, the path holds %v", trip, rate/1e6, window, product)
			}
		}
	}
}

// TestIdlenessIsNotMistakenForThePath sends little for a while: the rate that was measured stays.
func TestIdlenessIsNotMistakenForThePath(t *testing.T) {
	p := newPipe(20e6, 20*time.Millisecond)
	p.run(2*time.Second, 1<<30)
	before := p.c.rates.highest()
	p.run(3*time.Second, 10*pipeSegment)
	if after := p.c.rates.highest(); after < 0.9*before {
		t.Errorf("the rate fell from %.1f to %.1f MB/s", before/1e6, after/1e6)
	}
}

// TestSlowerPathIsNoticed within some round trips.
func TestSlowerPathIsNoticed(t *testing.T) {
	p := newPipe(40e6, 20*time.Millisecond)
	p.run(2*time.Second, 1<<30)
	p.rate = 5e6
	p.run(5*time.Second, 1<<30)
	if got := p.c.rates.highest(); got > 6e6 {
		t.Errorf("the rate is taken for %.1f MB/s", got/1e6)
	}
}

// TestFasterPathIsNoticed by probing.
func TestFasterPathIsNoticed(t *testing.T) {
	p := newPipe(5e6, 20*time.Millisecond)
	p.run(2*time.Second, 1<<30)
	p.rate = 20e6
	p.run(5*time.Second, 1<<30)
	if got := p.c.rates.highest(); got < 15e6 {
		t.Errorf("the rate is taken for %.1f MB/s", got/1e6)
	}
}

func TestHeavyLossLowersTheWindow(t *testing.T) {
	p := newPipe(20e6, 20*time.Millisecond)
	p.run(2*time.Second, 1<<30)
	before := p.c.window()
	for range 20 {
		p.c.lost(200_000, p.now)
		p.run(20*time.Millisecond, 1<<30)
	}
	if after := p.c.window(); after >= before {
		t.Errorf("the window went from %d to %d", before, after)
	}
	p.run(3*time.Second, 1<<30)
	if after := p.c.window(); after < before*8/10 {
		t.Errorf("it does not recover: %d after %d", after, before)
	}
}

func TestShortPathHasAWindowThatShrinksOncePerLoss(t *testing.T) {
	c := newCongestion(nearSegment)
	now := time.Millisecond
	ack := func(bytes int) {
		now += 100 * time.Microsecond
		c.acked(ackSample{bytes: bytes, now: now, sent: now - 100*time.Microsecond, trip: 100 * time.Microsecond})
	}
	for range 200 {
		ack(nearSegment)
	}
	if c.window() != mostNear || c.pace() != 0 {
		t.Fatalf("window %d, pace %v", c.window(), c.pace())
	}
	c.lost(1, now)
	c.lost(1, now)
	if got := c.window(); got != mostNear*7/10 {
		t.Errorf("after one loss the window is %d", got)
	}
	for range 100 {
		now += 2 * time.Millisecond
		c.lost(1, now)
	}
	if got := c.window(); got != leastWindow*nearSegment {
		t.Errorf("after many losses the window is %d", got)
	}
	for range 3000 {
		ack(nearSegment)
	}
	if got := c.window(); got < mostNear/2 {
		t.Errorf("it grows to %d only", got)
	}
	c.collapsed()
	if got := c.window(); got > leastWindow*nearSegment {
		t.Errorf("after silence the window is %d", got)
	}
}

// TestShortestTripIsMeasuredAnew: a path that became longer is not held to what it once was.
func TestShortestTripIsMeasuredAnew(t *testing.T) {
	p := newPipe(10e6, 10*time.Millisecond)
	p.run(2*time.Second, 1<<30)
	p.trip = 40 * time.Millisecond
	p.run(tripExpiry+2*time.Second, 1<<30)
	if p.c.trip.least < 35*time.Millisecond {
		t.Errorf("the shortest round trip is still %v", p.c.trip.least)
	}
	if got := float64(p.run(2*time.Second, 1<<30)) / 2; got < 8e6 {
		t.Errorf("%.1f MB/s on the longer path", got/1e6)
	}
}
