// Package proxy is a network link that breaks on demand.
//
// A Proxy listens on the loopback interface and forwards each TCP connection to a target. Its Link limits the rate of all connections
// together, delays bytes, or stalls. Faults change one connection at an exact byte position: they cut it, reset it, end one direction, stall,
// drop, duplicate or invert bytes. A Proxy can also refuse connections.
//
// Counters are exact: a byte is counted when it was written to the receiving side. All goroutines and sockets have ended when Close returns.
package proxy

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// dialTimeout is the time limit for connecting to the target, which is on this machine.
const dialTimeout = 5 * time.Second

// Direction is a direction through a Proxy.
type Direction uint8

const (
	// Up is from the client to the target.
	Up Direction = 1
	// Down is from the target to the client.
	Down Direction = 2
)

// String is the word used in messages.
func (d Direction) String() string {
	switch d {
	case Up:
		return "up"
	case Down:
		return "down"
	default:
		return "none"
	}
}

// Options configure a Proxy. Target is required.
type Options struct {
	Target string // host:port
	Port   int    // port to listen on, 0 for a free one
	Link   Link
	// Faults is called once for each connection, numbered from 1 in the order of arrival. It returns the connection's faults in any order.
	// It may be nil, and is never called concurrently.
	Faults func(connection int) []Fault
}

// End is how a connection through a Proxy ended.
type End string

const (
	// StillOpen is a connection that has not ended.
	StillOpen End = "open"
	// ClosedByPeer is an end by one of the two peers.
	ClosedByPeer End = "closed by a peer"
	// WasCut is an end by a Fault or by Cut.
	WasCut End = "cut"
	// Stopped is an end by Close.
	Stopped End = "stopped"
	// NoTarget is a failed connection to the target.
	NoTarget End = "no target"
)

// Record describes one connection. It is a value.
type Record struct {
	Number int   // from 1, in order of arrival
	Up     int64 // bytes passed to the target
	Down   int64 // bytes passed to the client
	End    End
	Opened time.Time
	Closed time.Time // zero while open
}

// Proxy forwards TCP connections on the loopback interface to a target. All methods are safe for concurrent use. Close it.
type Proxy struct {
	options Options
	link    *sharedLink
	running sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	address     *net.TCPAddr
	listener    net.Listener  // nil while refusing
	connections []*connection // all connections, in order
}

// Start listens on 127.0.0.1 and forwards until Close.
func Start(o Options) (*Proxy, error) {
	p := &Proxy{options: o, link: newSharedLink(o.Link), address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: o.Port}}
	if err := p.Accept(); err != nil {
		return nil, err
	}
	return p, nil
}

// Addr returns the host:port to connect to. It is constant for the life of the Proxy.
func (p *Proxy) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address.String()
}

// Port returns the port of Addr.
func (p *Proxy) Port() int {
	_, port, _ := net.SplitHostPort(p.Addr())
	number, _ := strconv.Atoi(port)
	return number
}

// Accept listens again after Refuse. It has no effect while the Proxy listens.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	if p.closed {
		return fmt.Errorf("proxy %s: %w", p.address, net.ErrClosed)
	}
	listener, err := net.ListenTCP("tcp4", p.address)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	p.listener, p.address = listener, listener.Addr().(*net.TCPAddr)
	p.running.Go(func() { p.accept(listener) })
	return nil
}

// Refuse stops listening, so that the system refuses new connections. Open ones stay.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close() // releases the port; an error has no consequence
		p.listener = nil
	}
}

// SetLink changes the link of all connections, also for bytes in transit.
func (p *Proxy) SetLink(l Link) { p.link.setLink(l) }

// Cut resets all open connections and returns their number. It returns when they are closed.
func (p *Proxy) Cut() int {
	cut := 0
	for _, c := range p.listConnections() {
		if c.close(WasCut, true) {
			cut++
			<-c.done
		}
	}
	return cut
}

// Records returns all connections in order of arrival.
func (p *Proxy) Records() []Record {
	connections := p.listConnections()
	records := make([]Record, len(connections))
	for i, c := range connections {
		records[i] = c.record()
	}
	return records
}

// Bytes returns the sums over all connections.
func (p *Proxy) Bytes() (up, down int64) {
	for _, r := range p.Records() {
		up, down = up+r.Up, down+r.Down
	}
	return up, down
}

// Close ends all connections and returns when they have ended. It may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Refuse()
	for _, c := range p.listConnections() {
		c.close(Stopped, false)
	}
	p.running.Wait()
	return nil
}

func (p *Proxy) listConnections() []*connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*connection(nil), p.connections...)
}

// accept runs until listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.serve(client.(*net.TCPConn))
	}
}

// serve numbers a connection, gets its faults, and starts it.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		client.Close()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &connection{
		number: len(p.connections) + 1, client: client, link: p.link, cancel: cancel,
		opened: time.Now(), end: StillOpen, done: make(chan struct{}),
	}
	if p.options.Faults != nil {
		c.faults = p.options.Faults(c.number)
	}
	c.schedules, c.silenced = newSchedules(c.faults), make(chan struct{})
	p.connections = append(p.connections, c)
	p.running.Go(func() { c.relay(ctx, p.options.Target) })
}
