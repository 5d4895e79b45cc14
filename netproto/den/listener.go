package den

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"collet/netproto/wire"
)

// Listener accepts connections on one UDP socket. All methods are safe for concurrent use.
type Listener struct {
	options *Options
	socket  *socket

	mu       sync.Mutex
	conns    map[netip.AddrPort]*Conn
	backlog  []*Conn
	accepted signal // backlog, closed
	closed   bool
	running  sync.WaitGroup // connections
}

// Listen opens a socket. address is host, host:port, a.b.c.d[:port], [v6]:port or a bare v6 address. "*" is the first address of
// the machine that is not loopback, IPv6 before IPv4. The default port is DefaultPort; port 0 selects a free one.
func Listen(address string, o Options) (*Listener, error) {
	addr, err := listenAddress(context.Background(), address)
	if err != nil {
		return nil, err
	}
	conn, err := listenUDP(addr)
	if err != nil {
		return nil, err
	}
	return listenOn(conn, o), nil
}

func listenOn(conn packetConn, o Options) *Listener {
	l := &Listener{options: o.filled(), socket: newSocket(conn, false), conns: map[netip.AddrPort]*Conn{}}
	go l.socket.run(l.handleDatagram)
	return l
}

// Accept returns the next connection. The peer's address may still be forged, until the peer's first message confirms
// it. The caller closes the connection. After Close the error is net.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	for {
		l.mu.Lock()
		if len(l.backlog) > 0 {
			c := l.backlog[0]
			l.backlog = l.backlog[1:]
			l.mu.Unlock()
			return c, nil
		}
		closed, fired := l.closed, l.accepted.wait()
		l.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		select {
		case <-fired:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Addr is the socket's local address.
func (l *Listener) Addr() netip.AddrPort { return l.socket.conn.local() }

// Close aborts all connections, accepted or not, closes the socket, and waits for all goroutines.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.accepted.fire()
	for _, c := range l.conns {
		c.Abort()
	}
	l.mu.Unlock()
	l.running.Wait()
	err := l.socket.close()
	<-l.socket.finished
	return err
}

// handleDatagram handles one datagram. The listener's lock is acquired before that of a connection.
func (l *Listener) handleDatagram(from netip.AddrPort, datagram []byte, now time.Time) {
	l.mu.Lock()
	c := l.conns[from]
	l.mu.Unlock()
	switch {
	case len(datagram) == 0:
	case datagram[0] != cmdRequest && c != nil:
		c.handleDatagram(datagram, now)
	case datagram[0] == cmdRequest && c != nil:
		// The answer may have been lost. A peer that has sent anything else has received it.
		if !c.isVerified() {
			l.answer(from, connectionAck{Result: ackAccepted, Protocol: c.protocol})
		}
	case datagram[0] == cmdRequest:
		l.welcome(from, datagram, now)
	default:
		l.stranger(from, datagram)
	}
}

// answer sends p outside of any connection.
func (l *Listener) answer(to netip.AddrPort, p connectionAck) {
	var b batch
	b.add(&p)
	l.socket.send(to, &b)
}

// welcome handles a request from a new address.
func (l *Listener) welcome(from netip.AddrPort, datagram []byte, now time.Time) {
	var p connectionRequest
	if decode(datagram, &p) != nil || (l.options.Admit != nil && !l.options.Admit(from)) {
		return
	}
	log := l.options.Log.With().Stringer("peer", from).Logger()
	protocol, common := choose(l.options.Protocols, p.Protocols)
	if !common {
		log.Debug().Uints16("protocols", p.Protocols).Msg("refused: no common protocol")
		l.answer(from, connectionAck{Result: ackNoProtocol})
		return
	}
	if !l.room() {
		log.Warn().Msg("refused: too many connections")
		l.answer(from, connectionAck{Result: ackRejected})
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	c := newConn(l.options, l.socket, from, protocol, false, now)
	c.ended = l.forget
	l.conns[from] = c
	l.backlog = append(l.backlog, c)
	l.accepted.fire()
	l.answer(from, connectionAck{Result: ackAccepted, Protocol: protocol})
	l.running.Add(1)
	go (&pump{conn: c, opened: now}).run()
}

// choose returns the first of ours that is among theirs.
func choose(ours, theirs []uint16) (uint16, bool) {
	for _, p := range ours {
		if slices.Contains(theirs, p) {
			return p, true
		}
	}
	return 0, false
}

// room reports whether another unverified connection is allowed.
func (l *Listener) room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	unverified := 0
	for _, c := range l.conns {
		if !c.isVerified() {
			unverified++
		}
	}
	return len(l.conns) < l.options.MaxConns && unverified < l.options.MaxUnverified
}

// stranger answers a datagram without a connection, so that a peer learns at once that its connection has ended, not only after its
// timeout.
func (l *Listener) stranger(from netip.AddrPort, datagram []byte) {
	if l.options.Admit != nil && !l.options.Admit(from) {
		return
	}
	var b batch
	switch datagram[0] {
	case cmdReliable, cmdReliableLong, cmdLinkState, cmdLinkStateLong:
		b.add(&connectionClose{})
	case kindSegment, kindReceipt:
		var p end
		whole, is := unseal(datagram)
		c := wire.Reader(whole[min(1, len(whole)):])
		if c.U32("token", &p.Token); is && c.Err() == nil {
			b.addSealed(&p)
		}
	}
	l.socket.send(from, &b)
}

// forget removes an ended connection.
func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[c.remote] == c {
		delete(l.conns, c.remote)
	}
	l.backlog = slices.DeleteFunc(l.backlog, func(o *Conn) bool { return o == c && !c.isVerified() })
	l.running.Done()
}
