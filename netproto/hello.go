package netproto

import (
	"encoding/binary"
	"fmt"

	"collet/netproto/compat"
)

// Capabilities of C1, as bits. Both sides name what they have; the answer names what both have. Unknown bits are ignored.
const (
	// CapPipeline is the ability to have several requests in flight.
	CapPipeline uint32 = 1
)

// Tags of C1's hello and answer. The numbers 1 to 26 are reserved for the merged design of the verdict.
const (
	// TagRetryAfter is a u32 in the answer: seconds after which asking again makes sense.
	TagRetryAfter uint16 = 13
)

// Handshake is the client's hello, the first message of a connection. It is never enciphered.
type Handshake struct {
	Version       uint32 // updater version; Generation.Version is what a client sends
	Capabilities  uint32 // C1: bits
	Compatibility string // gameplay compatibility version of the module the client has
	Target        string // a Target, as far as the server knows it
	Key           uint32 // engine: enciphers everything that the client sends from here on; never 0, see NewKey
	Tags          Tags   // C1
}

// HandshakeAnswer is the server's answer to a hello. It is never enciphered. An engine generation carries the two
// booleans and the key, C1 everything else.
type HandshakeAnswer struct {
	CompatibilityOutdated bool   // engine
	UpdaterOutdated       bool   // engine
	Key                   uint32 // engine: enciphers everything that the server sends from here on; 0 is no cipher

	Version       uint32         // C1: what the server speaks
	Capabilities  uint32         // C1: bits that both sides have
	Verdict       compat.Verdict // C1
	Rule          compat.Rule    // C1: the deciding rule
	MaxPortion    uint32         // C1: bytes, the most that one RangeData carries
	MaxInFlight   uint16         // C1: requests that may be unanswered at a time
	Compatibility string         // C1: the server's gameplay compatibility version
	Tags          Tags           // C1
}

// ID is the number of the message.
func (*Handshake) ID() MessageID { return IDHandshake }

// ID is the number of the message.
func (*HandshakeAnswer) ID() MessageID { return IDHandshakeAnswer }

func (m *Handshake) code(c *coder) {
	if !c.gen.Engine() {
		c.version(&m.Version)
		c.u32("capabilities", &m.Capabilities)
		c.text("compatibility", &m.Compatibility)
		c.text("target", &m.Target)
		c.tail("tail", &m.Tags)
		return
	}
	c.text("compatibility", &m.Compatibility)
	c.u32("updater version", &m.Version)
	c.text("target", &m.Target)
	c.u32("key", &m.Key)
	c.require("key", m.Key != 0, errZeroKey)
}

func (m *HandshakeAnswer) code(c *coder) {
	if !c.gen.Engine() {
		c.version(&m.Version)
		c.u32("capabilities", &m.Capabilities)
		c.u8("verdict", (*uint8)(&m.Verdict))
		c.u8("rule", (*uint8)(&m.Rule))
		c.u32("max portion", &m.MaxPortion)
		c.u16("max in flight", &m.MaxInFlight)
		c.text("compatibility", &m.Compatibility)
		c.tail("tail", &m.Tags)
		return
	}
	c.boolean("compatibility outdated", &m.CompatibilityOutdated)
	c.boolean("updater outdated", &m.UpdaterOutdated)
	c.u32("key", &m.Key)
}

// NewAnswer is the answer that tells j in every generation. The server adds Key, or MaxPortion, MaxInFlight and
// Capabilities.
//
// An engine server computes its two booleans apart. A judgement has one verdict, so that with an outdated updater the
// compatibility counts as current, as recorded; no client looks at it then (fonline reference, section 2.7).
func NewAnswer(j compat.Judgement) *HandshakeAnswer {
	m := &HandshakeAnswer{
		CompatibilityOutdated: j.CompatibilityOutdated() && !j.UpdaterOutdated(),
		UpdaterOutdated:       j.UpdaterOutdated(),
		Version:               VersionC1,
		Verdict:               j.Verdict,
		Rule:                  j.Rule,
		Compatibility:         j.Compatibility,
	}
	if j.RetryAfter != 0 {
		m.Tags = m.Tags.With(TagRetryAfter, binary.LittleEndian.AppendUint32(nil, j.RetryAfter))
	}
	return m
}

// Judgement is what the answer says in generation g. An engine's two booleans become verdicts without a rule; a C1
// server of another minor version is an UpdaterMismatch whatever else it says.
func (m *HandshakeAnswer) Judgement(g Generation) compat.Judgement {
	switch {
	case g.Engine() && m.UpdaterOutdated:
		return compat.Judgement{Verdict: compat.UpdaterMismatch}
	case g.Engine() && m.CompatibilityOutdated:
		return compat.Judgement{Verdict: compat.UpdateBinaries}
	case g.Engine():
		return compat.Judgement{Verdict: compat.Accept}
	}
	j := compat.Judgement{Verdict: m.Verdict, Rule: m.Rule, Compatibility: m.Compatibility}
	if m.Version != VersionC1 {
		j.Verdict, j.Rule = compat.UpdaterMismatch, compat.RuleUpdater
	}
	if v, found := m.Tags.Get(TagRetryAfter); found && len(v) == 4 {
		j.RetryAfter = binary.LittleEndian.Uint32(v)
	}
	return j
}

// AllowsTransfer reports whether files may be listed and fetched after verdict v.
func AllowsTransfer(v compat.Verdict) bool {
	return v == compat.Accept || v == compat.UpdateResources || v == compat.UpdateBinaries
}

// detect finds the generation whose hello fills body exactly, and the hello. The layout decides and not the version
// number in it, so that a server can still tell a client of another version that its updater is outdated.
func detect(body []byte, at int64, lim Limits) (Generation, *Handshake, error) {
	if len(body) >= 4 && binary.LittleEndian.Uint32(body)>>16 == familyC1 {
		hello, err := tryHello(C1, body, at, lim)
		return C1, hello, err
	}
	var last error
	for _, g := range engineGenerations() {
		hello, err := tryHello(g, body, at, lim)
		if err == nil {
			return g, hello, nil
		}
		last = fmt.Errorf("fits no generation; as %v: %w", g, err)
	}
	return 0, nil, &FormatError{Message: IDHandshake, Field: "layout", Offset: at, Err: last}
}

func tryHello(g Generation, body []byte, at int64, lim Limits) (*Handshake, error) {
	hello := new(Handshake)
	c := &coder{mode: reading, gen: g, lim: lim, id: IDHandshake, buf: body, at: at, ks: new(keystream)}
	return hello, c.run(hello)
}
