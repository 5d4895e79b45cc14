package den

import "time"

// pump is the goroutine of a connection: it sends queued data and handles the timers. The connection's lock guards none
// of its fields.
type pump struct {
	conn   *Conn
	opened time.Time
	out    batch
}

// run ends with the connection.
func (p *pump) run() {
	c := p.conn
	defer close(c.finished)
	defer c.ended(c)
	defer p.detachLinks()
	log := c.options.Log.With().Stringer("peer", c.remote).Uint16("protocol", c.protocol).Logger()
	log.Debug().Msg("connected")
	defer func() { log.Debug().AnErr("reason", c.Err()).Msg("disconnected") }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		more, next, over := p.collect()
		if len(p.out.ends) > 0 {
			c.socket.send(c.remote, &p.out)
			p.out.reset()
		}
		switch {
		case over:
			return
		case more:
			continue
		case !next.IsZero():
			timer.Reset(max(0, time.Until(next)))
		default:
			timer.Stop()
		}
		select {
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// detachLinks removes the connection's links from their states.
func (p *pump) detachLinks() {
	c := p.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links.all {
		l.state.detach(l)
	}
}

// collect fills the batch with datagrams due now. more reports whether some did not fit; next is when the next ones may be due.
func (p *pump) collect() (more bool, next time.Time, over bool) {
	c := p.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	p.checkTimeouts(now)
	if c.err != nil {
		p.addClose()
		return false, time.Time{}, true
	}
	c.links.repeatRequests(now, c.engine.link)
	c.links.sendDue(now, c.engine.linkMessage)
	more = c.engine.output(now, &p.out)
	c.counts.Sent += uint64(len(p.out.ends))
	c.counts.SentBytes += uint64(len(p.out.buf))
	return more, p.deadline(now), false
}

// checkTimeouts ends a silent connection, and sends the keep-alive.
func (p *pump) checkTimeouts(now time.Time) {
	c, o := p.conn, p.conn.options
	if !c.verified && now.Sub(p.opened) >= o.UnverifiedExpiry {
		c.endLocked(&TimeoutError{Addr: c.remote, After: o.UnverifiedExpiry})
	}
	if since := c.engine.silent(); !since.IsZero() && now.Sub(since) >= o.GiveUp {
		c.endLocked(&TimeoutError{Addr: c.remote, After: o.GiveUp})
	}
	if p.keepsAlive() && now.Sub(c.inbox.lastMessage) >= o.KeepAlive {
		c.inbox.lastMessage = now
		c.engine.send(o.Harmless)
	}
}

func (p *pump) keepsAlive() bool {
	c := p.conn
	return len(c.options.Harmless) > 0 && c.options.KeepAlive > 0 && c.verified && !c.closing
}

// deadline is when collect must be called without other events.
func (p *pump) deadline(now time.Time) time.Time {
	c := p.conn
	next := earlier(c.engine.deadline(now), c.links.deadline())
	if !c.verified {
		next = earlier(next, p.opened.Add(c.options.UnverifiedExpiry))
	}
	if since := c.engine.silent(); !since.IsZero() {
		next = earlier(next, since.Add(c.options.GiveUp))
	}
	if p.keepsAlive() {
		next = earlier(next, c.inbox.lastMessage.Add(c.options.KeepAlive))
	}
	return next
}

// closeRepeats is how often a close is sent: on a bad path one in a hundred is lost, and then the peer waits up to 13 s.
const closeRepeats = 2

// addClose notifies the peer of the end, unless the peer ended the connection. A close is not acknowledged, so it is sent
// more than once; the peer ignores repetitions.
func (p *pump) addClose() {
	if closed, is := p.conn.err.(*ClosedError); is && closed.Remote {
		return
	}
	for range closeRepeats {
		p.conn.engine.addClose(&p.out)
	}
}
