package download

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

const (
	// MaxRetryAfter is the longest Retry-After that is respected. Longer ones are meant for crawlers, or a mistake, and a player is
	// waiting.
	MaxRetryAfter = 60 * time.Second
	// busyRest is how long a busy server without a Retry-After is not asked.
	busyRest = time.Second
	// faultRest is how long a mirror is not asked after a failure without data, so that it can recover.
	faultRest = 200 * time.Millisecond
	// mirrorFailures is how many failures in a row without data make a mirror the last choice.
	mirrorFailures = 2
	// forgiveAfter is when failures no longer count: a mirror that was down an hour ago may be the fastest now.
	forgiveAfter = time.Minute
	// deliveredEnough is how many bytes a request must deliver so that its interruption is not a failure of the mirror. With fewer, a
	// mirror that interrupts every request would never be dropped.
	deliveredEnough = 64 << 10
	// rateMemory is the weight of older requests in the rate of a mirror; the newest one has the rest.
	rateMemory = 0.7
	// rateCounts is how many bytes a request must deliver to count for the rate of its mirror.
	rateCounts = 32 << 10
	// probeEvery is how long a mirror has no request before it gets a probe.
	probeEvery = 30 * time.Second
	// probeSize is the size of a probe in bytes: enough to get up to speed, and cheap on a slow mirror.
	probeSize = 256 << 10
	// slowShare is the divisor of the best mirror's rate that another one has to reach: an eighth.
	slowShare = 8
	// slowAfter is how long a request is measured before it counts as slow.
	slowAfter = 3 * time.Second
)

// rankedMirror is a mirror with what is known of it. The mutex of statistics guards it.
type rankedMirror struct {
	mirror   Mirror
	index    int
	rate     float64       // bytes a second of one request; 0 is unknown
	latency  time.Duration // shortest time from a request to its first byte; 0 is unknown
	failures int           // in a row
	failed   time.Time     // time of the last failure
	until    time.Time     // it is not asked before
	used     time.Time     // time of the last request; zero is never
	whole    bool          // it answers with whole files only
}

// delivered records a request that delivered n bytes.
func (m *rankedMirror) delivered(n int64, took time.Duration) {
	m.failures = 0
	if n < rateCounts || took <= 0 {
		return
	}
	rate := float64(n) / took.Seconds()
	if m.rate > 0 {
		rate = m.rate*rateMemory + rate*(1-rateMemory)
	}
	m.rate = rate
}

// answered records the time to a first byte.
func (m *rankedMirror) answered(took time.Duration) {
	if m.latency == 0 || took < m.latency {
		m.latency = max(took, time.Microsecond)
	}
}

// failedAt records a failure without data, and when the mirror may be asked again.
func (m *rankedMirror) failedAt(now time.Time, err error) {
	m.failures++
	m.failed = now
	rest := faultRest
	var wrong *WrongError
	if errors.As(err, &wrong) && wrong.Kind == WrongBusy {
		rest = min(cmp.Or(wrong.RetryAfter, busyRest), MaxRetryAfter)
	}
	m.until = now.Add(rest)
}

// failing reports whether the mirror is a last choice.
func (m *rankedMirror) failing(now time.Time) bool {
	return m.failures >= mirrorFailures && now.Sub(m.failed) < forgiveAfter
}

// better orders mirrors: those that do not fail first, then by rate, then in the order of NewFetcher. A whole-file server comes after
// all others. A mirror of unknown rate comes after those that deliver, until a probe measures it.
func better(now time.Time) func(a, b *rankedMirror) int {
	worth := func(m *rankedMirror) float64 {
		if m.failures > 0 && now.Sub(m.failed) < forgiveAfter {
			return m.rate / 2
		}
		return m.rate
	}
	class := func(m *rankedMirror) (n int) {
		if m.whole {
			n += 2
		}
		if m.failing(now) {
			n++
		}
		return n
	}
	return func(a, b *rankedMirror) int {
		return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(worth(b), worth(a)), cmp.Compare(a.index, b.index))
	}
}

// choose returns the best of the mirrors that may be asked now. Without one, wait reports whether a mirror may be asked later.
func choose(mirrors []*rankedMirror, now time.Time) (best *rankedMirror, wait bool) {
	ranked := slices.SortedFunc(slices.Values(mirrors), better(now))
	for _, m := range ranked {
		if now.Before(m.until) {
			wait = true
			continue
		}
		return m, false
	}
	return nil, wait
}

// toProbe returns a mirror without a request for probeEvery that is not the best one; nil if not found.
func toProbe(mirrors []*rankedMirror, now time.Time) *rankedMirror {
	if len(mirrors) < 2 {
		return nil
	}
	best, _ := choose(mirrors, now)
	for _, m := range mirrors {
		if m != best && !m.whole && !now.Before(m.until) && !m.failing(now) && now.Sub(m.used) >= probeEvery {
			return m
		}
	}
	return nil
}

// fastestOther is the rate of the fastest mirror but one, in bytes a second; 0 if none is known.
func fastestOther(mirrors []*rankedMirror, but *rankedMirror, now time.Time) (rate float64) {
	for _, m := range mirrors {
		if m != but && !m.whole && !m.failing(now) && !now.Before(m.until) {
			rate = max(rate, m.rate)
		}
	}
	return rate
}

// shortestLatency is the shortest latency of the mirrors; 0 is unknown.
func shortestLatency(mirrors []*rankedMirror) (shortest time.Duration) {
	for _, m := range mirrors {
		if m.latency > 0 && (shortest == 0 || m.latency < shortest) {
			shortest = m.latency
		}
	}
	return shortest
}
