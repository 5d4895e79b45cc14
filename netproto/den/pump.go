package den

import "time"

// run is the connection's goroutine: it sends queued data and handles the timers. It ends with the connection.
func (c *Conn) run() {
	defer close(c.finished)
	defer c.ended(c)
	defer c.detach()
	log := c.options.Log.With().Stringer("peer", c.remote).Uint16("protocol", c.protocol).Logger()
	log.Debug().Msg("connected")
	defer func() { log.Debug().AnErr("reason", c.Err()).Msg("disconnected") }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		more, next, over := c.turn()
		c.flush()
		switch {
		case over:
			return
		case more:
			continue
		case !next.IsZero():
			timer.Reset(max(0, next.Sub(c.now())))
		default:
			timer.Stop()
		}
		select {
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// detach removes the connection's links from their states.
func (c *Conn) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links.all {
		l.state.detach(l)
	}
}

// flush writes the batch.
func (c *Conn) flush() {
	if len(c.out.ends) > 0 {
		c.socket.send(c.remote, &c.out)
		c.out.reset()
	}
}

// turn fills the batch with datagrams due now. more reports whether some did not fit; next is when the next ones may be due.
func (c *Conn) turn() (more bool, next time.Time, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.age(now)
	if c.err != nil {
		c.farewell()
		return false, time.Time{}, true
	}
	c.links.again(now, c.engine.link)
	c.links.flush(now, c.engine.tell)
	more = c.engine.output(now, &c.out)
	c.counts.Sent += uint64(len(c.out.ends))
	c.counts.SentBytes += uint64(len(c.out.buf))
	return more, c.deadline(now), false
}

// age handles timeouts and the keep-alive.
func (c *Conn) age(now time.Time) {
	o := c.options
	if !c.verified && now.Sub(c.opened) >= o.UnverifiedExpiry {
		c.endLocked(&TimeoutError{Addr: c.remote, After: o.UnverifiedExpiry})
	}
	if since := c.engine.silent(); !since.IsZero() && now.Sub(since) >= o.GiveUp {
		c.endLocked(&TimeoutError{Addr: c.remote, After: o.GiveUp})
	}
	if c.keepsAlive() && now.Sub(c.message) >= o.KeepAlive {
		c.message = now
		c.engine.send(o.Harmless)
	}
}

func (c *Conn) keepsAlive() bool {
	return len(c.options.Harmless) > 0 && c.options.KeepAlive > 0 && c.verified && !c.closing
}

// deadline is when turn must be called without other events.
func (c *Conn) deadline(now time.Time) time.Time {
	next := earlier(c.engine.deadline(now), c.links.deadline())
	if !c.verified {
		next = earlier(next, c.opened.Add(c.options.UnverifiedExpiry))
	}
	if since := c.engine.silent(); !since.IsZero() {
		next = earlier(next, since.Add(c.options.GiveUp))
	}
	if c.keepsAlive() {
		next = earlier(next, c.message.Add(c.options.KeepAlive))
	}
	return next
}

// farewell notifies the peer of the end, unless the peer ended the connection. It is not acknowledged, so it is sent
// more than once; repetitions are ignored.
func (c *Conn) farewell() {
	if closed, is := c.err.(*ClosedError); is && closed.Remote {
		return
	}
	for range farewells {
		c.engine.farewell(&c.out)
	}
}

// farewells is how often a close is sent: on a bad path one in a hundred is lost, and then the peer waits up to 13 s (reference 2.6).
const farewells = 2
