package proxy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// These tests check the arithmetic of a link on a fake clock.

func TestLinePassesAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSharedLink(Link{Rate: 1000})
		start := time.Now()
		for range 10 {
			if err := l.waitTurn(t.Context(), Down, 500); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("5000 bytes at 1000 a second took %v, want 5s", took)
		}
	})
}

func TestLineDirectionsDoNotShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSharedLink(Link{Rate: 1000})
		start := time.Now()
		for _, d := range []Direction{Up, Down} {
			done := make(chan error)
			go func() { done <- l.waitTurn(t.Context(), d, 1000) }()
			defer func() {
				if err := <-done; err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != time.Second {
					t.Errorf("%v took %v, want 1s", d, took)
				}
			}()
		}
	})
}

func TestLineKeepsNoCreditWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSharedLink(Link{Rate: 1000})
		time.Sleep(time.Hour)
		start := time.Now()
		if err := l.waitTurn(t.Context(), Up, 1000); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
	})
}

func TestLineStallsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSharedLink(Link{Stalled: true})
		opened := make(chan time.Time)
		go func() {
			if _, err := l.untilOpen(t.Context()); err != nil {
				t.Error(err)
			}
			opened <- time.Now()
		}()
		time.Sleep(time.Minute)
		l.setLink(Link{Stalled: true, Rate: 7}) // still stalled
		time.Sleep(time.Minute)
		released := time.Now()
		l.setLink(Link{})
		if at := <-opened; !at.Equal(released) {
			t.Errorf("opened at %v, released at %v", at, released)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := newSharedLink(Link{Rate: 1, Stalled: true})
		full := newQueue()
		if err := full.putPacket(ctx, packet{data: make([]byte, 10)}, 10); err != nil {
			t.Fatal(err)
		}
		waits := map[string]func() error{
			"pass": func() error { return l.waitTurn(ctx, Up, 3600) },
			"open": func() error { _, err := l.untilOpen(ctx); return err },
			"get":  func() error { _, _, err := newQueue().nextPacket(ctx); return err },
			"put":  func() error { return full.putPacket(ctx, packet{data: []byte{1}}, 10) },
		}
		for name, wait := range waits {
			if err := wait(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want the context's end", name, err)
			}
		}
	})
}

func TestQueueKeepsOrderAndItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, put := newQueue(), 0
		go func() {
			for i := range 100 {
				if err := q.putPacket(t.Context(), packet{data: []byte{byte(i)}}, 3); err != nil {
					t.Error(err)
				}
				put++
			}
			q.closeInput()
		}()
		synctest.Wait()
		if put != 3 {
			t.Fatalf("%d packets of one byte in a queue of 3", put)
		}
		for i := range 100 {
			p, more, err := q.nextPacket(t.Context())
			if err != nil || !more || p.data[0] != byte(i) {
				t.Fatalf("packet %d: %v %v %v", i, p.data, more, err)
			}
			q.done(1)
		}
		if _, more, err := q.nextPacket(t.Context()); more || err != nil {
			t.Errorf("after the end: more %v, error %v", more, err)
		}
	})
}

func TestLinkSizes(t *testing.T) {
	for _, test := range []struct {
		link         Link
		queue, piece int
	}{
		{Link{}, openQueue, readSize},
		{Link{Rate: 1}, minQueue, minPiece},
		{Link{Rate: 1_000_000}, 100_000, readSize},
		{Link{Rate: 500_000, Delay: 400 * time.Millisecond}, 250_000, 10_000},
		{Link{Rate: 1 << 40, Delay: time.Hour}, openQueue, readSize},
	} {
		if got := test.link.queueLimit(); got != test.queue {
			t.Errorf("%+v: queue of %d bytes, want %d", test.link, got, test.queue)
		}
		if got := test.link.piece(); got != test.piece {
			t.Errorf("%+v: pieces of %d bytes, want %d", test.link, got, test.piece)
		}
	}
}
