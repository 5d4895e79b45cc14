package download

import (
	"sync"
	"time"
)

const (
	// shortestEpoch and longestEpoch limit the time over which throughput is measured. In between it is epochTrips round trips:
	// enough for a new request to get up to speed.
	shortestEpoch = 500 * time.Millisecond
	longestEpoch  = 3 * time.Second
	epochTrips    = 8
)

// statistics are what a Fetcher knows of its mirrors and its throughput, and its window. All schedulers share them. They are safe for
// concurrent use. mu also guards the fields of the mirrors.
type statistics struct {
	mirrors []*rankedMirror // constant

	mu       sync.Mutex
	window   *window
	inFlight int // requests of all calls
	epoch    epoch
}

// epoch is the time over which throughput is measured.
type epoch struct {
	began   time.Time
	bytes   int64
	starved bool // fewer requests were in flight than allowed, or the rate was limited
}

// startRequest counts a request to a mirror.
func (s *statistics) startRequest(m *rankedMirror, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	m.used = now
}

// endRequest undoes startRequest.
func (s *statistics) endRequest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// allowedRequests is how many requests may be in flight.
func (s *statistics) allowedRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window.size
}

// freeRequests is how many more requests may be in flight. It may be below 0.
func (s *statistics) freeRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window.size - s.inFlight
}

// choose is the function choose.
func (s *statistics) choose(mirrors []*rankedMirror, now time.Time) (best *rankedMirror, wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return choose(mirrors, now)
}

// toProbe is the function toProbe.
func (s *statistics) toProbe(mirrors []*rankedMirror, now time.Time) *rankedMirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	return toProbe(mirrors, now)
}

// fastestOther is the function fastestOther.
func (s *statistics) fastestOther(mirrors []*rankedMirror, but *rankedMirror, now time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fastestOther(mirrors, but, now)
}

// sendsWhole reports whether a mirror answers with whole files only.
func (s *statistics) sendsWhole(m *rankedMirror) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.whole
}

// markWhole records that a mirror answers with whole files only. It reports whether that is new.
func (s *statistics) markWhole(m *rankedMirror) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !m.whole
	m.whole = true
	return first
}

// recordDelivery records a request that delivered n bytes.
func (s *statistics) recordDelivery(m *rankedMirror, n int64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.delivered(n, took)
}

// recordLatency records the time to a first byte.
func (s *statistics) recordLatency(m *rankedMirror, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.answered(took)
}

// recordFailure records a failure without data.
func (s *statistics) recordFailure(m *rankedMirror, now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.failedAt(now, err)
}

// recordSlow records the rate of a slow mirror in place of its earlier ones.
func (s *statistics) recordSlow(m *rankedMirror, n int64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took > 0 {
		m.rate = max(float64(n)/took.Seconds(), 1)
	}
}

// reportFault reports a timeout or a busy server.
func (s *statistics) reportFault() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.halve()
}

// countBytes counts received bytes.
func (s *statistics) countBytes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch.bytes += int64(n)
}

// skipEpoch begins a new epoch and discards the last one.
func (s *statistics) skipEpoch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.skip()
	s.epoch = epoch{began: now}
}

// endEpoch adjusts the window to the throughput of an epoch, when the epoch is over.
func (s *statistics) endEpoch(now time.Time, limited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight < s.window.size || limited {
		s.epoch.starved = true
	}
	took := now.Sub(s.epoch.began)
	switch {
	case took < min(max(epochTrips*shortestLatency(s.mirrors), shortestEpoch), longestEpoch):
		return
	case s.epoch.starved, took > 2*longestEpoch: // or not checked for a while
		s.window.skip()
	default:
		s.window.adjust(float64(s.epoch.bytes) / took.Seconds())
	}
	s.epoch = epoch{began: now}
}

// latency is the shortest time to a first byte of all mirrors; 0 is unknown.
func (s *statistics) latency() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return shortestLatency(s.mirrors)
}

// link returns the rate of all requests together in bytes a second, the latency, and the number of requests that may be in flight.
func (s *statistics) link() (rate float64, latency time.Duration, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mirrors {
		rate = max(rate, m.rate)
	}
	return rate * float64(s.window.size), shortestLatency(s.mirrors), s.window.size
}
