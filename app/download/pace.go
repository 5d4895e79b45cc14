package download

import (
	"context"
	"sync"
	"time"
)

const (
	// MinInFlight is the least number of requests in flight: with two, data flows while one request is on its way.
	MinInFlight = 2
	// MaxInFlight is the largest number of requests in flight: more gained nothing on any measured connection, and servers begin
	// to reject them.
	MaxInFlight = 8
)

const (
	// risingShare is the growth from one epoch to the next above which the throughput is still rising by itself.
	risingShare = 1.25
	// collapseShare is the share of the last epoch's throughput below which it has collapsed.
	collapseShare = 0.5
	// longestRest is the largest number of epochs between two tries of one more request.
	longestRest = 8
	// troubleRest is the number of epochs without a try after a fault.
	troubleRest = 4
)

// pacer decides how many requests may be in flight, from min to max: additive increase while it helps, multiplicative decrease. Its
// input is the throughput of epochs in which all allowed requests were in flight.
//
//	rising   the throughput grows by itself: wait
//	steady   try one more; keep it if it added a third of its fair share (1 / 3n more), else go back and rest, longer each time
//	fault    a timeout, a busy server, half of the throughput lost: halve the number, and rest
//
// newPacer makes one. It is not safe for concurrent use.
type pacer struct {
	min, max int
	n        int
	last     float64 // bytes a second of the last epoch
	base     float64 // of the epoch before the try
	trying   bool
	rest     int // epochs until the next try
	patience int // the rest after the next failed try
}

func newPacer(least, most int) *pacer {
	return &pacer{min: least, max: most, n: least, patience: 1}
}

// epoch handles the throughput of one epoch, in bytes a second.
func (p *pacer) epoch(rate float64) {
	last := p.last
	p.last = rate
	switch {
	case p.trying:
		p.judge(rate)
	case rate < last*collapseShare:
		p.trouble()
	case rate > last*risingShare:
	case p.rest > 0:
		p.rest--
	case p.n < p.max:
		p.base, p.trying = rate, true
		p.n++
	}
}

// judge ends a try.
func (p *pacer) judge(rate float64) {
	p.trying = false
	if rate >= p.base*(1+1/(3*float64(p.n-1))) {
		p.patience = 1
		return
	}
	p.n--
	p.rest, p.patience = p.patience, min(2*p.patience, longestRest)
}

// idle handles an epoch without a meaningful throughput. A try ends without a result.
func (p *pacer) idle() {
	if p.trying {
		p.n, p.trying = p.n-1, false
	}
}

// trouble handles a fault.
func (p *pacer) trouble() {
	p.n, p.trying, p.rest = max(p.min, p.n/2), false, troubleRest
}

// throttle limits the rate of bytes. The rate may change at any time; 0 is unlimited. Unused capacity does not accumulate.
type throttle struct {
	now func() time.Time

	mu       sync.Mutex
	rate     int64
	taken    float64 // bytes requested in all
	admitted float64 // bytes admitted of these
	at       time.Time
	changed  chan struct{} // closed when the rate changes
}

func newThrottle(rate int64, now func() time.Time) *throttle {
	return &throttle{now: now, rate: max(rate, 0), at: now(), changed: make(chan struct{})}
}

// settle admits the bytes for the time since the last call. The caller holds mu.
func (t *throttle) settle() {
	now := t.now()
	t.admitted += float64(t.rate) * now.Sub(t.at).Seconds()
	if t.rate == 0 || t.admitted > t.taken {
		t.admitted = t.taken
	}
	t.at = now
}

func (t *throttle) set(rate int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
	t.rate = max(rate, 0)
	close(t.changed)
	t.changed = make(chan struct{})
}

// limit is the rate in bytes a second; 0 is unlimited.
func (t *throttle) limit() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rate
}

// take returns when n more bytes are admitted.
func (t *throttle) take(ctx context.Context, n int) error {
	t.mu.Lock()
	t.settle()
	t.taken += float64(n)
	mine := t.taken
	for {
		t.settle()
		if t.rate == 0 || t.admitted >= mine {
			t.mu.Unlock()
			return nil
		}
		wait := time.Duration((mine-t.admitted)/float64(t.rate)*float64(time.Second)) + time.Microsecond
		changed := t.changed
		t.mu.Unlock()
		if err := sleep(ctx, wait, changed); err != nil {
			return err
		}
		t.mu.Lock()
	}
}

// sleep waits for d, or until wake is closed or has a value.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// gate blocks requests while the fetcher is paused.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil while the gate is open; closed when it opens again
	times  int           // number of pauses so far
}

func (g *gate) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
		g.times++
	}
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// state reports whether the gate is closed, and the number of pauses so far.
func (g *gate) state() (paused bool, times int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed != nil, g.times
}

// pass waits until the gate is open.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed == nil {
		return ctx.Err()
	}
	select {
	case <-closed:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
