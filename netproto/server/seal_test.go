package server_test

import (
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/operator"
)

// TestT15Seal: a server whose components are not complete answers nobody, whatever they speak; once they are, everybody.
func TestT15Seal(t *testing.T) {
	t.Parallel()
	var registry compat.Registry
	registry.Register(compat.Component{Entry: compat.Entry{Name: "Camera", WireID: 1, Hash: 7}})
	h := &house{log: &logBook{}, done: make(chan error, 1)}
	h.govern(t, versioned(t), operator.Options{})
	h.Seal(registry.Sealed())
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.serve(t, listener)
	for _, g := range []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b} {
		p := h.dial(t, g)
		p.send(hello(g))
		for _, said := range p.gone() {
			if _, answered := said.(*netproto.HandshakeAnswer); answered {
				t.Errorf("%v is answered before Seal: %+v", g, said)
			}
		}
	}
	if err := registry.Seal(0); err != nil {
		t.Fatal(err)
	}
	h.expect(t, client(7, "Linux-x64"), compat.Accept, compat.RuleAccept)
}
