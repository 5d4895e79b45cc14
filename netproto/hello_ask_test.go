package netproto_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collet/netproto"
)

// offerOf is an offer of C1 in the layout of g, by a client that has tags.
func offerOf(g netproto.Generation) *netproto.Handshake {
	return &netproto.Handshake{Version: g.Version(), Compatibility: "V", Target: "Linux-x64", Key: netproto.OfferKey(netproto.CapPipeline) | netproto.CapTags}
}

// ownHello is what the same client says when it is asked.
func ownHello(t testing.TB) *netproto.Handshake {
	return &netproto.Handshake{Version: netproto.VersionC1, Capabilities: netproto.CapPipeline, Compatibility: "V", Target: "Linux-x64", Tags: helloTail(t, fullHello())}
}

// TestServerAsksOfferingClient reads an offer of a client with tags: the server asks once, and treats the second hello as the first.
func TestServerAsksOfferingClient(t *testing.T) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		var out bytes.Buffer
		input := append(frame(t, g, offerOf(g)), frame(t, netproto.C1, ownHello(t))...)
		conn := serverConn(append(input, frame(t, netproto.C1, &netproto.Ping{})...), &out)
		got := readAll(t, conn)
		if len(got) != 2 || conn.Generation() != netproto.C1 {
			t.Fatalf("%v: %d messages in %v", g, len(got), conn.Generation())
		}
		if h := got[0].(*netproto.Handshake); h.Said() != fullHello() || h.Offer != 0 || h.Version != netproto.VersionC1 {
			t.Errorf("%v: hello %+v", g, h)
		}
		if want := frame(t, netproto.C1, &netproto.AskHello{}); !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%v: says %x, want %x", g, out.Bytes(), want)
		}
		plain := offerOf(g)
		plain.Key &^= netproto.CapTags
		out.Reset()
		if m, err := serverConn(frame(t, g, plain), &out).Read(); err != nil || m.(*netproto.Handshake).Offer != g || out.Len() != 0 {
			t.Errorf("%v: an offer without tags: %+v, %v, says %x", g, m, err, out.Bytes())
		}
		wanted := false
		choosy := func() (netproto.Message, error) {
			out.Reset()
			return serverConn(input, &out, netproto.WithAsking(func() bool { return wanted })).Read()
		}
		if m, err := choosy(); err != nil || m.(*netproto.Handshake).Offer != g || m.(*netproto.Handshake).Said().Account != "" || out.Len() != 0 {
			t.Errorf("%v: a server without a use for tags: %+v, %v, says %x", g, m, err, out.Bytes())
		}
		wanted = true
		if m, err := choosy(); err != nil || m.(*netproto.Handshake).Said() != fullHello() || out.Len() == 0 {
			t.Errorf("%v: a server with a use for tags: %+v, %v", g, m, err)
		}
		out.Reset()
		engine := serverConn(input, &out, netproto.WithOnly(netproto.G1, netproto.G2a, netproto.G2b))
		if m, err := engine.Read(); err != nil || m.(*netproto.Handshake).Key != offerOf(g).Key || out.Len() != 0 {
			t.Errorf("%v: a server of the engine's: %+v, %v, says %x", g, m, err, out.Bytes())
		}
	}
}

// TestFaultsBehindAskHello covers invalid responses of an offering client to AskHello.
func TestFaultsBehindAskHello(t *testing.T) {
	other, target, broken := ownHello(t), ownHello(t), ownHello(t)
	other.Compatibility, target.Target = "W", "Linux-arm64"
	long := "\x01\x00\x4c\x43" + strings.Repeat("\x00", 12) + strings.Repeat("x", 16<<10)
	tests := []struct {
		name string
		said []byte
		id   netproto.MessageID
		text string
	}{
		{"a ping", frame(t, netproto.C1, &netproto.Ping{}), netproto.IDPing, "must be a handshake"},
		{"the offer again", frame(t, netproto.G2a, offerOf(netproto.G2a)), netproto.IDHandshake, "not of generation C1"},
		{"another compatibility version", frame(t, netproto.C1, other), netproto.IDHandshake, "not what the offer said"},
		{"another target", frame(t, netproto.C1, target), netproto.IDHandshake, "not what the offer said"},
		{"more than a hello may have", rawFrame(netproto.IDHandshake, long), 0, "above the limit"},
		{"a broken tag", bytes.Replace(frame(t, netproto.C1, broken), []byte("\x01\x00\x04\x00\x00\x00"), []byte("\x01\x00\x03\x00\x00\x00"), 1), netproto.IDHandshake, "tail"},
		{"two hellos", append(frame(t, netproto.C1, ownHello(t)), frame(t, netproto.C1, ownHello(t))...), netproto.IDHandshake, "second time"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn := serverConn(append(frame(t, netproto.G2a, offerOf(netproto.G2a)), test.said...), nil)
			_, err := conn.Read()
			for err == nil {
				_, err = conn.Read()
			}
			wantFault(t, err, test.id, test.text)
		})
	}
	if _, err := serverConn(frame(t, netproto.G2a, offerOf(netproto.G2a)), nil).Read(); err == nil {
		t.Error("a client that leaves when it is asked has said hello")
	}
	refusing := netproto.NewConn(stream{Reader: bytes.NewReader(frame(t, netproto.G2a, offerOf(netproto.G2a))), Writer: deaf{}}, netproto.ServerSide, netproto.Limits{})
	if _, err := refusing.Read(); !errors.Is(err, errDeaf) {
		t.Errorf("a client that can't be asked: %v", err)
	}
}

var errDeaf = errors.New("deaf")

// deaf is a peer that can't be written to.
type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errDeaf }
