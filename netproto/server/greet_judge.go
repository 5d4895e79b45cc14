package server

import (
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/operator"
)

// handshake is a greeted client with its judgement.
type handshake struct {
	snapshot *compat.Snapshot // that judged it
	hello    compat.Hello
	account  string
	verdict  compat.Judgement
}

// snapshotFor is the snapshot for hellos that are greeted with a catalogue: the operator's settings, or the configuration. A
// change of either applies to later hellos.
func (s *Server) snapshotFor(c *catalogue.Catalogue) *compat.Snapshot {
	if o := s.operator.Load(); o != nil {
		return o.SnapshotFor(c.Declared())
	}
	return c.Snapshot()
}

// judgeHello judges a hello.
func (c *session) judgeHello(hello *netproto.Handshake) handshake {
	m := handshake{snapshot: c.server.snapshotFor(c.catalogue), hello: hello.Hello(c.generation)}
	if !c.generation.Engine() {
		m.account = hello.Said().Account
	}
	o := c.server.operator.Load()
	if o == nil {
		m.verdict = compat.Evaluate(m.snapshot, &m.hello)
		return m
	}
	if err := o.Complete(m.snapshot, &m.hello, m.account); err != nil {
		c.log.Error().Err(err).Str("account", clip(m.account)).Msg("The floor of an account can't be read; it counts as having none")
	}
	m.verdict = compat.Evaluate(m.snapshot, &m.hello)
	if !c.server.set.Compat.FloorsByAPI {
		if err := o.Pin(m.account, m.hello, m.verdict); err != nil {
			c.log.Error().Err(err).Str("account", clip(m.account)).Msg("An account can't be pinned to the logic version that it plays with")
		}
	}
	c.unregister = o.Connect(m.snapshot, operator.Session{Hello: m.hello, Account: m.account, Judgement: m.verdict, End: c.kick})
	return m
}

// kick ends the session because the settings no longer admit its client. It is safe for concurrent use.
func (c *session) kick() { c.kicking.Do(func() { close(c.kicked) }) }
