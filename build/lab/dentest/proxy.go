package dentest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Direction is the way a datagram goes.
type Direction byte

// Directions, as the recorded traces name them.
const (
	ToServer Direction = 1 // c2s
	ToClient Direction = 2 // s2c
)

func (d Direction) String() string {
	if d == ToServer {
		return "c2s"
	}
	return "s2c"
}

// Datagram is one UDP payload as the proxy met it.
type Datagram struct {
	At        time.Duration // since the proxy started
	Direction Direction
	Client    int // clients are counted from 0 in the order in which they appeared
	Data      []byte
	Fate      string // what happened to it; empty when it simply passed
}

// ProxyOptions say how a Proxy treats what passes. The zero value passes everything at once and records it.
type ProxyOptions struct {
	Seed     uint64
	ToServer Impairment
	ToClient Impairment
	Rules    []Rule // asked in order for each datagram before the impairment; the first that acts decides
	Quiet    bool   // record nothing, for measuring
}

// Proxy is a UDP proxy in front of one server. All methods may be called from any goroutine.
type Proxy struct {
	options ProxyOptions
	server  netip.AddrPort
	socket  *net.UDPConn
	began   time.Time
	done    sync.WaitGroup
	line    *line
	events  chan struct{}

	mu    sync.Mutex
	dice  [3]*dice // by direction
	flows map[netip.AddrPort]*flow
	trace []Datagram
	dark  bool
	ended bool
}

// flow is one client with the socket that stands for it towards the server.
type flow struct {
	client   netip.AddrPort
	index    int
	upstream *net.UDPConn
}

// proxyBuffer is what the proxy asks of its sockets, bytes: it must not lose what it wasn't told to lose.
const proxyBuffer = 8 << 20

// NewProxy listens on a free port of the loopback address of the server's family and passes everything on to server.
func NewProxy(server netip.AddrPort, o ProxyOptions) (*Proxy, error) {
	local := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	if !server.Addr().Unmap().Is4() {
		local = netip.AddrPortFrom(netip.IPv6Loopback(), 0)
	}
	socket, err := net.ListenUDP(family(server.Addr()), net.UDPAddrFromAddrPort(local))
	if err != nil {
		return nil, err
	}
	enlarge(socket)
	p := &Proxy{options: o, server: server, socket: socket, began: time.Now(), flows: map[netip.AddrPort]*flow{}, line: newLine(), events: make(chan struct{}, 1)}
	p.dice[ToServer], p.dice[ToClient] = newDice(o.ToServer, o.Seed, 1), newDice(o.ToClient, o.Seed, 2)
	p.done.Go(p.line.run)
	p.done.Go(p.fromClients)
	return p, nil
}

func enlarge(socket *net.UDPConn) {
	_ = socket.SetReadBuffer(proxyBuffer) // the system may grant less
	_ = socket.SetWriteBuffer(proxyBuffer)
}

// Addr is where clients connect to.
func (p *Proxy) Addr() netip.AddrPort { return unmap(p.socket.LocalAddr().(*net.UDPAddr).AddrPort()) }

// Close ends the proxy and waits for its goroutines. What is still delayed is lost. A second Close does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended = true
	_ = p.socket.Close()
	for _, f := range p.flows {
		_ = f.upstream.Close()
	}
	p.mu.Unlock()
	p.line.stop()
	p.done.Wait()
}

// Dark drops everything both ways while it is true.
func (p *Proxy) Dark(dark bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dark = dark
}

// Events holds a token after each datagram. One goroutine may receive.
func (p *Proxy) Events() <-chan struct{} { return p.events }

// Trace is what passed so far.
func (p *Proxy) Trace() []Datagram {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.trace)
}

// Text prints the trace, one line a datagram: time in ms, direction, length, first bytes, and what happened to it.
func (p *Proxy) Text() string {
	const shown = 24
	var b strings.Builder
	for _, d := range p.Trace() {
		fmt.Fprintf(&b, "%9.1f %s %5d %x %s\n", float64(d.At.Microseconds())/1000, d.Direction, len(d.Data), d.Data[:min(len(d.Data), shown)], d.Fate)
	}
	return b.String()
}

func (p *Proxy) fromClients() {
	buffer := make([]byte, 65535)
	for {
		n, from, err := p.socket.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if f := p.flow(unmap(from)); f != nil {
			p.pass(f, ToServer, buffer[:n])
		}
	}
}

// flow finds or makes the flow of a client. Nil means that the proxy is closing or has no socket left.
func (p *Proxy) flow(client netip.AddrPort) *flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flows[client]; f != nil || p.ended {
		return f
	}
	upstream, err := net.DialUDP(family(p.server.Addr()), nil, net.UDPAddrFromAddrPort(p.server))
	if err != nil {
		return nil
	}
	enlarge(upstream)
	f := &flow{client, len(p.flows), upstream}
	p.flows[client] = f
	p.done.Go(func() { p.fromServer(f) })
	return f
}

func (p *Proxy) fromServer(f *flow) {
	buffer := make([]byte, 65535)
	for {
		n, err := f.upstream.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.pass(f, ToClient, buffer[:n])
		}
	}
}

// pass decides about one datagram and sends or schedules its copies.
func (p *Proxy) pass(f *flow, d Direction, data []byte) {
	p.mu.Lock()
	now := time.Now()
	g := &Datagram{At: now.Sub(p.began), Direction: d, Client: f.index, Data: data}
	copies := p.decide(now, g)
	if !p.options.Quiet {
		kept := *g
		kept.Data = slices.Clone(g.Data)
		p.trace = append(p.trace, kept)
	}
	p.mu.Unlock()
	notify(p.events)
	for _, due := range copies {
		if due.After(now) {
			kept := slices.Clone(g.Data)
			p.line.add(due, func() { p.send(f, d, kept) })
		} else {
			p.send(f, d, g.Data)
		}
	}
}

// decide returns when each copy leaves.
func (p *Proxy) decide(now time.Time, g *Datagram) []time.Time {
	if p.dark {
		g.Fate = "dropped"
		return nil
	}
	for _, rule := range p.options.Rules {
		if copies, acted := rule.apply(now, g); acted {
			return copies
		}
	}
	return p.dice[g.Direction].roll(now, g)
}

func (p *Proxy) send(f *flow, d Direction, data []byte) {
	if d == ToServer {
		_, _ = f.upstream.Write(data)
	} else {
		_, _ = p.socket.WriteToUDPAddrPort(data, f.client)
	}
}
