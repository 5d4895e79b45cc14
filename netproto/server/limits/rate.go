package limits

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"collet/netproto/server/config"
	"collet/platform/interrupt"
)

// MaxStep is the largest piece in bytes that is written at once.
const MaxStep = 64 << 10

// stepSeconds is how many seconds' worth of a bandwidth one piece may have: small enough for even shares over a second, large
// enough that a fast link needs few waits.
const stepSeconds = 0.05

// rateLimiter grants bandwidth in the order of requests. It is safe for concurrent use.
type rateLimiter struct {
	*rate.Limiter
	waits *atomic.Uint64 // number of requests that had to wait
}

// newRateLimiter allows bandwidth bytes per second; 0 is unlimited. Its burst admits every piece.
func newRateLimiter(bandwidth int64, waits *atomic.Uint64) *rateLimiter {
	if bandwidth == 0 {
		return &rateLimiter{rate.NewLimiter(rate.Inf, 0), waits}
	}
	burst := min(math.MaxInt32, max(minStep, float64(bandwidth)*stepSeconds))
	return &rateLimiter{rate.NewLimiter(rate.Limit(bandwidth), int(burst)), waits}
}

// wait waits until n bytes may be sent, or until ctx ends. It counts the bytes at once, so requests can't overtake one another.
func (r *rateLimiter) wait(ctx context.Context, n int) error {
	now := time.Now()
	delay := r.ReserveN(now, n).DelayFrom(now)
	if delay == 0 {
		return nil
	}
	r.waits.Add(1)
	return interrupt.Sleep(ctx, delay)
}

// Bandwidth limits the rate of one client's bytes: first by its own limit, then by the common one. Only one piece of a client
// waits for the limits at a time, so all waiting clients get equal shares, however many connections each has.
type Bandwidth struct {
	turn  chan struct{} // holds one value while a piece is waiting
	own   *rateLimiter
	total *rateLimiter
	Step  int // bytes, the largest piece
}

// newBandwidth is nil without limits. waits counts the waits for the client's own limit.
func newBandwidth(l config.Limits, total *rateLimiter, waits *atomic.Uint64) *Bandwidth {
	slowest := min(orUnlimited(l.ClientBandwidth), orUnlimited(l.TotalBandwidth))
	if slowest == math.MaxInt64 {
		return nil
	}
	step := int(min(MaxStep, max(minStep, float64(slowest)*stepSeconds)))
	return &Bandwidth{turn: make(chan struct{}, 1), own: newRateLimiter(l.ClientBandwidth, waits), total: total, Step: step}
}

func orUnlimited(bandwidth int64) int64 {
	if bandwidth == 0 {
		return math.MaxInt64
	}
	return bandwidth
}

// minStep is the smallest piece in bytes, so that packets are not tiny.
const minStep = 512

// Wait waits until n bytes, at most Step, may be sent, or until ctx ends.
func (b *Bandwidth) Wait(ctx context.Context, n int) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.own.wait(ctx, n); err != nil {
		return err
	}
	return b.total.wait(ctx, n)
}
