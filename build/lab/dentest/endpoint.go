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

// tick is how often timers are looked at. The released loops spin; this is as good on the wire.
const tick = 5 * time.Millisecond

// ErrConnectTimeout is returned when a connectionRequest had no answer in time (2.2).
var ErrConnectTimeout = errors.New("connection request timed out: is the server there")

// EndpointOptions are what an Endpoint may be told. The zero value is the released device.
type EndpointOptions struct {
	Timers  Timers   // ClientTimers when zero
	Journal *Journal // a new one when nil
	Slow    bool     // spend the processor time of the released receiver (5.1)
	Offer   []uint16 // protocols a connecting side offers; 0 alone when nil
}

// Endpoint is a socket with the connections on it. All callbacks of its Apps are made one at a time.
type Endpoint struct {
	options EndpointOptions
	socket  *net.UDPConn
	accept  func(*Conn) App // nil on the connecting side

	mu    sync.Mutex
	conns map[netip.AddrPort]*Conn
	only  *Conn // of the connecting side
	done  sync.WaitGroup
}

// Conn is one connection of an Endpoint. Its methods may be called from any goroutine, but not from callbacks of an App:
// those use the Core they were given.
type Conn struct {
	endpoint *Endpoint
	core     *Core
	remote   netip.AddrPort
	ended    chan struct{}
	err      error
	asking   *asking
}

// asking is a connection that isn't accepted yet.
type asking struct {
	first, last time.Time
	request     []byte
	app         func(*Conn) App
	answer      chan error
}

// closer wraps an App so that the Conn learns of the end.
type closer struct {
	App
	conn *Conn
}

// Closed marks the connection as ended and tells the App.
func (c closer) Closed(err error) {
	c.conn.err = err
	delete(c.conn.endpoint.conns, c.conn.remote)
	c.conn.core.forget()
	close(c.conn.ended)
	c.App.Closed(err)
}

// Listen opens the listening side. Accept is called for every new address that asks for protocol 0 and returns what
// handles the connection.
func Listen(address string, o EndpointOptions, accept func(*Conn) App) (*Endpoint, error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, err
	}
	return start(socket, o, accept), nil
}

func start(socket *net.UDPConn, o EndpointOptions, accept func(*Conn) App) *Endpoint {
	if o.Timers == (Timers{}) {
		o.Timers = ClientTimers()
	}
	if o.Journal == nil {
		o.Journal = &Journal{}
	}
	e := &Endpoint{options: o, socket: socket, accept: accept, conns: map[netip.AddrPort]*Conn{}}
	e.done.Go(e.loop)
	return e
}

// Dial connects as the released device does: the request is repeated every second and given up after five. Connections
// that were made take datagrams from any address (2.2).
func Dial(ctx context.Context, server string, o EndpointOptions, app func(*Conn) App) (*Conn, error) {
	to, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP(family(to.AddrPort().Addr()), nil)
	if err != nil {
		return nil, err
	}
	e := start(socket, o, nil)
	c := e.ask(unmap(to.AddrPort()), app)
	select {
	case err = <-c.asking.answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		e.Kill()
		return nil, err
	}
	return c, nil
}

func family(a netip.Addr) string {
	if a.Unmap().Is4() {
		return "udp4"
	}
	return "udp6"
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func (e *Endpoint) ask(server netip.AddrPort, app func(*Conn) App) *Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	offer := e.options.Offer
	if offer == nil {
		offer = []uint16{0}
	}
	request := binary.LittleEndian.AppendUint16([]byte{CmdConnectionRequest}, uint16(len(offer)))
	for _, id := range offer {
		request = binary.LittleEndian.AppendUint16(request, id)
	}
	now := time.Now()
	c := &Conn{endpoint: e, remote: server, ended: make(chan struct{})}
	c.asking = &asking{first: now, last: now, request: request, app: app, answer: make(chan error, 1)}
	e.only = c
	e.write(server, request)
	return c
}

// write sends and forgets, as UDP does.
func (e *Endpoint) write(to netip.AddrPort, datagram []byte) {
	_, _ = e.socket.WriteToUDPAddrPort(datagram, to)
}

// Addr is the local address.
func (e *Endpoint) Addr() netip.AddrPort {
	return unmap(e.socket.LocalAddr().(*net.UDPAddr).AddrPort())
}

// Journal is what this endpoint noticed.
func (e *Endpoint) Journal() *Journal { return e.options.Journal }

// loop reads datagrams and runs the timers until the socket is closed.
func (e *Endpoint) loop() {
	buffer := make([]byte, 65535)
	for {
		_ = e.socket.SetReadDeadline(time.Now().Add(tick))
		for {
			n, from, err := e.socket.ReadFromUDPAddrPort(buffer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				e.input(unmap(from), buffer[:n])
			}
		}
		e.tick()
	}
}

func (e *Endpoint) tick() {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for _, c := range e.conns {
		c.core.Tick(now)
	}
	if e.only != nil && e.only.core == nil {
		e.repeat(now, e.only)
	}
}

func (e *Endpoint) repeat(now time.Time, c *Conn) {
	switch {
	case now.Sub(c.asking.first) >= e.options.Timers.RequestEnd:
		c.answered(ErrConnectTimeout)
	case now.Sub(c.asking.last) >= e.options.Timers.RequestGap:
		c.asking.last = now
		e.write(c.remote, c.asking.request)
	}
}

func (c *Conn) answered(err error) {
	select {
	case c.asking.answer <- err:
	default:
	}
}

func (e *Endpoint) input(from netip.AddrPort, datagram []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	switch c := e.conns[from]; {
	case e.only != nil:
		e.only.fromServer(now, datagram)
	case c != nil:
		c.core.Input(now, datagram)
	case e.accept != nil && len(datagram) > 0 && datagram[0] == CmdConnectionRequest:
		e.request(from, datagram)
	}
}

// fromServer takes what the connecting side receives, from whatever address.
func (c *Conn) fromServer(now time.Time, datagram []byte) {
	if c.core != nil {
		c.core.Input(now, datagram)
		return
	}
	if len(datagram) == 0 || datagram[0] != CmdConnectionAck {
		return
	}
	if len(datagram) < 4 || datagram[1] != 0 {
		c.answered(fmt.Errorf("server refused the connection with %x: offer protocol 0", datagram))
		return
	}
	c.open(c.asking.app)
	c.answered(nil)
}

// request answers a connectionRequest of a new address, once (2.2).
func (e *Endpoint) request(from netip.AddrPort, datagram []byte) {
	r := &reader{b: datagram[1:]}
	for n := r.u16(); n > 0 && !r.short; n-- {
		if r.u16() != 0 || r.short {
			continue
		}
		c := &Conn{endpoint: e, remote: from, ended: make(chan struct{})}
		e.write(from, []byte{CmdConnectionAck, 0, 0, 0})
		c.open(e.accept)
		return
	}
	e.write(from, []byte{CmdConnectionAck, 2})
}

// open makes the core. The caller holds the endpoint.
func (c *Conn) open(app func(*Conn) App) {
	e := c.endpoint
	late := &closer{conn: c}
	c.core = NewCore(late, e.options.Journal, e.options.Timers, func(b []byte) { e.write(c.remote, b) })
	c.core.slow = e.options.Slow
	e.conns[c.remote] = c
	late.App = app(c)
	if greeter, has := late.App.(interface{ Opened(now time.Time) }); has {
		greeter.Opened(time.Now())
	}
}

// Close says goodbye on every connection, closes the socket and waits for the loop.
func (e *Endpoint) Close() {
	e.mu.Lock()
	for _, c := range e.conns {
		c.core.Close()
	}
	e.mu.Unlock()
	e.Kill()
}

// Kill closes the socket without a word, as a killed process does, and waits for the loop.
func (e *Endpoint) Kill() {
	_ = e.socket.Close()
	e.done.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.conns {
		c.core.Abandon()
		c.core.app.Closed(net.ErrClosed)
	}
}

// Do runs f while nothing else happens on the endpoint of this connection.
func (c *Conn) Do(f func(now time.Time, core *Core)) {
	c.endpoint.mu.Lock()
	defer c.endpoint.mu.Unlock()
	f(time.Now(), c.core)
}

// Send queues a reliable message.
func (c *Conn) Send(payload []byte) {
	c.Do(func(now time.Time, core *Core) { core.Send(now, payload) })
}

// Ended is closed when the connection is over; Err then says why, nil after an orderly close.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Err is why the connection ended. It may be read after Ended.
func (c *Conn) Err() error { return c.err }

// Endpoint is the socket of this connection.
func (c *Conn) Endpoint() *Endpoint { return c.endpoint }

// Remote is the peer's address.
func (c *Conn) Remote() netip.AddrPort { return c.remote }
