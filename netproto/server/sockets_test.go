package server_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/dial"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// handedOver is an inherited listener.
func handedOver(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", anywhere)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// TestSocketsTakeThePlaceOfAddresses, of which none is listened on beside them.
func TestSocketsTakeThePlaceOfAddresses(t *testing.T) {
	t.Parallel()
	h := servertest.Open(t, servertest.Settings(t))
	sockets := server.Sockets{TCP: handedOver(t), WebSocket: handedOver(t)}
	want := []string{sockets.TCP.Addr().String(), sockets.WebSocket.Addr().String()}
	all, err := server.ListenAll(t.Context(), config.Addresses{TCP: want[0], WebSocket: want[1]}, sockets, config.Defaults(), h.Logger())
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, all)
	for i, addr := range all.Addrs() {
		if addr.String() != want[i] {
			t.Errorf("place %d is %v, want %s", i, addr, want[i])
		}
	}
	if len(all.Addrs()) != 2 {
		t.Errorf("listens at %v", all.Addrs())
	}
	for i, dialer := range []*dial.Dialer{{}, {WebSocket: "/"}} {
		if got := takeAll(t, netproto.C1, want[i], dialer); got["Tiny.zip"] != "tiny" {
			t.Errorf("place %d gave %q", i, got)
		}
	}
}

// TestSocketsAreClosedWhenListeningFails, those that came to a place and those that did not.
func TestSocketsAreClosedWhenListeningFails(t *testing.T) {
	t.Parallel()
	sockets := server.Sockets{TCP: handedOver(t), TLS: handedOver(t), SecureWebSocket: handedOver(t)}
	_, err := server.ListenAll(t.Context(), config.Addresses{}, sockets, config.Defaults(), servertest.New().Logger())
	var fault *config.Error
	if !errors.As(err, &fault) || fault.Key != "ServerNetwork.TlsCertificate" {
		t.Errorf("got %v", err)
	}
	for i, listener := range []net.Listener{sockets.TCP, sockets.TLS, sockets.SecureWebSocket} {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("socket %d was open", i)
		}
	}
}

// TestStopSaysFarewellByEveryTransport, and is over long before the time that it is given.
func TestStopSaysFarewellByEveryTransport(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.DrainTime = time.Minute
	h := dock(t, set)
	var peers []*servertest.Peer
	for _, w := range h.ways(t) {
		raw, err := w.dialer.DialContext(t.Context(), "tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		raw.SetDeadline(time.Now().Add(2 * time.Minute))
		p := servertest.NewPeer(t, raw, netproto.C1)
		p.Greet(servertest.Handshake(netproto.C1))
		peers = append(peers, p)
	}
	h.Stop()
	for i, p := range peers {
		_, seen := measureLife(p, false)
		if len(seen) != 1 {
			t.Fatalf("peer %d saw %v", i, seen)
		}
		if last, is := seen[0].(*netproto.Refuse); !is || last.Reason != netproto.RefuseGoingDown {
			t.Errorf("peer %d: last words %+v", i, seen[0])
		}
		p.Raw.Close()
	}
	select {
	case err := <-h.Done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("it takes the whole time")
	}
}
