package server

import (
	"time"

	"collet/netproto"
	"collet/netproto/compat"
)

// meeting is a greeted client with what was made of it.
type meeting struct {
	standing *standing
	snapshot *compat.Snapshot // by which it was judged: that of standing
	hello    compat.Hello
	account  string
	verdict  compat.Judgement
}

// stands is what hellos are judged by that are greeted with a catalogue: what the operator decided, or what the configuration says.
// A change of either that comes meanwhile is for the next ones. What a catalogue declares is never mixed with what another one does,
// so that a client that comes while a catalogue is replaced is not judged by one and offered the files of the other.
func (s *Server) stands(c *Catalogue) (*standing, *compat.Snapshot) {
	o := s.operator.Load()
	if o == nil {
		return c.standing, c.standing.snapshot
	}
	st := o.standing.Load()
	if st.catalogue != c { // another one takes its place just now
		st = &standing{settings: st.settings, declared: c.declared, snapshot: c.declared.Snapshot(st.settings, time.Now()), catalogue: c}
	}
	return st, st.snapshot
}

// meet judges a hello.
func (c *session) meet(hello *netproto.Handshake) meeting {
	st, snapshot := c.server.stands(c.catalogue)
	m := meeting{standing: st, snapshot: snapshot, hello: hello.Hello(c.generation)}
	if !c.generation.Engine() {
		m.account = hello.Said().Account
	}
	o := c.server.operator.Load()
	if o == nil {
		m.verdict = compat.Evaluate(snapshot, &m.hello)
		return m
	}
	if err := o.know(snapshot, &m.hello, m.account); err != nil {
		c.log.Error().Err(err).Str("account", clip(m.account)).Msg("The floor of an account can't be read; it counts as having none")
	}
	m.verdict = compat.Evaluate(snapshot, &m.hello)
	if !c.server.set.Compat.FloorsByAPI && m.account != "" && pins(m.verdict, m.hello) {
		if err := o.raise(m.account, m.hello.Build.Logic); err != nil {
			c.log.Error().Err(err).Str("account", clip(m.account)).Msg("An account can't be pinned to the logic version that it plays with")
		}
	}
	group := st.clamp().group(m.hello)
	o.meter.judged(m.verdict, group)
	c.left = o.crowd.enter(&guest{hello: m.hello, account: m.account, plays: m.verdict.Plays(), leave: c.kick}, m.verdict.Verdict, group, time.Now())
	return m
}

// kick makes the session end because its client would not be let in again. It may be called at any time by anybody.
func (c *session) kick() { c.kicking.Do(func() { close(c.kicked) }) }

// offerTo is what a client is told that there is for it. One that is to fetch a module is told of that one; one that plays is told
// of a module only if that is the same or a newer one for its own logic version; any other sees the packs alone, so that it never
// fetches a module that can't help. A server without logic versions tells everybody of everything.
func (c *Catalogue) offerTo(m *meeting) *offer {
	target, j := m.hello.Target, m.verdict
	if m.standing == nil || !m.snapshot.Versioned {
		return c.offerFor(target)
	}
	if j.Verdict == compat.Maintenance {
		open, hello := *m.snapshot, m.hello
		open.Maintenance = false
		j = compat.Evaluate(&open, &hello)
	}
	var found *offer
	switch {
	case j.Verdict == compat.UpdateBinaries:
		found = c.declared.offerOf(target, j.Payload)
	case j.Plays() && !m.snapshot.Development:
		found = c.declared.successor(target, m.hello)
	}
	if found == nil {
		return c.bareFor(target)
	}
	return found
}

// successor is the newest module for a client's own logic version that is not older than the client's; nil for none.
func (d *declaration) successor(target string, h compat.Hello) *offer {
	logic := logicOf(h)
	for _, p := range d.payloads[target] {
		same := h.Build.Components == 0 || p.Components == 0 || h.Build.Components == p.Components
		if !p.Undeclared && p.Logic == logic && p.Patch >= h.Patch && same {
			return p.offer
		}
	}
	return nil
}
