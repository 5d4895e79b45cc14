package dentest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

const (
	tickEvery    = 5 * time.Millisecond // the released loops spin; this is as good on the wire
	requestEvery = time.Second          // between connectionRequests
	requestLimit = 5 * time.Second      // until connecting fails
)

// Options are those of a Socket. The zero value is the released device.
type Options struct {
	Timers  Timers   // DeviceTimers if zero
	Journal *Journal // a new one if nil
	Slow    bool     // spends the processor time of the released receiver
}

// Socket is a UDP socket with the connections on it. Callbacks of its Apps are made one at a time.
type Socket struct {
	options Options
	udp     *net.UDPConn
	accept  func(*Conn) App // of new connections; on the connecting side of the only one

	mu    sync.Mutex
	conns map[netip.AddrPort]*Conn
	only  *Conn // of the connecting side
	done  sync.WaitGroup
}

// Conn is one connection of a Socket. Its methods are safe for concurrent use, but not from callbacks of an App.
type Conn struct {
	socket    *Socket
	transport *Transport // nil while connecting
	remote    netip.AddrPort
	open      chan struct{} // closed when the transport is there
	ended     chan struct{}
	err       error
}

// ending tells the Conn of the end before the App.
type ending struct {
	App
	conn *Conn
}

// Closed implements App.
func (e ending) Closed(err error) {
	e.conn.err = err
	delete(e.conn.socket.conns, e.conn.remote)
	close(e.conn.ended)
	e.App.Closed(err)
}

// Listen opens the listening side. Accept is called for every new address that asks for protocol 0.
func Listen(address string, o Options, accept func(*Conn) App) (*Socket, error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, err
	}
	s := start(udp, o, accept)
	s.run()
	return s, nil
}

func start(udp *net.UDPConn, o Options, accept func(*Conn) App) *Socket {
	if o.Timers == (Timers{}) {
		o.Timers = DeviceTimers
	}
	if o.Journal == nil {
		o.Journal = &Journal{}
	}
	return &Socket{options: o, udp: udp, accept: accept, conns: map[netip.AddrPort]*Conn{}}
}

// Dial connects as the released device does: it takes datagrams from any address.
func Dial(ctx context.Context, server string, o Options, app func(*Conn) App) (*Conn, error) {
	to, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP(family(to.AddrPort().Addr()), nil)
	if err != nil {
		return nil, err
	}
	s := start(udp, o, app)
	s.only = s.newConn(unmap(to.AddrPort()))
	s.run()
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	for {
		s.write(s.only.remote, []byte{CmdConnectionRequest, 1, 0, 0, 0})
		select {
		case <-s.only.open:
			return s.only, nil
		case <-time.After(requestEvery):
		case <-ctx.Done():
			s.Kill()
			return nil, fmt.Errorf("connect to %s: %w", server, ctx.Err())
		}
	}
}

func family(a netip.Addr) string {
	if a.Unmap().Is4() {
		return "udp4"
	}
	return "udp6"
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func (s *Socket) newConn(remote netip.AddrPort) *Conn {
	return &Conn{socket: s, remote: remote, open: make(chan struct{}), ended: make(chan struct{})}
}

func (s *Socket) write(to netip.AddrPort, datagram []byte) {
	_, _ = s.udp.WriteToUDPAddrPort(datagram, to) // lost, as on the network
}

// Addr is the local address.
func (s *Socket) Addr() netip.AddrPort { return unmap(s.udp.LocalAddr().(*net.UDPAddr).AddrPort()) }

// Journal is what this socket noticed.
func (s *Socket) Journal() *Journal { return s.options.Journal }

// run reads datagrams and runs the timers until the socket is closed.
func (s *Socket) run() {
	s.done.Go(func() {
		buffer := make([]byte, 65535)
		for {
			_ = s.udp.SetReadDeadline(time.Now().Add(tickEvery))
			for {
				n, from, err := s.udp.ReadFromUDPAddrPort(buffer)
				if errors.Is(err, os.ErrDeadlineExceeded) {
					break
				}
				if errors.Is(err, net.ErrClosed) {
					return
				}
				if err == nil {
					s.input(unmap(from), buffer[:n])
				}
			}
			s.mu.Lock()
			for _, c := range s.conns {
				c.transport.Tick(time.Now())
			}
			s.mu.Unlock()
		}
	})
}

func (s *Socket) input(from netip.AddrPort, datagram []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conns[from]
	if s.only != nil {
		c = s.only
	}
	switch {
	case len(datagram) == 0:
	case c != nil && c.transport != nil:
		c.transport.Input(time.Now(), datagram)
	case c != nil && len(datagram) == 4 && datagram[0] == CmdConnectionAck && datagram[1] == 0:
		c.connected()
	case c == nil && datagram[0] == CmdConnectionRequest:
		r := &reader{b: datagram[1:]}
		for n := r.u16(); n > 0 && !r.short; n-- {
			if r.u16() == 0 && !r.short { // answered once
				s.write(from, binary.LittleEndian.AppendUint16([]byte{CmdConnectionAck, 0}, 0))
				s.newConn(from).connected()
				return
			}
		}
		s.write(from, []byte{CmdConnectionAck, 2})
	}
}

// connected makes the transport. The caller holds the socket.
func (c *Conn) connected() {
	s := c.socket
	app := &ending{conn: c}
	c.transport = &Transport{app: app, journal: s.options.Journal, timers: s.options.Timers, slow: s.options.Slow,
		emit: func(b []byte) { s.write(c.remote, b) }, links: map[uint16]*State{}}
	s.conns[c.remote] = c
	app.App = s.accept(c)
	close(c.open)
}

// Close ends every connection in order, and the socket.
func (s *Socket) Close() {
	s.mu.Lock()
	for _, c := range s.conns {
		c.transport.Close()
	}
	s.mu.Unlock()
	s.Kill()
}

// Kill closes the socket and sends nothing, as a killed process does.
func (s *Socket) Kill() {
	_ = s.udp.Close()
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.transport.end(net.ErrClosed)
	}
}

// Do runs f while nothing else happens on the socket of this connection.
func (c *Conn) Do(f func(now time.Time, t *Transport)) {
	c.socket.mu.Lock()
	defer c.socket.mu.Unlock()
	f(time.Now(), c.transport)
}

// Send queues a reliable message.
func (c *Conn) Send(payload []byte) {
	c.Do(func(now time.Time, t *Transport) { t.Send(now, payload) })
}

// Ended is closed when the connection is over; Err then is the reason, nil after an orderly close.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Err may be called after Ended.
func (c *Conn) Err() error { return c.err }

// Socket is the socket of this connection.
func (c *Conn) Socket() *Socket { return c.socket }
