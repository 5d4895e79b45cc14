package download

import (
	"context"
	"sync"
	"time"
)

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

// admit admits the bytes for the time since the last call. The caller holds mu.
func (t *throttle) admit() {
	now := t.now()
	t.admitted += float64(t.rate) * now.Sub(t.at).Seconds()
	if t.rate == 0 || t.admitted > t.taken {
		t.admitted = t.taken
	}
	t.at = now
}

// setRate changes the rate, also for callers that wait.
func (t *throttle) setRate(rate int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.admit()
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

// wait returns when n more bytes are admitted.
func (t *throttle) wait(ctx context.Context, n int) error {
	t.mu.Lock()
	t.admit()
	t.taken += float64(n)
	mine := t.taken
	for {
		t.admit()
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

// wait waits until the gate is open.
func (g *gate) wait(ctx context.Context) error {
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
