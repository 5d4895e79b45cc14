package server

import (
	"sync/atomic"
	"time"

	"collet/netproto"
)

// pings are the ping questions of both ends of a session. The session asks, and the reader records what arrives: only the atomic
// fields are shared.
type pings struct {
	period  time.Duration // Limits.PingTime
	started time.Time     // of the server

	timer *time.Timer // fires when the next question is due; nil before the first one
	due   time.Time

	pending     atomic.Bool  // our last question is unanswered
	lastAnswer  atomic.Int64 // when the peer's last answer was read: nanoseconds since started
	peerPending atomic.Bool  // C1: a question of the peer is unanswered
}

// newQuestion begins the period in which a question must be answered, and returns the question.
func (p *pings) newQuestion() *netproto.Ping {
	p.pending.Store(true)
	p.due = time.Now().Add(p.period)
	if p.timer == nil {
		p.timer = time.NewTimer(p.period)
	} else {
		p.timer.Reset(p.period)
	}
	return &netproto.Ping{}
}

// recordAnswer notes that the peer has answered.
func (p *pings) recordAnswer() {
	p.lastAnswer.Store(int64(time.Since(p.started)))
	p.pending.Store(false)
}

// postpone moves the next question to a period after the last answer, and reports whether that is in the future. The period
// restarts with every answer, as in the engine's server: a question that waited behind a portion on a slow line does not shorten
// the time for the next one.
func (p *pings) postpone() bool {
	rest := time.Until(p.started.Add(time.Duration(p.lastAnswer.Load()) + p.period))
	if rest > 0 {
		p.timer.Reset(rest)
	}
	return rest > 0
}

// during runs send. The time that the peer takes to receive it does not count against its answer to a question behind it.
func (p *pings) during(send func() error) error {
	started, pending := time.Now(), p.pending.Load() // before: the answer may come while this is sent
	err := send()
	if slow := time.Since(started); pending && slow > 0 {
		p.due = p.due.Add(slow)
		p.timer.Reset(time.Until(p.due))
	}
	return err
}
