package main

import (
	"context"
	"errors"
	"sync"

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
			client, err := session.Dial(ctx, session.Options{Addr: addr, Generation: netproto.C1, Compatibility: args[0], Target: args[1], Dial: dialer.DialContext})
			if err == nil {
				client.Close()
			}
			v.note(ctx, err)
		}
	})
	v.another(ts)
	p := background(ts)
	p.crowd = append(p.crowd, v)
}

// note notes how a client was received. One that has not sent its hello when the server hands over is told to come again.
func (v *visitors) note(ctx context.Context, err error) {
	var told *session.RefusedError
	again := errors.As(err, &told) && told.Reason == netproto.RefuseGoingDown
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
		ts.Fatalf("nobody comes to %s", v.to)
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
