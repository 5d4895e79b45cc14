package netproto

import "collet/netproto/compat"

// Capabilities of C1, as bits. Each side names its own; the answer names the common ones. Unknown bits are ignored.
const (
	// CapPipeline is the ability to have several requests in flight.
	CapPipeline uint32 = 1
	// CapSpread was the ability to fetch files over several connections when the server sends Spread. Earlier versions use
	// it; this one neither advertises nor grants it.
	CapSpread uint32 = 2
	// CapObjects is the ability to request files of a release folder by name, and to serve them.
	CapObjects uint32 = 4
	// CapUnlisted means in a hello that the client needs no FileList if the server has objects, and in an answer that none follows.
	CapUnlisted uint32 = 8
	// CapTags means in an offer that the client has tags, which an offer has no room for: a server that accepts the
	// offer requests a hello of C1 before its verdict. It has no meaning in a hello of C1.
	CapTags uint32 = 16
)

// Handshake is the client's hello, the first message of a connection. It is never enciphered. New fields of C1 are tags
// (tags_hello.go); the fixed fields of hello and answer never change.
type Handshake struct {
	Version       uint32 // updater version; Generation.Version is what a client sends
	Capabilities  uint32 // C1: bits
	Compatibility string // gameplay compatibility version of the module the client has
	Metadata      string // G2b: metadata version of the client's packs; empty if unknown
	Target        string // a product.Target, or any other text
	Key           uint32 // engine: enciphers everything the client sends afterwards; never 0, see NewKey
	Tags          Tags   // C1

	Offer Generation // C1, for reading: the engine generation in whose layout C1 was offered, 0 for a real C1 hello
}

// HandshakeAnswer is the server's answer to a hello. It is never enciphered. An engine generation carries the booleans,
// the metadata version and the key, C1 everything else.
type HandshakeAnswer struct {
	CompatibilityOutdated bool   // engine
	UpdaterOutdated       bool   // engine
	MetadataOutdated      bool   // G2b: the client named a metadata version, and it is another one
	Metadata              string // G2b: the server's metadata version
	Key                   uint32 // engine: enciphers everything the server sends afterwards; 0 means no cipher

	Version       uint32         // C1: the server's version
	Capabilities  uint32         // C1: bits of both sides
	Verdict       compat.Verdict // C1
	Rule          compat.Rule    // C1: the deciding rule
	MaxPortion    uint32         // C1: largest number of bytes in one RangeData
	MaxInFlight   uint16         // C1: requests that may be outstanding at a time
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
		c.U32("capabilities", &m.Capabilities)
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
	c.U32("updater version", &m.Version)
	c.text("target", &m.Target)
	c.U32("key", &m.Key)
	inside := c.Reading() && c.Left() > 0 // not the intended layout: finish reports it
	c.Require("key", m.Key != 0 || inside, errZeroKey)
}

func (m *HandshakeAnswer) code(c *coder) {
	if !c.gen.Engine() {
		c.version(&m.Version)
		c.U32("capabilities", &m.Capabilities)
		c.U8("verdict", (*uint8)(&m.Verdict))
		c.U8("rule", (*uint8)(&m.Rule))
		c.U32("max portion", &m.MaxPortion)
		c.U16("max in flight", &m.MaxInFlight)
		c.text("compatibility", &m.Compatibility)
		c.tail("tail", &m.Tags)
		c.checkTags(m.Version, m.Tags, new(AnswerTags).code)
		return
	}
	c.Bool("compatibility outdated", &m.CompatibilityOutdated)
	c.Bool("updater outdated", &m.UpdaterOutdated)
	if c.gen.Metadata() {
		c.Bool("metadata outdated", &m.MetadataOutdated)
		c.text("metadata", &m.Metadata)
	}
	c.U32("key", &m.Key)
}

// NewAnswer returns the answer for j in every generation. The server adds Key and calls Compare; or it adds MaxPortion,
// MaxInFlight and Capabilities, and calls Tell with TagsFor, which has more than the judgement.
func NewAnswer(j compat.Judgement) *HandshakeAnswer {
	m := &HandshakeAnswer{
		CompatibilityOutdated: j.CompatibilityOutdated() && !j.UpdaterOutdated(),
		UpdaterOutdated:       j.UpdaterOutdated(),
		Version:               VersionC1,
		Verdict:               j.Verdict,
		Rule:                  j.Rule,
		Compatibility:         j.Compatibility,
	}
	_ = m.Tell(judged(j)) // an invalid endpoint is omitted; readers handle its absence
	return m
}

// Compare adds to an engine's answer the fields beside the verdict: an engine always compares versions, independent of
// other faults (docs/PROTOCOL.md). compatibility and metadata are the server's.
func (m *HandshakeAnswer) Compare(hello *Handshake, compatibility, metadata string) {
	m.CompatibilityOutdated = m.CompatibilityOutdated || hello.Compatibility != compatibility
	m.Metadata = metadata
	m.MetadataOutdated = hello.Metadata != "" && hello.Metadata != metadata
}

// Judgement is the answer's verdict in generation g. An engine's booleans become verdicts without a rule, in the order
// in which its clients check them. A C1 server of another minor version is always an UpdaterMismatch. A Redirect whose
// Endpoint is nil has no target.
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

// Transfers reports whether files may be listed and fetched after this answer: AllowsTransfer is true, or it is a C1
// answer that allows prefetching under maintenance.
func (m *HandshakeAnswer) Transfers(g Generation) bool {
	j := m.Judgement(g)
	return AllowsTransfer(j.Verdict) || !g.Engine() && j.Verdict == compat.Maintenance && m.Told().Fetch
}

// AllowsTransfer reports whether files may be listed and fetched after verdict v, without regard to the rest of the answer.
func AllowsTransfer(v compat.Verdict) bool {
	return v == compat.Accept || v == compat.UpdateResources || v == compat.UpdateBinaries
}
