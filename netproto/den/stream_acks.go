package den

import "time"

const (
	// leastProbe and mostProbe bound how long an acknowledgement may be missing before something is sent to provoke one.
	leastProbe = 20 * time.Millisecond
	mostProbe  = time.Second
	firstProbe = 300 * time.Millisecond
	// pingAfter is the idle time after which a ping is sent to the peer.
	pingAfter = 5 * time.Second
)

// ackTimer decides when the sender provokes an acknowledgement. Times are relative to the connection's beginning.
type ackTimer struct {
	heard  time.Duration // last acknowledgement of new data
	last   time.Duration // last transmission
	probes int           // since heard
	urgent int           // transmissions that bypass window and rate
	mute   time.Duration // since when no new data was acknowledged while some was in flight; 0 if none is
}

// arrived records an acknowledgement of new data, which leaves under bytes in flight.
func (t *ackTimer) arrived(under int, now time.Duration) {
	*t = ackTimer{heard: now, last: t.last}
	if under > 0 {
		t.mute = now
	}
}

// sent records a transmission.
func (t *ackTimer) sent(now time.Duration) {
	t.last = now
	t.urgent = max(0, t.urgent-1)
	if t.mute == 0 {
		t.mute = max(now, 1)
	}
}

// probe makes the next transmission a probe.
func (t *ackTimer) probe() {
	t.probes++
	t.urgent = 1
}

// probeAt is when to provoke next if an answer takes wait. The pause grows with each attempt.
func (t *ackTimer) probeAt(wait time.Duration) time.Duration {
	return max(t.last, t.heard) + min(min(wait, mostProbe)<<min(t.probes, 6), mostProbe)
}

// pingAt is when to send a ping if nothing else is to be sent.
func (t *ackTimer) pingAt() time.Duration { return max(t.last, t.heard) + pingAfter }
