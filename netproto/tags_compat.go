package netproto

import (
	"fmt"

	"collet/netproto/compat"
	"collet/netproto/product"
)

// Tags of C1's hello that describe the client's build (compat reference, section 3.2). One that is left out stands for the zero
// value of its field, and the logic version for compat.NoLogic.
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

// Tags of C1's answer that explain its verdict. 1, 2 and 26 of the reference are fields of the answer, and 7, 16 and 17 are not in it.
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
	TagRetryAfter       uint16 = 13 // u32, seconds after which asking again makes sense
	TagAge              uint16 = 14 // u8, compat.Age
	TagManifest         uint16 = 15 // bool: a ComponentManifest follows the answer
	TagFetch            uint16 = 16 // bool: files may be fetched under maintenance
	TagServed           uint16 = 17 // bytes, identity of the packs that are served
	TagServerLogic      uint16 = 20 // i32
	TagServerComponents uint16 = 21 // u64
	TagServerTime       uint16 = 22 // i64
	TagServerSeq        uint16 = 23 // u64
	TagServerID         uint16 = 24 // bytes
	TagServerBranch     uint16 = 25 // bytes

	// lastCompatTag ends the numbers that are reserved for the verdict.
	lastCompatTag uint16 = 26
)

// What a peer may say of itself, in bytes (compat reference, section 3.2). compat.MaxBuildID and compat.MaxBranch are the others.
const (
	MaxContent = 64       // the identity of a set of packs: a digest in hex
	MaxAccount = 64       // an account's id
	maxHost    = 253      // a name of the domain name system
	maxURL     = 2048     // what browsers take
	maxKey     = 32       // the key of a popup
	maxMessage = maxHello // an operator's text for a popup: a page, as everything else that people read
)

// HelloTags are what a client says of its build, beyond its compatibility version and target, which every generation carries.
// A server believes none of it where it would matter.
type HelloTags struct {
	Build   compat.Build // without Compatibility, which is the hello's own field; Logic is compat.NoLogic where there is none
	Patch   uint32
	Count   uint16       // components that Build.Components is over
	Content string       // identity of the packs that the client has; at most MaxContent bytes, empty is none
	Account string       // whose floor is asked for; at most MaxAccount bytes, empty for an updater that knows no account
	Flags   compat.Flags // FlagManifest is set and cleared by Dial
}

// AnswerTags are what a server says with its verdict.
type AnswerTags struct {
	Reasons    compat.Reasons
	Warnings   compat.Warnings
	Versioned  bool // the server has ranges; without it Supported and Active mean nothing
	Supported  compat.Range
	Active     compat.Range
	Floor      int32            // logic version that the account must have; 0 asks for none
	MinPatch   uint32           // 0 asks for none
	Redirect   *compat.Endpoint // nil leads nowhere
	StoreURL   string           // where people of the client's target get another version; empty is unknown
	MessageKey string           // which popup MessageText is for
	Message    string           // the operator's words in place of the client's own; empty where there are none
	Revision   uint64           // of the settings that judged; 0 is unknown
	RetryAfter uint32           // seconds; 0 is unknown
	Age        compat.Age
	Manifest   bool         // a ComponentManifest follows the answer at once, and one is awaited
	Fetch      bool         // with compat.Maintenance: files may be listed and fetched, though nobody plays
	Content    string       // identity of the packs that are served here, for who may fetch them; at most MaxContent bytes, empty is unknown
	Server     compat.Build // what the server tells of its own; without Compatibility, which is the answer's own field
}

// Said is what the hello's tags say. Those of a hello that arrived were checked; what is broken in others counts as not said.
func (m *Handshake) Said() HelloTags {
	t := HelloTags{}
	_ = t.code(&tagCoder{mode: reading, tags: m.Tags}) // checked when the hello was read
	return t
}

// Say puts t into the hello, in place of what it said before. A text above its cap is an error, and m stays as it was.
func (m *Handshake) Say(t HelloTags) error { return replaceTags(&m.Tags, t.code) }

// Told is what the answer's tags say. Those of an answer that arrived were checked; what is broken in others counts as not
// said.
func (m *HandshakeAnswer) Told() AnswerTags {
	t := AnswerTags{}
	_ = t.code(&tagCoder{mode: reading, tags: m.Tags}) // checked when the answer was read
	return t
}

// Tell puts t into the answer, in place of what it said of the verdict before; other tags stay. A text above its cap, and an
// endpoint that is none, is an error, and m stays as it was.
func (m *HandshakeAnswer) Tell(t AnswerTags) error { return replaceTags(&m.Tags, t.code) }

// replaceTags writes what code has in place of the tags that are reserved for the verdict.
func replaceTags(tags *Tags, code func(*tagCoder) error) error {
	t := &tagCoder{mode: writing}
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

// Hello is what compat.Evaluate judges of a hello of generation g. The caller adds what only a server knows: Floor, Developer
// and Now.
func (m *Handshake) Hello(g Generation) compat.Hello {
	h := compat.Hello{Target: m.Target, Store: !product.Target(m.Target).CanSelfUpdate(), Build: compat.Build{Logic: compat.NoLogic}}
	if !g.Engine() {
		said := m.Said()
		h.Build, h.Patch, h.Content, h.Flags, h.Tagged = said.Build, said.Patch, said.Content, said.Flags, said.any()
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

// any reports whether t says anything.
func (t HelloTags) any() bool {
	t.Build.Compatibility = ""
	return t != HelloTags{Build: compat.Build{Logic: compat.NoLogic}}
}

// check is the error for what can't be said.
func (t HelloTags) check() error {
	if err := t.code(&tagCoder{mode: writing}); err != nil {
		return fmt.Errorf("what the client says of itself: %w", err)
	}
	return nil
}

// Exchanges reports whether server and client show one another their components after j: they differ, the client can show a
// manifest, and the server is a developer's or was told to show something. What the client says of itself never unlocks
// anything.
func Exchanges(s *compat.Snapshot, h *compat.Hello, j compat.Judgement) bool {
	differ := j.Verdict == compat.ComponentsMismatch || j.Plays() && j.Warnings&compat.WarnComponents != 0
	shows := s.Development || s.Manifest != compat.ManifestNone && s.Manifest != ""
	return s.Versioned && differ && shows && h.Flags&compat.FlagManifest != 0
}

// TagsFor are what a server says of the judgement of h by s. A client of another updater generation is told nothing beyond the
// verdict. What build the server is, beyond its logic version, is told to those who need it: a developer, and a client that is
// to fetch a module, which has to notice when that did not help.
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

// judged is what a judgement alone has to say.
func judged(j compat.Judgement) AnswerTags {
	t := AnswerTags{RetryAfter: j.RetryAfter, Server: compat.Build{Logic: compat.NoLogic}}
	if !j.UpdaterOutdated() {
		t.Reasons, t.Warnings, t.Age, t.Revision = j.Reasons, j.Warnings, j.Age, j.Revision
		t.MinPatch, t.Floor, t.Redirect = j.MinPatch, j.Floor, j.Endpoint
	}
	return t
}
