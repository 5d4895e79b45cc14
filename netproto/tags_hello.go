package netproto

import (
	"fmt"

	"collet/netproto/compat"
	"collet/netproto/product"
)

// Tags of C1's hello that describe the client's build (docs/COMPATIBILITY.md). An absent tag means the zero
// value of its field, and for the logic version compat.NoLogic.
const (
	TagLogic      uint16 = 1  // i32
	TagPatch      uint16 = 2  // u32
	TagComponents uint16 = 3  // u64, the hash over all components
	TagCount      uint16 = 4  // u16
	TagBuildTime  uint16 = 5  // i64, seconds since 1970
	TagBuildSeq   uint16 = 6  // u64
	TagBuildID    uint16 = 7  // bytes
	TagBranch     uint16 = 8  // bytes
	TagContent    uint16 = 9  // bytes
	TagAccount    uint16 = 10 // bytes
	TagFlags      uint16 = 11 // u32, compat.Flags
)

// Tags of C1's answer that explain its verdict (docs/PROTOCOL.md, "What a verdict is made of"). The numbers 1, 2 and 26
// belong to its fields.
const (
	TagReasons          uint16 = 3  // u32, compat.Reasons
	TagWarnings         uint16 = 4  // u32, compat.Warnings
	TagSupported        uint16 = 5  // i32, i32
	TagActive           uint16 = 6  // i32, i32
	TagFloor            uint16 = 7  // i32
	TagMinPatch         uint16 = 8  // u32
	TagRedirect         uint16 = 9  // string, u16, bool, string
	TagStoreURL         uint16 = 10 // bytes
	TagMessage          uint16 = 11 // string, string
	TagRevision         uint16 = 12 // u64
	TagRetryAfter       uint16 = 13 // u32, seconds after which to retry
	TagAge              uint16 = 14 // u8, compat.Age
	TagManifest         uint16 = 15 // bool: a ComponentManifest follows the answer
	TagFetch            uint16 = 16 // bool: files may be fetched under maintenance
	TagServed           uint16 = 17 // bytes, identity of the served packs
	TagServerLogic      uint16 = 20 // i32
	TagServerComponents uint16 = 21 // u64
	TagServerTime       uint16 = 22 // i64
	TagServerSeq        uint16 = 23 // u64
	TagServerID         uint16 = 24 // bytes
	TagServerBranch     uint16 = 25 // bytes

	// lastCompatTag is the last number reserved for the verdict.
	lastCompatTag uint16 = 26
)

// Tags of C1's answer beyond those of the verdict, which have the numbers 1 to 26 in hello and answer.
const (
	// TagTimestamp is metadata/timestamp.json of the server's release folder, in the answer to a client that may request
	// it. It saves an up-to-date client a round trip.
	TagTimestamp uint16 = 27
	// TagRoot is a u64 beside it: the number of the newest root.json of the server.
	TagRoot uint16 = 28
)

// Caps on a peer's description, in bytes (docs/COMPATIBILITY.md). compat.MaxBuildID and compat.MaxBranch are the others.
const (
	MaxContent = 64       // the identity of a set of packs: a digest in hex
	MaxAccount = 64       // an account's id
	maxHost    = 253      // a name of the domain name system
	maxURL     = 2048     // limit of browsers
	maxKey     = 32       // the key of a popup
	maxMessage = maxHello // an operator's text for a popup
)

// HelloTags describe a client's build, beside its compatibility version and target, which every generation has. A server
// never relies on them for security.
type HelloTags struct {
	Build   compat.Build // without Compatibility, which is the hello's own field; Logic is compat.NoLogic if absent
	Patch   uint32
	Count   uint16       // number of components in the hash Build.Components
	Content string       // identity of the client's packs; at most MaxContent bytes, empty is none
	Account string       // the account whose floor applies; at most MaxAccount bytes, empty for an updater without an account
	Flags   compat.Flags // FlagManifest is set and cleared by Dial
}

// AnswerTags explain a server's verdict.
type AnswerTags struct {
	Reasons    compat.Reasons
	Warnings   compat.Warnings
	Versioned  bool // the server has ranges; otherwise Supported and Active are undefined
	Supported  compat.Range
	Active     compat.Range
	Floor      int32            // logic version required of the account; 0 is none
	MinPatch   uint32           // 0 is none
	Redirect   *compat.Endpoint // nil means no target
	StoreURL   string           // where users of the client's target get another version; empty is unknown
	MessageKey string           // the popup for Message
	Message    string           // the operator's text instead of the client's own; empty for the client's own
	Revision   uint64           // of the settings behind the verdict; 0 is unknown
	RetryAfter uint32           // seconds; 0 is unknown
	Age        compat.Age
	Manifest   bool         // a ComponentManifest follows the answer directly, and the client's is expected
	Fetch      bool         // with compat.Maintenance: files may be listed and fetched, although the game is closed
	Content    string       // identity of the served packs, for clients that may fetch them; at most MaxContent bytes, empty is unknown
	Server     compat.Build // the server's build; without Compatibility, which is the answer's own field
}

// Said decodes the hello's tags. Received tags were checked; in others a malformed tag counts as absent.
func (m *Handshake) Said() HelloTags {
	t := HelloTags{}
	_ = t.code(&tagCoder{reading: true, tags: m.Tags}) // checked when the hello was read
	return t
}

// Say sets the hello's tags to t. A text above its cap is an error, and m is unchanged.
func (m *Handshake) Say(t HelloTags) error { return replaceTags(&m.Tags, t.code) }

// Told decodes the answer's tags. Received tags were checked; in others a malformed tag counts as absent.
func (m *HandshakeAnswer) Told() AnswerTags {
	t := AnswerTags{}
	_ = t.code(&tagCoder{reading: true, tags: m.Tags}) // checked when the answer was read
	return t
}

// Tell sets the answer's tags of the verdict to t; other tags stay. A text above its cap, or an invalid endpoint, is an
// error, and m is unchanged.
func (m *HandshakeAnswer) Tell(t AnswerTags) error { return replaceTags(&m.Tags, t.code) }

// replaceTags replaces the tags reserved for the verdict by those of code.
func replaceTags(tags *Tags, code func(*tagCoder) error) error {
	t := &tagCoder{}
	if err := code(t); err != nil {
		return err
	}
	for number, value := range tags.All() {
		if number > lastCompatTag {
			t.tags = t.tags.add(number, value)
		}
	}
	*tags = t.tags
	return nil
}

// Hello returns the input of compat.Evaluate for a hello of generation g. The caller adds the server's knowledge: Floor,
// Developer and Now.
func (m *Handshake) Hello(g Generation) compat.Hello {
	h := compat.Hello{Target: m.Target, Store: !product.Target(m.Target).CanSelfUpdate(), Build: compat.Build{Logic: compat.NoLogic}}
	if !g.Engine() {
		said := m.Said()
		h.Build, h.Patch, h.Content, h.Flags, h.Tagged = said.Build, said.Patch, said.Content, said.Flags, !said.Empty()
	}
	h.Build.Compatibility = m.Compatibility
	switch ours := g.Version(); {
	case m.Version < ours:
		h.Updater = compat.UpdaterOlder
	case m.Version > ours:
		h.Updater = compat.UpdaterNewer
	}
	return h
}

// Empty reports whether t has no value.
func (t HelloTags) Empty() bool {
	t.Build.Compatibility = ""
	return t == HelloTags{Build: compat.Build{Logic: compat.NoLogic}}
}

// Check returns an error for values that can't be encoded.
func (t HelloTags) Check() error {
	if err := t.code(&tagCoder{}); err != nil {
		return fmt.Errorf("what the client says of itself: %w", err)
	}
	return nil
}

// Exchanges reports whether server and client exchange their manifests after j: components differ, the client can send a
// manifest, and the server is a developer's or configured to show something. The client's own claims never enable it.
func Exchanges(s *compat.Snapshot, h *compat.Hello, j compat.Judgement) bool {
	differ := j.Verdict == compat.ComponentsMismatch || j.Plays() && j.Warnings&compat.WarnComponents != 0
	shows := s.Development || s.Manifest != compat.ManifestNone && s.Manifest != ""
	return s.Versioned && differ && shows && h.Flags&compat.FlagManifest != 0
}

// TagsFor returns the server's explanation of the judgement of h by s. A client of another updater generation gets only
// the verdict. The server's build, beyond its logic version, is only for clients that need it: those of developers, and
// clients that have to fetch a module, to detect a fetch without effect.
func TagsFor(s *compat.Snapshot, h *compat.Hello, j compat.Judgement) AnswerTags {
	t := judged(j)
	if j.UpdaterOutdated() {
		return t
	}
	t.Versioned, t.Supported, t.Active = s.Versioned, s.Supported, s.Active
	t.Manifest, t.Fetch = Exchanges(s, h, j), s.AllowFetch && j.Verdict == compat.Maintenance
	if j.Plays() || j.Verdict == compat.UpdateBinaries || t.Fetch {
		t.Content = s.ContentFor(h.Target)
	}
	if j.Verdict == compat.UpdateViaStore || j.Pinned() {
		t.StoreURL = s.StoreURL(h.Target)
	}
	t.MessageKey, t.Message = s.Message(j, h.Updater)
	if s.Versioned {
		t.Server.Logic = s.Build.Logic
	}
	if s.Development || t.Manifest || j.Verdict == compat.UpdateBinaries || j.Verdict == compat.ComponentsMismatch {
		t.Server = s.Build
		t.Server.Components = s.Components
	}
	t.Server.Compatibility = ""
	return t
}

// judged is the part of the tags that follows from the judgement alone.
func judged(j compat.Judgement) AnswerTags {
	t := AnswerTags{RetryAfter: j.RetryAfter, Server: compat.Build{Logic: compat.NoLogic}}
	if !j.UpdaterOutdated() {
		t.Reasons, t.Warnings, t.Age, t.Revision = j.Reasons, j.Warnings, j.Age, j.Revision
		t.MinPatch, t.Floor, t.Redirect = j.MinPatch, j.Floor, j.Endpoint
	}
	return t
}
