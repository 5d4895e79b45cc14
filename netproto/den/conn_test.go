package den_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"collet/netproto/den"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit ends a test that hangs.
const limit = 20 * time.Second

// pair is a client and a server connected over loopback.
func pair(t testing.TB, address string, o den.Options) (client, server *den.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	l, err := den.Listen(address, o)
	if err != nil {
		t.Skipf("listen: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err = den.Dial(ctx, l.Addr().String(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = l.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// each runs test with every protocol and family.
func each(t *testing.T, test func(t *testing.T, address string, o den.Options)) {
	for _, protocol := range []uint16{den.ProtocolRelease, den.ProtocolCollet} {
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			t.Run(fmt.Sprintf("%#x %s", protocol, address), func(t *testing.T) {
				test(t, address, den.Options{Protocols: []uint16{protocol}})
			})
		}
	}
}

func receive(t testing.TB, c *den.Conn) den.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	m, err := c.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pattern is n bytes that tell their place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(7*i + i>>8 + i>>16)
	}
	return b
}

func TestMessagesArriveInOrderAndWhole(t *testing.T) {
	each(t, func(t *testing.T, address string, o den.Options) {
		client, server := pair(t, address, o)
		sizes := []int{0, 1, 1357, 1358, 5000, 16000, 65536, 1_024_000, 3, 2_000_000}
		sent := make(chan error, 1)
		go func() {
			for _, n := range sizes {
				if err := client.Send(t.Context(), pattern(n)); err != nil {
					sent <- err
					return
				}
			}
			sent <- client.Flush(t.Context())
		}()
		for _, n := range sizes {
			m := receive(t, server)
			if !m.Reliable || !bytes.Equal(m.Payload, pattern(n)) {
				t.Fatalf("got %d bytes, reliable %v; want %d bytes as sent", len(m.Payload), m.Reliable, n)
			}
			m.Release()
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if n := client.Pending(); n != 0 {
			t.Errorf("%d bytes pending after a flush", n)
		}
		if s := client.Stats(); s.RTT == 0 || s.Sent == 0 || s.Protocol != o.Protocols[0] {
			t.Errorf("stats say %+v", s)
		}
	})
}

func TestBothDirectionsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, address string, o den.Options) {
		client, server := pair(t, address, o)
		const count = 300
		run := func(c *den.Conn, done chan<- error) {
			for i := range count {
				if err := c.Send(t.Context(), []byte(fmt.Sprint(i))); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}
		done := make(chan error, 2)
		go run(client, done)
		go run(server, done)
		for i := range count {
			for _, c := range []*den.Conn{client, server} {
				if got := string(receive(t, c).Payload); got != fmt.Sprint(i) {
					t.Fatalf("got %q, want %d", got, i)
				}
			}
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestUnreliable(t *testing.T) {
	each(t, func(t *testing.T, address string, o den.Options) {
		client, server := pair(t, address, o)
		for _, n := range []int{0, 5, 30000} {
			if err := client.SendUnreliable(pattern(n)); err != nil {
				t.Fatal(err)
			}
			if m := receive(t, server); m.Reliable || !bytes.Equal(m.Payload, pattern(n)) {
				t.Fatalf("got %d bytes, reliable %v; want %d", len(m.Payload), m.Reliable, n)
			}
		}
		if err := client.SendUnreliable(make([]byte, den.MaxUnreliable+1)); !errors.Is(err, den.ErrTooLong) {
			t.Errorf("a message above the limit: %v", err)
		}
	})
}

func TestCloseDeliversAndTells(t *testing.T) {
	each(t, func(t *testing.T, address string, o den.Options) {
		client, server := pair(t, address, o)
		for range 50 {
			if err := client.Send(t.Context(), pattern(3000)); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			receive(t, server)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if _, err := server.Receive(ctx); !errors.Is(err, io.EOF) {
			t.Errorf("after the last message: %v, want io.EOF", err)
		}
		if err := client.Send(ctx, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("sending on a closed connection: %v, want net.ErrClosed", err)
		}
		if _, err := client.Receive(ctx); !errors.Is(err, net.ErrClosed) {
			t.Errorf("receiving on a closed connection: %v, want net.ErrClosed", err)
		}
		<-server.Done()
	})
}
