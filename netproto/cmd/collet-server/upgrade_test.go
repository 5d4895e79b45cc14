package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/netproto"
	"collet/netproto/session"
)

// visitors are clients that come one after the other.
type visitors struct {
	to      string // the address
	stop    context.CancelFunc
	done    sync.WaitGroup
	mu      sync.Mutex
	came    int
	arrived chan struct{} // closed when another one has come
	fault   error         // of the first one that was turned away
}

func crowd(ts *testscript.TestScript, neg bool, args []string) {
	ctx, stop := context.WithCancel(context.Background())
	ts.Defer(stop)
	v := &visitors{to: ts.Getenv("ADDR"), stop: stop, arrived: make(chan struct{})}
	dialer, addr := dialerTo(ts, v.to)
	v.done.Go(func() {
		for ctx.Err() == nil {
			g := &greeting{began: time.Now()}
			client, err := session.Dial(ctx, session.Options{Addr: addr, Generation: netproto.C1, Compatibility: args[0], Target: args[1], Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				g.Conn = conn
				return g, nil
			}})
			if err == nil {
				client.Close()
			}
			v.note(ctx, err, g)
			select { // the queues of the test stay short
			case <-ctx.Done():
			case <-time.After(arrivalPause):
			}
		}
	})
	v.another(ts)
	p := background(ts)
	p.crowd = append(p.crowd, v)
}

// arrivalPause is the time from one client to the next.
const arrivalPause = 5 * time.Millisecond

// greeting is the connection of a client, and knows whether its hello was late.
type greeting struct {
	net.Conn
	began time.Time // before it connected
	hello time.Time // when it was sent
}

func (g *greeting) Write(p []byte) (int, error) {
	n, err := g.Conn.Write(p)
	if g.hello.IsZero() {
		g.hello = time.Now()
	}
	return n, err
}

// late reports whether a server that hands over may have waited for the hello in vain, because this machine is busy.
func (g *greeting) late() bool {
	sent := g.hello
	if sent.IsZero() {
		sent = time.Now()
	}
	return sent.Sub(g.began) > helloTime/2
}

// note notes how a client was received. One that has not sent its hello when the server hands over is told to come again, or loses its connection.
func (v *visitors) note(ctx context.Context, err error, g *greeting) {
	var told *session.RefusedError
	again := errors.As(err, &told) && told.Reason == netproto.RefuseGoingDown || g.late()
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case err == nil:
		v.came++
		close(v.arrived)
		v.arrived = make(chan struct{})
	case v.fault == nil && ctx.Err() == nil && !again:
		v.fault = err
	}
}

// another waits until another one has come from now on.
func (v *visitors) another(ts *testscript.TestScript) {
	v.mu.Lock()
	arrived := v.arrived
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-arrived:
	case <-ctx.Done():
		ts.Fatalf("no process comes to %s", v.to)
	}
}

func crowded(ts *testscript.TestScript, neg bool, args []string) {
	p := background(ts)
	for _, v := range p.crowd {
		v.another(ts)
		v.another(ts) // the first one may have come to the old process
		v.stop()
		v.done.Wait()
		if v.fault != nil {
			ts.Fatalf("%d came to %s, and one was turned away: %v", v.came, v.to, v.fault)
		}
	}
	p.crowd = nil
}
