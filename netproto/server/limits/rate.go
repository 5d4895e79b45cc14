package limits

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/server/config"
	"collet/platform/interrupt"
)

// bucket is a token bucket: it holds at most burst tokens and gains rate tokens per second. A reservation may overdraw it and
// must then wait. The zero value is unlimited. Not safe for concurrent use.
type bucket struct {
	rate, burst float64 // tokens per second, tokens
	level       float64 // tokens at time at
	at          time.Time
}

// newBucket is a full bucket.
func newBucket(rate, burst float64, now time.Time) bucket {
	return bucket{rate: rate, burst: burst, level: burst, at: now}
}

func (b *bucket) fill(now time.Time) {
	b.level = min(b.burst, b.level+b.rate*now.Sub(b.at).Seconds())
	b.at = now
}

// takeToken takes one token if one is available.
func (b *bucket) takeToken(now time.Time) bool {
	if b.rate == 0 {
		return true
	}
	b.fill(now)
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

// reserve takes n tokens and returns how long to wait until they are available.
func (b *bucket) reserve(now time.Time, n float64) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.fill(now)
	b.level -= n
	return time.Duration(max(0, -b.level/b.rate) * float64(time.Second))
}

// full reports whether the bucket equals a new one.
func (b *bucket) full(now time.Time) bool {
	b.fill(now)
	return b.level >= b.burst
}

// MaxStep is the largest piece in bytes that is written at once.
const MaxStep = 64 << 10

// stepSeconds is how many seconds' worth of a bandwidth one piece may have: small enough for even shares over a second, large
// enough that a fast link needs few waits.
const stepSeconds = 0.05

// rateLimiter grants bandwidth in the order of requests. It is safe for concurrent use.
type rateLimiter struct {
	waits  *atomic.Uint64 // number of requests that had to wait
	mu     sync.Mutex
	bucket bucket
}

// newRateLimiter allows rate bytes per second; 0 is unlimited.
func newRateLimiter(rate int64, waits *atomic.Uint64, now time.Time) *rateLimiter {
	return &rateLimiter{waits: waits, bucket: newBucket(float64(rate), float64(rate)*stepSeconds, now)}
}

// wait waits until n bytes may be sent, or until ctx ends.
func (r *rateLimiter) wait(ctx context.Context, n int) error {
	r.mu.Lock()
	wait := r.bucket.reserve(time.Now(), float64(n))
	r.mu.Unlock()
	if wait == 0 {
		return nil
	}
	r.waits.Add(1)
	return interrupt.Sleep(ctx, wait)
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
func newBandwidth(l config.Limits, total *rateLimiter, waits *atomic.Uint64, now time.Time) *Bandwidth {
	slowest := min(orUnlimited(l.ClientBandwidth), orUnlimited(l.TotalBandwidth))
	if slowest == math.MaxInt64 {
		return nil
	}
	step := int(min(MaxStep, max(minStep, float64(slowest)*stepSeconds)))
	return &Bandwidth{turn: make(chan struct{}, 1), own: newRateLimiter(l.ClientBandwidth, waits, now), total: total, Step: step}
}

func orUnlimited(rate int64) int64 {
	if rate == 0 {
		return math.MaxInt64
	}
	return rate
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
