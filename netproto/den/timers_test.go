package den

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// protocols runs test with each protocol.
func protocols(t *testing.T, test func(t *testing.T, o Options)) {
	for _, p := range []uint16{ProtocolRelease, ProtocolCollet} {
		t.Run(fmt.Sprintf("%#x", p), func(t *testing.T) { test(t, Options{Protocols: []uint16{p}}) })
	}
}

var quick = path{delay: time.Millisecond}

func TestSilenceEndsAConnection(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			n.losing(1)
			start := time.Now()
			if err := client.Send(t.Context(), []byte("x")); err != nil {
				t.Fatal(err)
			}
			_, err := client.Receive(t.Context())
			if took := time.Since(start); !errors.Is(err, ErrTimeout) || took < DefaultGiveUp || took > DefaultGiveUp+100*time.Millisecond {
				t.Errorf("after %v: %v", took, err)
			}
			n.losing(0)
		})
	})
}

// TestQuietConnectionIsResentAsSeldomAsReleased counts what an unanswered message becomes: released programs resend after
// half a second each time, and so do we where there is nothing that says more.
func TestQuietConnectionIsResentAsSeldomAsReleased(t *testing.T) {
	bubble(t, quick, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		var at []time.Duration
		start := time.Now()
		n.watch(func(from, _ netip.AddrPort, data []byte) {
			if from != fakeServer && data[0] == cmdReliable {
				at = append(at, time.Since(start).Round(50*time.Millisecond))
			}
		})
		n.losing(1)
		if err := client.Send(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		<-client.Done()
		want := []time.Duration{0, 500e6, 1000e6, 1500e6, 2000e6, 2500e6}
		if !reflect.DeepEqual(at, want) {
			t.Errorf("sent at %v, want %v", at, want)
		}
		n.watch(nil)
		n.losing(0)
	})
}

func TestKeepAliveProvesLife(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		o.Harmless = []byte{20}
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			start := time.Now()
			first := make(chan Message, 2)
			for _, c := range []*Conn{client, server} {
				go func() {
					m, err := c.Receive(t.Context())
					for err == nil {
						select {
						case first <- m:
						default:
						}
						m, err = c.Receive(t.Context())
					}
				}()
			}
			if m := <-first; len(m.Payload) != 1 || m.Payload[0] != 20 {
				t.Errorf("got %x", m.Payload)
			}
			if d := time.Since(start); d < DefaultKeepAlive-time.Second || d > DefaultKeepAlive+time.Second {
				t.Errorf("the first keep-alive came after %v", d)
			}
			n.losing(1)
			<-server.Done()
			<-client.Done()
			if d := time.Since(start); d > 2*DefaultKeepAlive+DefaultGiveUp+time.Second {
				t.Errorf("a dead path was found after %v", d)
			}
			n.losing(0)
		})
	})
}

func TestOwnProtocolNoticesADeadPathByItself(t *testing.T) {
	bubble(t, quick, Options{}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		time.Sleep(time.Minute)
		if client.Err() != nil || server.Err() != nil {
			t.Fatalf("an idle connection ended: %v, %v", client.Err(), server.Err())
		}
		n.losing(1)
		start := time.Now()
		<-client.Done()
		<-server.Done()
		if d := time.Since(start); d > pingAfter+DefaultGiveUp+time.Second {
			t.Errorf("a dead path was found after %v", d)
		}
		n.losing(0)
	})
}

// TestLostAnswerOfTheServer loses connectionAck once: our server answers the repeated request.
func TestLostAnswerOfTheServer(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		synctest.Test(t, func(t *testing.T) {
			lost := 0
			n := newFakeNet(1, quick)
			n.dropping(func(d []byte) bool {
				if d[0] == cmdAck {
					lost++
				}
				return d[0] == cmdAck && lost == 1
			})
			l := listenOn(n.open(fakeServer), o)
			start := time.Now()
			c, err := dialWith(t.Context(), []netip.AddrPort{fakeServer}, o, n.dial)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > time.Second || n.port != 40001 {
				t.Errorf("connected after %v from port %d", d, n.port)
			}
			_ = c.Close()
			_ = l.Close()
			time.Sleep(time.Second)
		})
	})
}

// TestSilentServerIsAskedFromAnotherPort has a server that answers each port only once, and loses the first answer.
func TestSilentServerIsAskedFromAnotherPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNet(1, quick)
		n.dropping(func(d []byte) bool { return d[0] == cmdAck && n.port == 40001 })
		l := listenOn(n.open(fakeServer), Options{})
		start := time.Now()
		c, err := dialWith(t.Context(), []netip.AddrPort{fakeServer}, Options{}, n.dial)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < DefaultSilentPort || d > DefaultSilentPort+time.Second || n.port != 40002 {
			t.Errorf("connected after %v from port %d", d, n.port)
		}
		time.Sleep(time.Second)
		l.mu.Lock()
		if len(l.conns) != 1 {
			t.Errorf("the server holds %d connections", len(l.conns))
		}
		l.mu.Unlock()
		_ = c.Close()
		_ = l.Close()
		time.Sleep(time.Second)
	})
}

func TestDialGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNet(1, quick)
		start := time.Now()
		_, err := dialWith(t.Context(), []netip.AddrPort{fakeServer}, Options{}, n.dial)
		if d := time.Since(start); !errors.Is(err, ErrTimeout) || d != DefaultConnectTimeout {
			t.Errorf("after %v: %v", d, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		_, err = dialWith(ctx, []netip.AddrPort{fakeServer}, Options{}, n.dial)
		if d := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || d != time.Second {
			t.Errorf("cancelled after %v: %v", d, err)
		}
	})
}

func TestNoCommonProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNet(1, quick)
		l := listenOn(n.open(fakeServer), Options{Protocols: []uint16{ProtocolRelease}})
		_, err := dialWith(t.Context(), []netip.AddrPort{fakeServer}, Options{Protocols: []uint16{7, 8}}, n.dial)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Result != ackNoProtocol {
			t.Errorf("got %v", err)
		}
		_ = l.Close()
		time.Sleep(time.Second)
	})
}

// TestForgedAddressesAreLimitedAndForgotten floods a server with requests.
func TestForgedAddressesAreLimitedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNet(1, quick)
		l := listenOn(n.open(fakeServer), Options{})
		for port := range uint16(500) {
			from := n.open(netip.AddrPortFrom(netip.MustParseAddr("203.0.113.1"), 1000+port))
			_ = from.write([]byte{cmdRequest, 1, 0, 0, 0}, 5, fakeServer)
		}
		count := func() int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.conns)
		}
		time.Sleep(time.Second)
		if n := count(); n != DefaultMaxUnverified {
			t.Errorf("%d connections", n)
		}
		time.Sleep(DefaultUnverifiedExpiry)
		if n := count(); n != 0 || len(l.backlog) != 0 {
			t.Errorf("%d connections, %d in the backlog after they expired", n, len(l.backlog))
		}
		_ = l.Close()
		time.Sleep(time.Second)
	})
}

// TestLostServerIsNoticed restarts a server: what belongs to no connection of it is answered with a close.
func TestLostServerIsNoticed(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			n.dropping(func(d []byte) bool { return d[0] == cmdClose || d[0] == kindEnd })
			server.Abort()
			<-server.finished
			n.dropping(nil)
			start := time.Now()
			if err := client.Send(t.Context(), []byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Receive(t.Context()); !errors.Is(err, io.EOF) || time.Since(start) > time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	})
}

// TestReaderThatSleepsDoesNotStarveAcknowledgements: a device acknowledges within 250 ms, even if its application does not read.
func TestReaderThatSleepsDoesNotStarveAcknowledgements(t *testing.T) {
	bubble(t, quick, Options{Protocols: []uint16{ProtocolRelease}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		start := time.Now()
		for range 2 {
			if err := server.Send(t.Context(), make([]byte, 1_024_000)); err != nil {
				t.Fatal(err)
			}
		}
		if err := server.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 10*time.Second || server.Stats().Resent != 0 {
			t.Errorf("two blocks took %v, %d were sent again", d, server.Stats().Resent)
		}
	})
}

func TestSendBlocksWhenTheQueueIsFull(t *testing.T) {
	protocols(t, func(t *testing.T, o Options) {
		o.QueueBytes, o.GiveUp = 1000, time.Hour
		bubble(t, quick, o, func(t *testing.T, n *fakeNet, client, server *Conn) {
			n.losing(1)
			if err := client.Send(t.Context(), make([]byte, 5000)); err != nil {
				t.Fatalf("a long message on an empty queue: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := client.Send(ctx, make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a message on a full queue: %v", err)
			}
			n.losing(0)
			if err := client.Send(t.Context(), make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	})
}
