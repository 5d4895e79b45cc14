package servertest

import (
	"collet/netproto"
	"collet/netproto/compat"
)

// Handshake is a correct handshake of a generation, for a server of [Settings].
func Handshake(g netproto.Generation) *netproto.Handshake {
	m := &netproto.Handshake{Version: g.Version(), Compatibility: Compatibility, Target: "Linux-x64"}
	if g.Engine() {
		m.Key = netproto.NewKey()
	} else {
		m.Capabilities = netproto.CapPipeline
	}
	return m
}

// VersionHandshake is the C1 handshake of a client of a logic version; more changes its tags.
func VersionHandshake(logic int32, target string, more ...func(*netproto.HelloTags)) *netproto.Handshake {
	said := netproto.HelloTags{Build: compat.Build{Logic: logic}}
	for _, add := range more {
		add(&said)
	}
	m := &netproto.Handshake{Version: netproto.C1.Version(), Compatibility: compat.Derived(logic, said.Build.Components), Target: target, Capabilities: netproto.CapPipeline}
	if err := m.Say(said); err != nil {
		panic(err)
	}
	return m
}

// WithAccount adds the account of a player to a [VersionHandshake].
func WithAccount(name string) func(*netproto.HelloTags) {
	return func(t *netproto.HelloTags) { t.Account = name }
}

// HandshakeOf is the handshake of a client of another compatibility version and target.
func HandshakeOf(g netproto.Generation, compat, target string) *netproto.Handshake {
	m := Handshake(g)
	m.Compatibility, m.Target = compat, target
	return m
}
