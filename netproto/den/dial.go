package den

import (
	"context"
	"net/netip"
	"time"
)

// requestRepeat is how often a request is repeated on one port, as released programs do it. Released servers answer only
// the first one, and ours all, so a shorter interval would not help.
const requestRepeat = time.Second

// firstRepeat is the shorter first interval: between our own peers a lost datagram should not cost a second.
const firstRepeat = 250 * time.Millisecond

// Dial connects to address (forms as in Listen, but no "*"). A request without an answer for Options.SilentPort is
// repeated from another port, to the next address of the host if it has several. The error is a *RefusedError, a
// *TimeoutError, or the network's.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	addrs, err := resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	return dialWith(ctx, addrs, o, dialUDP)
}

func dialWith(ctx context.Context, addrs []netip.AddrPort, o Options, open func(netip.AddrPort) (packetConn, error)) (*Conn, error) {
	options := o.filled()
	limit, cancel := context.WithTimeoutCause(ctx, options.ConnectTimeout,
		&TimeoutError{Addr: addrs[0], After: options.ConnectTimeout})
	defer cancel()
	var fault error
	for i := 0; limit.Err() == nil; i++ {
		c, err := attempt(limit, addrs[i%len(addrs)], options, open)
		if c != nil {
			return c, nil
		}
		if _, refused := err.(*RefusedError); refused {
			return nil, err
		}
		if err != nil && i >= len(addrs) {
			return nil, err
		}
		fault = err
	}
	if fault != nil {
		return nil, fault
	}
	return nil, context.Cause(limit)
}

// attempt sends requests from a new port. It returns nil without an error if there is no answer.
func attempt(ctx context.Context, to netip.AddrPort, o *Options, open func(netip.AddrPort) (packetConn, error)) (*Conn, error) {
	conn, err := open(to)
	if err != nil {
		return nil, err
	}
	c := &caller{options: o, to: to, socket: newSocket(conn, true), answered: make(chan struct{})}
	go c.socket.run(c.handleDatagram)
	if c.requestConnection(ctx) && c.conn != nil {
		return c.conn, nil
	}
	var b batch
	b.add(&connectionClose{}) // the answer may have been lost; then the server holds a connection
	c.socket.send(to, &b)
	_ = c.socket.close()
	<-c.socket.finished
	if c.conn != nil { // the answer came too late
		c.conn.Abort()
		<-c.conn.finished
	}
	return nil, c.err
}

// caller is a connection during set-up. The socket's goroutine owns conn and err until answered is closed.
type caller struct {
	options  *Options
	to       netip.AddrPort
	socket   *socket
	answered chan struct{}
	conn     *Conn
	err      error
}

// requestConnection repeats the request until an answer arrives. It returns false when the port counts as silent.
func (c *caller) requestConnection(ctx context.Context) bool {
	var b batch
	b.add(&connectionRequest{Protocols: c.options.Protocols})
	silent := time.NewTimer(c.options.SilentPort)
	defer silent.Stop()
	for wait := firstRepeat; ; wait = requestRepeat {
		c.socket.send(c.to, &b)
		again := time.NewTimer(wait)
		select {
		case <-c.answered:
			again.Stop()
			return true
		case <-again.C:
		case <-silent.C:
			again.Stop()
			return false
		case <-ctx.Done():
			again.Stop()
			return false
		}
	}
}

// handleDatagram handles one datagram. The socket receives from the server only.
func (c *caller) handleDatagram(from netip.AddrPort, datagram []byte, now time.Time) {
	switch {
	case !same(from, c.to) || len(datagram) == 0 || c.err != nil:
	case c.conn != nil:
		if datagram[0] != cmdAck {
			c.conn.handleDatagram(datagram, now)
		}
	case datagram[0] == cmdAck:
		c.answer(datagram, now)
	}
}

// same reports whether two addresses are equal; zones have several names.
func same(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && a.Addr().WithZone("") == b.Addr().WithZone("")
}

// answer handles the server's answer.
func (c *caller) answer(datagram []byte, now time.Time) {
	var p connectionAck
	if decode(datagram, &p) != nil {
		return
	}
	_, offered := choose(c.options.Protocols, []uint16{p.Protocol})
	switch {
	case p.Result != ackAccepted:
		c.err = &RefusedError{Addr: c.to, Result: p.Result}
	case !offered:
		c.err = &PeerError{Addr: c.to, Command: "connectionAck", Err: errProtocol}
	default:
		c.conn = newConn(c.options, c.socket, c.to, p.Protocol, true, now)
		c.conn.verified = true
		c.conn.ended = func(*Conn) { _ = c.socket.close() }
		go (&pump{conn: c.conn, opened: now}).run()
	}
	close(c.answered)
}
