package den_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto/den"
)

// TestErrorsSayWhatToDo holds every error to its kind and to a text with something to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.1:3413")
	inner := errors.New("inner")
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{&den.PeerError{Addr: at, Command: "record", Err: inner}, inner, "connect again"},
		{&den.TimeoutError{Addr: at, After: time.Second}, den.ErrTimeout, "check that"},
		{&den.ClosedError{Addr: at, Remote: true}, io.EOF, "connect again"},
		{&den.ClosedError{Addr: at}, net.ErrClosed, "open another"},
		{&den.RefusedError{Addr: at, Result: 1}, nil, "ask its operator"},
		{&den.RefusedError{Addr: at, Result: 2}, nil, "update one"},
	} {
		text := c.err.Error()
		if !strings.Contains(text, c.text) || !strings.Contains(text, at.String()) || (c.is != nil && !errors.Is(c.err, c.is)) {
			t.Errorf("%T: %q", c.err, text)
		}
	}
	var network net.Error = timeout{&den.TimeoutError{Addr: at}}
	if !network.Timeout() {
		t.Error("a time-out is none for the net package")
	}
}

// timeout adds what net.Error wants besides.
type timeout struct{ *den.TimeoutError }

func (timeout) Temporary() bool { return false }

func TestListenerRefusesAndEnds(t *testing.T) {
	var turned atomic.Bool
	l, err := den.Listen("127.0.0.1:0", den.Options{MaxConns: 1, Admit: func(netip.AddrPort) bool { return !turned.Load() }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	first, err := den.Dial(ctx, l.Addr().String(), den.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if got := first.RemoteAddr(); got != l.Addr() || first.Protocol() != den.ProtocolCollet {
		t.Errorf("connected to %v with %#x", got, first.Protocol())
	}
	var refused *den.RefusedError
	if _, err := den.Dial(ctx, l.Addr().String(), den.Options{}); !errors.As(err, &refused) || refused.Result != 1 {
		t.Errorf("one connection too many: %v", err)
	}
	turned.Store(true)
	if _, err := den.Dial(ctx, l.Addr().String(), den.Options{ConnectTimeout: 300 * time.Millisecond}); !errors.Is(err, den.ErrTimeout) {
		t.Errorf("an address that is not admitted: %v", err)
	}
	short, stop := context.WithCancelCause(ctx)
	stop(io.ErrNoProgress)
	if c, err := l.Accept(ctx); err != nil || c.RemoteAddr().Addr() != l.Addr().Addr() {
		t.Errorf("accepted %v", err)
	}
	if _, err := l.Accept(short); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("accepting with an ended context: %v", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := l.Accept(ctx)
		waiting <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepting on a closed listener: %v", err)
	}
	if _, err := first.Receive(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("a connection of a closed listener: %v", err)
	}
	if _, err := den.Listen("no port:", den.Options{}); err == nil {
		t.Error("listens nowhere")
	}
	if _, err := den.Dial(ctx, "[::1", den.Options{}); err == nil {
		t.Error("dials nowhere")
	}
}

func TestAbortIsHeardAtOnce(t *testing.T) {
	each(t, func(t *testing.T, address string, o den.Options) {
		client, server := pair(t, address, o)
		if err := client.Send(t.Context(), []byte("hello")); err != nil {
			t.Fatal(err)
		}
		receive(t, server)
		server.Abort()
		<-client.Done()
		if err := client.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("the peer hears %v", err)
		}
		if err := server.Err(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("itself hears %v", err)
		}
		if err := server.SendUnreliable(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("sending after it: %v", err)
		}
		if _, err := server.Link([]byte("x"), den.NewState(den.Uint8(0)), false); !errors.Is(err, net.ErrClosed) {
			t.Errorf("linking after it: %v", err)
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, address string, o den.Options) {
		client, _ := pair(t, address, o)
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := make(chan error, 1)
		go func() {
			_, err := client.Receive(ctx)
			waiting <- err
		}()
		cancel(io.ErrNoProgress)
		if err := <-waiting; !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %v", err)
		}
		if err := client.Send(t.Context(), make([]byte, 0)); err != nil {
			t.Errorf("the connection did not survive: %v", err)
		}
	})
}
