package download

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

const (
	// MaxRetryAfter is the longest that a busy server is left alone because it asked for it. Longer ones are for crawlers, or
	// a mistake, and a player is waiting.
	MaxRetryAfter = 60 * time.Second
	// busyRest is how long a busy server is left alone that did not say for how long.
	busyRest = time.Second
	// faultRest is how long a mirror rests after a failure that brought nothing, so that what just broke can come back.
	faultRest = 200 * time.Millisecond
	// mirrorFailures is how many failures in a row, with nothing brought, make a mirror the last choice (design 3, section 3).
	mirrorFailures = 2
	// forgiveAfter is when failures are forgotten: a mirror that was down an hour ago may be the fastest now.
	forgiveAfter = time.Minute
	// broughtEnough is how many bytes a request has to bring so that its end is not counted as a failure of the mirror: less, and a
	// mirror that breaks all the time would never be left.
	broughtEnough = 64 << 10
	// rateMemory is the share of the older requests in the rate of a mirror; the newest one has the rest.
	rateMemory = 0.7
	// rateCounts is how many bytes a request has to bring to say something about the rate of its mirror.
	rateCounts = 32 << 10
	// probeEvery is how long a mirror is not asked for anything before it gets a probe.
	probeEvery = 30 * time.Second
	// probeSize is how many bytes a probe asks for: enough to get up to speed, little where the place turns out to be slow.
	probeSize = 256 << 10
	// slowShare is what of the best mirror's rate another one has to reach.
	slowShare = 8
	// slowAfter is how long a request is watched before it is called slow.
	slowAfter = 3 * time.Second
)

// rankedMirror is a mirror and what it did so far. The fetcher's mutex guards it.
type rankedMirror struct {
	mirror   Mirror
	index    int
	rate     float64       // bytes a second of one of its requests; 0 is not known
	latency  time.Duration // from asking to the first byte, the shortest that was seen; 0 is not known
	failures int           // in a row
	failed   time.Time     // when the last of them was
	until    time.Time     // it is left alone so long
	used     time.Time     // when it was asked last; zero is never
	whole    bool          // it answers with whole files only
}

// delivered takes note of a request that brought n bytes.
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

// answered takes note of how long the first byte took.
func (m *rankedMirror) answered(took time.Duration) {
	if m.latency == 0 || took < m.latency {
		m.latency = max(took, time.Microsecond)
	}
}

// failedAt takes note of a failure that brought nothing. A busy server is not asked before its time.
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

// failing reports whether it is a last choice.
func (m *rankedMirror) failing(now time.Time) bool {
	return m.failures >= mirrorFailures && now.Sub(m.failed) < forgiveAfter
}

// better orders mirrors: those that do not fail, then those that deliver fast, then as they were given. A whole-file server is
// behind all others. A mirror of which nothing is known stands behind those that deliver: a probe will tell.
func better(now time.Time) func(a, b *rankedMirror) int {
	worth := func(m *rankedMirror) float64 {
		if m.failures > 0 && now.Sub(m.failed) < forgiveAfter {
			return m.rate / 2
		}
		return m.rate
	}
	return func(a, b *rankedMirror) int {
		return cmp.Or(
			compareBool(a.whole, b.whole), compareBool(a.failing(now), b.failing(now)),
			cmp.Compare(worth(b), worth(a)), cmp.Compare(a.index, b.index))
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// choose gives the best of the mirrors that may be asked now. If none may, wait tells whether one may be asked later.
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

// toProbe gives a mirror that was not asked for long, and is not the one that is in use.
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

// fastest is the rate of the fastest other mirror, in bytes a second; 0 if none is known.
func fastest(mirrors []*rankedMirror, but *rankedMirror, now time.Time) (rate float64) {
	for _, m := range mirrors {
		if m != but && !m.whole && !m.failing(now) && !now.Before(m.until) {
			rate = max(rate, m.rate)
		}
	}
	return rate
}
