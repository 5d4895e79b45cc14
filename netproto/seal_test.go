package netproto_test

import (
	"bytes"
	"errors"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

// TestT15NoHelloIsTakenBeforeSeal connects clients of every generation before a server's components are complete, and after.
func TestT15NoHelloIsTakenBeforeSeal(t *testing.T) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		var registry compat.Registry
		var out bytes.Buffer
		registry.Register(compat.Component{Entry: compat.Entry{Name: "Camera", WireID: 1, Hash: cameraHash}})
		early := serverConn(frame(t, g, hello(g)), &out, netproto.WithSeal(registry.Sealed()))
		for range 2 {
			if m, err := early.Read(); m != nil || !errors.Is(err, compat.ErrUnsealed) || out.Len() != 0 {
				t.Errorf("%v before Seal: %+v, %v, says %x", g, m, err, out.Bytes())
			}
		}
		var fault *netproto.FormatError
		if _, err := early.Read(); errors.As(err, &fault) {
			t.Errorf("it is the peer's fault: %v", err)
		}
		late := serverConn(frame(t, g, hello(g)), nil, netproto.WithSeal(registry.Sealed()))
		if err := registry.Seal(0); err != nil {
			t.Fatal(err)
		}
		if m, err := late.Read(); err != nil || m.ID() != netproto.IDHandshake || late.Generation() != g {
			t.Errorf("%v after Seal: %+v, %v", g, m, err)
		}
	}
}
