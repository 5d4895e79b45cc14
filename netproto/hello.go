package netproto

import "collet/netproto/compat"

// Capabilities of C1, as bits. Both sides name what they have; the answer names what both have. Unknown bits are ignored.
const (
	// CapPipeline is the ability to have several requests in flight.
	CapPipeline uint32 = 1
	// CapSpread is the ability to take files over several connections where the server asks for it.
	CapSpread uint32 = 2
	// CapObjects is the ability to ask for files of a release folder by name, and to answer.
	CapObjects uint32 = 4
	// CapUnlisted says of a client that it needs no FileList where there are objects, and of an answer that none follows.
	CapUnlisted uint32 = 8
	// CapTags says of an offer that the client has tags, which an offer has no room for: a server that takes the offer asks for
	// a hello of C1 before it judges. In a hello of C1 it means nothing.
	CapTags uint32 = 16
)

// Tags of C1's answer beyond those of the verdict, which have the numbers 1 to 26 in hello and answer.
const (
	// TagTimestamp is metadata/timestamp.json of the server's release folder, in the answer to a client that may ask for it:
	// whoever is up to date learns so without another round trip.
	TagTimestamp uint16 = 27
	// TagRoot is a u64 beside it: the number of the newest root.json that the server hands out.
	TagRoot uint16 = 28
)

// Handshake is the client's hello, the first message of a connection. It is never enciphered.
type Handshake struct {
	Version       uint32 // updater version; Generation.Version is what a client sends
	Capabilities  uint32 // C1: bits
	Compatibility string // gameplay compatibility version of the module the client has
	Metadata      string // G2b: metadata version of the packs the client has; empty if it does not know
	Target        string // a product.Target, as far as the server knows it
	Key           uint32 // engine: enciphers everything that the client sends from here on; never 0, see NewKey
	Tags          Tags   // C1

	Offer Generation // C1, for reading: the engine generation in whose layout C1 was offered, 0 for a hello of its own
}

// HandshakeAnswer is the server's answer to a hello. It is never enciphered. An engine generation carries the booleans,
// the metadata version and the key, C1 everything else.
type HandshakeAnswer struct {
	CompatibilityOutdated bool   // engine
	UpdaterOutdated       bool   // engine
	MetadataOutdated      bool   // G2b: the client named a metadata version, and it is another one
	Metadata              string // G2b: the server's metadata version
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
		c.checkTags(m.Version, m.Tags, new(HelloTags).code)
		return
	}
	c.text("compatibility", &m.Compatibility)
	if c.gen.Metadata() {
		c.text("metadata", &m.Metadata)
	}
	c.u32("updater version", &m.Version)
	c.text("target", &m.Target)
	c.u32("key", &m.Key)
	inside := c.mode == reading && c.left() > 0 // not the layout that the peer meant: finish says so
	c.require("key", m.Key != 0 || inside, errZeroKey)
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
		c.checkTags(m.Version, m.Tags, new(AnswerTags).code)
		return
	}
	c.boolean("compatibility outdated", &m.CompatibilityOutdated)
	c.boolean("updater outdated", &m.UpdaterOutdated)
	if c.gen.Metadata() {
		c.boolean("metadata outdated", &m.MetadataOutdated)
		c.text("metadata", &m.Metadata)
	}
	c.u32("key", &m.Key)
}

// NewAnswer is the answer that tells j in every generation. The server adds Key and calls Compare; or it adds MaxPortion,
// MaxInFlight and Capabilities, and calls Tell with TagsFor, which knows more than the judgement.
func NewAnswer(j compat.Judgement) *HandshakeAnswer {
	m := &HandshakeAnswer{
		CompatibilityOutdated: j.CompatibilityOutdated() && !j.UpdaterOutdated(),
		UpdaterOutdated:       j.UpdaterOutdated(),
		Version:               VersionC1,
		Verdict:               j.Verdict,
		Rule:                  j.Rule,
		Compatibility:         j.Compatibility,
	}
	_ = m.Tell(judged(j)) // an endpoint that is none is left out, and its reader knows what to make of that
	return m
}

// Compare adds to an engine's answer what such a server computes apart from its verdict: an engine compares versions,
// whatever else there is to complain of (fonline reference, section 2.7). compatibility and metadata are the server's.
func (m *HandshakeAnswer) Compare(hello *Handshake, compatibility, metadata string) {
	m.CompatibilityOutdated = m.CompatibilityOutdated || hello.Compatibility != compatibility
	m.Metadata = metadata
	m.MetadataOutdated = hello.Metadata != "" && hello.Metadata != metadata
}

// Judgement is what the answer says in generation g. An engine's booleans become verdicts without a rule, in the order
// in which its clients look at them; a C1 server of another minor version is an UpdaterMismatch whatever else it says. A
// Redirect whose Endpoint is nil leads nowhere.
func (m *HandshakeAnswer) Judgement(g Generation) compat.Judgement {
	switch {
	case g.Engine() && m.UpdaterOutdated:
		return compat.Judgement{Verdict: compat.UpdaterMismatch}
	case g.Engine() && m.CompatibilityOutdated:
		return compat.Judgement{Verdict: compat.UpdateBinaries}
	case g.Metadata() && m.MetadataOutdated:
		return compat.Judgement{Verdict: compat.UpdateResources}
	case g.Engine():
		return compat.Judgement{Verdict: compat.Accept}
	}
	if m.Version != VersionC1 {
		return compat.Judgement{Verdict: compat.UpdaterMismatch, Rule: compat.RuleUpdater, Compatibility: m.Compatibility}
	}
	t := m.Told()
	return compat.Judgement{
		Verdict: m.Verdict, Rule: m.Rule, Compatibility: m.Compatibility, Reasons: t.Reasons, Warnings: t.Warnings, Age: t.Age,
		Revision: t.Revision, RetryAfter: t.RetryAfter, MinPatch: t.MinPatch, Floor: t.Floor, Endpoint: t.Redirect,
	}
}

// Transfers reports whether files may be listed and fetched behind this answer: AllowsTransfer says so, or it is one of C1 that
// lets clients prefetch under maintenance.
func (m *HandshakeAnswer) Transfers(g Generation) bool {
	j := m.Judgement(g)
	return AllowsTransfer(j.Verdict) || !g.Engine() && j.Verdict == compat.Maintenance && m.Told().Fetch
}

// AllowsTransfer reports whether files may be listed and fetched after verdict v, whatever else the answer says.
func AllowsTransfer(v compat.Verdict) bool {
	return v == compat.Accept || v == compat.UpdateResources || v == compat.UpdateBinaries
}
