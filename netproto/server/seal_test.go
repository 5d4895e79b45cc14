package server_test

import (
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestT15Seal: a server whose components are not complete answers no client of any generation; once they are, all.
func TestT15Seal(t *testing.T) {
	t.Parallel()
	var registry compat.Registry
	registry.Register(compat.Component{Entry: compat.Entry{Name: "Camera", WireID: 1, Hash: 7}})
	h := servertest.New()
	h.OpenWithOperator(t, servertest.VersionedSettings(t), operator.Options{})
	h.Seal(registry.Sealed())
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, listener)
	for _, g := range []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b} {
		p := h.Dial(t, g)
		p.Send(servertest.Handshake(g))
		for _, said := range p.ReadToEnd() {
			if _, answered := said.(*netproto.HandshakeAnswer); answered {
				t.Errorf("%v is answered before Seal: %+v", g, said)
			}
		}
	}
	if err := registry.Seal(0); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64"), compat.Accept, compat.RuleAccept)
}
