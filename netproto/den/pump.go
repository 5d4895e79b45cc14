package den

import "time"

// run is the connection's goroutine: it sends what there is to send, and keeps the timers. It ends when the connection
// is over.
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

// detach makes the states forget the connection's links.
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

// turn fills the batch with what is to be sent now. more reports that there is more than it holds; next is when there
// may be something again.
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

// age does what the time asks for: giving up, and the keep-alive.
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

// deadline is when turn should be called though nothing happened.
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

// farewell tells the peer that the connection is over, unless it was the peer who said so. Nothing acknowledges it, so
// it is said more than once; who has heard it ignores the others.
func (c *Conn) farewell() {
	if closed, is := c.err.(*ClosedError); is && closed.Remote {
		return
	}
	for range farewells {
		c.engine.farewell(&c.out)
	}
}

// farewells is how often a close is said: a single one is lost one time in a hundred on a bad path, and then costs the
// peer up to 13 s (reference 2.6).
const farewells = 2
