package proxy_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"collet/build/qa/proxy"
	"collet/platform/testwait"
)

// patience bounds waits for something that happens at once on a machine that is not overloaded.
const patience = 2 * time.Minute

// echo is a server that sends back what it gets, and closes its side when the client closed its own.
func echo(t *testing.T) string {
	t.Helper()
	return serve(t, func(c *net.TCPConn) {
		io.Copy(c, c)
		c.CloseWrite()
	})
}

// serve runs handle for each connection until the test ends.
func serve(t *testing.T, handle func(*net.TCPConn)) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				handle(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().String()
}

func start(t *testing.T, o proxy.Options) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func dial(t *testing.T, p *proxy.Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// send writes data and closes the writing side, in a goroutine that ends before the test does.
func send(t *testing.T, c *net.TCPConn, data []byte) {
	t.Helper()
	var running sync.WaitGroup
	running.Go(func() {
		c.Write(data) // a cut connection is some tests' subject
		c.CloseWrite()
	})
	t.Cleanup(func() { c.Close(); running.Wait() })
}

// record waits until connection number (from 1) has ended.
func record(t *testing.T, p *proxy.Proxy, number int) proxy.Record {
	t.Helper()
	testwait.Until(t, func() bool {
		all := p.Records()
		return len(all) >= number && all[number-1].End != proxy.StillOpen
	}, fmt.Sprintf("connection %d ends", number))
	return p.Records()[number-1]
}

func noise(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

func TestProxyForwardsEveryByte(t *testing.T) {
	for _, link := range []proxy.Link{{}, {Rate: 20 << 20}, {Delay: 20 * time.Millisecond}, {Rate: 30 << 20, Delay: 5 * time.Millisecond}} {
		p := start(t, proxy.Options{Target: echo(t), Link: link})
		data := noise(3<<20 + 17)
		c := dial(t, p)
		send(t, c, data)
		got, err := io.ReadAll(c)
		if err != nil || sha256.Sum256(got) != sha256.Sum256(data) {
			t.Fatalf("%+v: %d of %d bytes came back: %v", link, len(got), len(data), err)
		}
		r := record(t, p, 1)
		if r.Up != int64(len(data)) || r.Down != int64(len(data)) || r.End != proxy.ClosedByPeer || r.Closed.Before(r.Opened) {
			t.Errorf("%+v: %+v", link, r)
		}
	}
}

func TestProxyPassesOnHalfCloses(t *testing.T) {
	late := []byte("after the client's end")
	p := start(t, proxy.Options{Target: serve(t, func(c *net.TCPConn) {
		io.Copy(io.Discard, c) // returns at the client's end
		c.Write(late)
	})})
	c := dial(t, p)
	send(t, c, []byte("question"))
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, late) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestProxyCutsAfterExactlySoManyBytes(t *testing.T) {
	for _, after := range []int64{0, 1, 100, 16 << 10, 16<<10 + 1, 1_000_003} {
		for _, d := range []proxy.Direction{proxy.Up, proxy.Down} {
			p := start(t, proxy.Options{Target: echo(t), Faults: func(n int) []proxy.Fault {
				if n == 1 {
					return []proxy.Fault{{Kind: proxy.Cut, Direction: d, At: after}}
				}
				return nil
			}})
			c := dial(t, p)
			send(t, c, noise(2<<20))
			got, _ := io.ReadAll(c) // the cut may look like an end or like a reset
			r := record(t, p, 1)
			if r.End != proxy.WasCut {
				t.Errorf("%v after %d: ended as %q", d, after, r.End)
			}
			if passed := map[proxy.Direction]int64{proxy.Up: r.Up, proxy.Down: r.Down}[d]; passed != after {
				t.Errorf("%v after %d: %d bytes passed", d, after, passed)
			}
			if d == proxy.Down && int64(len(got)) > after {
				t.Errorf("client got %d bytes, cut after %d", len(got), after)
			}
			checkEcho(t, dial(t, p)) // the second connection has no fault
		}
	}
}

// checkEcho sends a few bytes and receives them back.
func checkEcho(t *testing.T, c *net.TCPConn) {
	t.Helper()
	question, answer := []byte("are you there?"), make([]byte, 14)
	if _, err := c.Write(question); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer); err != nil || !bytes.Equal(question, answer) {
		t.Fatalf("got %q, %v", answer, err)
	}
}

func TestProxyCutWithResetIsSeenAsReset(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t), Faults: func(int) []proxy.Fault {
		return []proxy.Fault{{Kind: proxy.Reset, Direction: proxy.Down, At: 14}}
	}})
	c := dial(t, p)
	c.Write(make([]byte, 14))
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read ended with %v, want a reset", err)
	}
}

func TestProxyRate(t *testing.T) {
	const rate, size = 400_000, 200_000
	p := start(t, proxy.Options{Target: serve(t, func(c *net.TCPConn) { c.Write(noise(size)) }), Link: proxy.Link{Rate: rate}})
	began := time.Now()
	got, err := io.ReadAll(dial(t, p))
	took := time.Since(began)
	if err != nil || len(got) != size {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if want := time.Second * size / rate; took < want*9/10 {
		t.Errorf("%d bytes at %d a second took %v, want at least %v", size, rate, took, want)
	}
}

func TestProxyRateIsSharedByConnections(t *testing.T) {
	const rate, size = 400_000, 100_000
	p := start(t, proxy.Options{Target: serve(t, func(c *net.TCPConn) { c.Write(noise(size)) }), Link: proxy.Link{Rate: rate}})
	began := time.Now()
	var running sync.WaitGroup
	for range 2 {
		c := dial(t, p)
		running.Go(func() {
			if got, err := io.ReadAll(c); err != nil || len(got) != size {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	running.Wait()
	if took, want := time.Since(began), time.Second*2*size/rate; took < want*9/10 {
		t.Errorf("both took %v, want at least %v", took, want)
	}
}

func TestProxyDelaysEachWay(t *testing.T) {
	const delay = 50 * time.Millisecond
	p := start(t, proxy.Options{Target: echo(t), Link: proxy.Link{Delay: delay}})
	c := dial(t, p)
	began := time.Now()
	checkEcho(t, c)
	if took := time.Since(began); took < 2*delay {
		t.Errorf("there and back took %v, want at least %v", took, 2*delay)
	}
}

func TestProxyStallsAndGoesOn(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t)})
	c := dial(t, p)
	checkEcho(t, c)
	p.SetLink(proxy.Link{Stalled: true})
	c.Write([]byte("x"))
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("%d bytes, %v passed a stalled link", n, err)
	}
	p.SetLink(proxy.Link{})
	c.SetReadDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d bytes, %v after the stall", n, err)
	}
}

func TestProxyRefusesAndAcceptsAgain(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t)})
	old := dial(t, p)
	checkEcho(t, old)
	p.Refuse()
	p.Refuse() // twice is once
	if c, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dialled %v, %v; want refused", c, err)
	}
	checkEcho(t, old) // an open connection stays
	if err := errors.Join(p.Accept(), p.Accept()); err != nil {
		t.Fatal(err)
	}
	checkEcho(t, dial(t, p))
}

func TestProxyCutEndsAllOpenConnections(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t), Link: proxy.Link{}})
	for range 3 {
		checkEcho(t, dial(t, p))
	}
	p.SetLink(proxy.Link{Stalled: true}) // a stalled connection is cut like any other
	if n := p.Cut(); n != 3 {
		t.Errorf("cut %d connections, want 3", n)
	}
	if n := p.Cut(); n != 0 {
		t.Errorf("cut %d connections again", n)
	}
	for _, r := range p.Records() {
		if r.End != proxy.WasCut || r.Up != 14 || r.Down != 14 {
			t.Errorf("%+v", r)
		}
	}
	if up, down := p.Bytes(); up != 42 || down != 42 {
		t.Errorf("%d up, %d down, want 42 each", up, down)
	}
}

func TestProxyWithoutATarget(t *testing.T) {
	gone := start(t, proxy.Options{Target: "127.0.0.1:1"})
	gone.Refuse()
	p := start(t, proxy.Options{Target: gone.Addr()})
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // the reset may come so early that it looks like a refusal
		defer c.Close()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d, %v from nowhere", n, err)
		}
	}
	if r := record(t, p, 1); r.End != proxy.NoTarget {
		t.Errorf("%+v", r)
	}
}

func TestProxyCloseEndsEverything(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t), Link: proxy.Link{Rate: 1000}})
	c := dial(t, p)
	checkEcho(t, c)
	send(t, c, noise(1<<20)) // would take a quarter of an hour
	p.Close()
	p.Close()
	if r := p.Records()[0]; r.End != proxy.Stopped {
		t.Errorf("%+v", r)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after Close: %v", err)
	}
	if err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
}

func TestProxyListensOnTheLoopbackOnly(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t)})
	host, _, err := net.SplitHostPort(p.Addr())
	if err != nil || !net.ParseIP(host).IsLoopback() || p.Port() == 0 {
		t.Errorf("listens on %s (port %d), %v", p.Addr(), p.Port(), err)
	}
	if _, err := proxy.Start(proxy.Options{Target: p.Addr(), Port: p.Port()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second proxy on the same port: %v", err)
	}
}
