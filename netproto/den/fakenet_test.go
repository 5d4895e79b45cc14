package den

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// path is what a fakeNet does to datagrams of one direction.
type path struct {
	delay     time.Duration
	jitter    time.Duration // added to the delay of a reordered datagram
	loss      float64
	reorder   float64
	duplicate float64
	rate      float64 // bytes a second; 0 is any
	queue     time.Duration
	longest   int                    // bytes; longer datagrams are lost; 0 is any
	drop      func(data []byte) bool // additionally loses matching datagrams
}

// fakeNet carries datagrams between fakeConns in one process, by the clock of its bubble.
type fakeNet struct {
	mu     sync.Mutex
	random *rand.Rand
	path   path
	conns  map[netip.AddrPort]*fakeConn
	free   map[netip.AddrPort]time.Time // when the line to an address is idle
	seen   func(from, to netip.AddrPort, data []byte)
	port   uint16
}

func newFakeNet(seed uint64, p path) *fakeNet {
	return &fakeNet{
		random: rand.New(rand.NewPCG(seed, 1)), path: p,
		conns: map[netip.AddrPort]*fakeConn{}, free: map[netip.AddrPort]time.Time{}, port: 40000,
	}
}

// fakeConn is one socket of a fakeNet.
type fakeConn struct {
	net    *fakeNet
	addr   netip.AddrPort
	queue  chan fakeDatagram
	closed chan struct{}
	once   sync.Once
}

type fakeDatagram struct {
	from netip.AddrPort
	data []byte
}

func (n *fakeNet) open(addr netip.AddrPort) *fakeConn {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &fakeConn{net: n, addr: addr, queue: make(chan fakeDatagram, 8192), closed: make(chan struct{})}
	n.conns[addr] = c
	return c
}

// losing sets the rate of loss.
func (n *fakeNet) losing(rate float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.path.loss = rate
}

// dropping sets what else is lost.
func (n *fakeNet) dropping(drop func(data []byte) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.path.drop = drop
}

// watch sets a callback for each datagram.
func (n *fakeNet) watch(seen func(from, to netip.AddrPort, data []byte)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = seen
}

// dial opens a socket at a new port.
func (n *fakeNet) dial(netip.AddrPort) (packetConn, error) {
	n.mu.Lock()
	n.port++
	addr := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.2"), n.port)
	n.mu.Unlock()
	return n.open(addr), nil
}

func (c *fakeConn) read(buf []byte) (int, int, netip.AddrPort, error) {
	select {
	case d := <-c.queue:
		return copy(buf, d.data), 0, d.from, nil
	case <-c.closed:
		return 0, 0, netip.AddrPort{}, net.ErrClosed
	}
}

func (c *fakeConn) write(buf []byte, segment int, to netip.AddrPort) error {
	for len(buf) > 0 {
		n := min(segment, len(buf))
		c.net.carry(c.addr, to, buf[:n])
		buf = buf[n:]
	}
	return nil
}

func (c *fakeConn) segments() bool        { return true }
func (c *fakeConn) local() netip.AddrPort { return c.addr }
func (c *fakeConn) room() int             { return 4 << 20 }
func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// carry sends one datagram on its way.
func (n *fakeNet) carry(from, to netip.AddrPort, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen != nil {
		n.seen(from, to, data)
	}
	p := n.path
	if n.random.Float64() < p.loss || (p.longest > 0 && len(data) > p.longest) || (p.drop != nil && p.drop(data)) {
		return
	}
	delay := p.delay
	if p.rate > 0 {
		now := time.Now()
		start := now
		if n.free[to].After(now) {
			start = n.free[to]
		}
		if p.queue > 0 && start.Sub(now) > p.queue {
			return
		}
		end := start.Add(time.Duration(float64(len(data)) / p.rate * float64(time.Second)))
		n.free[to] = end
		delay += end.Sub(now)
	}
	copies := 1
	if n.random.Float64() < p.duplicate {
		copies = 2
	}
	for range copies {
		d := delay
		if n.random.Float64() < p.reorder {
			d += p.jitter
		}
		n.deliver(fakeDatagram{from, append([]byte(nil), data...)}, to, d)
	}
}

func (n *fakeNet) deliver(d fakeDatagram, to netip.AddrPort, delay time.Duration) {
	time.AfterFunc(delay, func() {
		n.mu.Lock()
		c := n.conns[to]
		n.mu.Unlock()
		if c == nil {
			return
		}
		select {
		case c.queue <- d:
		default: // its buffer is full
		}
	})
}

var fakeServer = netip.MustParseAddrPort("192.0.2.1:3413")

// bubble runs test in a bubble of time with a connected pair on a fakeNet.
func bubble(t *testing.T, p path, o Options, test func(t *testing.T, n *fakeNet, client, server *Conn)) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNet(1, p)
		l := listenOn(n.open(fakeServer), o)
		defer time.Sleep(time.Minute) // what is still on its way
		defer func() { _ = l.Close() }()
		client, err := dialWith(t.Context(), []netip.AddrPort{fakeServer}, o, n.dial)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			n.dropping(nil)
			n.watch(nil)
			n.losing(0)
			_ = client.Close()
		}()
		server, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		test(t, n, client, server)
	})
}

// flood sends total bytes in messages of size from one end to the other, and gives how long that took.
func flood(t *testing.T, from, to *Conn, total, size int) time.Duration {
	t.Helper()
	start := time.Now()
	done := make(chan error, 1)
	payload := make([]byte, size)
	go func() {
		for i := range total / size {
			payload[0], payload[size-1] = byte(i), byte(i>>8)
			if err := from.Send(context.Background(), payload); err != nil {
				done <- err
				return
			}
		}
		done <- from.Flush(context.Background())
	}()
	for i := range total / size {
		m, err := to.Receive(context.Background())
		for err == nil && bytes.HasPrefix(m.Payload, keepAlive) && len(m.Payload) != size {
			m, err = to.Receive(context.Background())
		}
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if len(m.Payload) != size || m.Payload[0] != byte(i) || m.Payload[size-1] != byte(i>>8) {
			t.Fatalf("message %d is another", i)
		}
		m.Release()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}
