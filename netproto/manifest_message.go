package netproto

import (
	"fmt"

	"collet/netproto/compat"
)

// ComponentManifest lists the components of a build for the peer, so that both ends know which of them differ (compat
// reference, section 3.6). A server sends it directly after an answer that announces it, and the client responds with
// its own. At any other place, or a second time, it is a fault.
type ComponentManifest struct {
	Manifest compat.Manifest
}

// ID is the number of the message.
func (*ComponentManifest) ID() MessageID { return IDComponentManifest }

// NewComponentManifest is the part of m that a mode allows to show. If the names do not fit into a message, it has their hashes.
func NewComponentManifest(m *compat.Manifest, mode compat.ManifestMode) (*ComponentManifest, error) {
	shown := &ComponentManifest{Manifest: m.As(mode)}
	if shown.Manifest.Mode == "" {
		shown.Manifest.Mode = compat.ManifestFull
	}
	_, err := frameSize(C1, shown)
	if err != nil && shown.Manifest.Mode == compat.ManifestFull && m.Check() == nil {
		shown.Manifest = m.As(compat.ManifestHashes)
		_, err = frameSize(C1, shown)
	}
	return shown, err
}

// The modes on the wire.
const (
	modeNone   uint8 = 0
	modeHashes uint8 = 1
	modeFull   uint8 = 2
)

// modeOf and numberOf convert between wire numbers and modes.
func modeOf(number uint8) (mode compat.ManifestMode, known bool) {
	switch number {
	case modeNone:
		return compat.ManifestNone, true
	case modeHashes:
		return compat.ManifestHashes, true
	case modeFull:
		return compat.ManifestFull, true
	default:
		return "", false
	}
}

func numberOf(mode compat.ManifestMode) uint8 {
	switch mode {
	case compat.ManifestHashes:
		return modeHashes
	case compat.ManifestFull, "":
		return modeFull
	default:
		return modeNone
	}
}

// minEntry is the size of an entry with an empty name, in bytes.
const minEntry = 4 + 2 + 8 + 8 + 4

func (m *ComponentManifest) code(c *coder) {
	number, b := numberOf(m.Manifest.Mode), &m.Manifest.Build
	c.u8("mode", &number)
	mode, known := modeOf(number)
	c.require("mode", known, fmt.Errorf("%d is unknown", number))
	m.Manifest.Mode = mode
	c.i32("logic version", &b.Logic)
	c.u64("set hash", &b.Components)
	c.i64("build time", &b.Time)
	c.u64("build number", &b.Seq)
	c.capped("build id", &b.ID, compat.MaxBuildID)
	c.capped("branch", &b.Branch, compat.MaxBranch)
	m.codeEntries(c)
	if c.mode != writing { // written messages were measured before; read ones are bounded by their frame
		c.require("entries", c.size <= compat.MaxManifest, tooLarge(uint64(c.size), compat.MaxManifest))
		c.checkManifest(m)
	}
}

// checkManifest rejects manifests that no correct peer sends.
func (c *coder) checkManifest(m *ComponentManifest) {
	if c.err != nil {
		return
	}
	if err := m.Manifest.Check(); err != nil {
		c.fail("entries", err)
	}
}

func (m *ComponentManifest) codeEntries(c *coder) {
	count := c.declared("count", 2, len(m.Manifest.Entries), compat.MaxEntries)
	c.require("count", c.mode != reading || count*minEntry <= c.left(), errShort)
	if c.err != nil {
		return
	}
	m.Manifest.Entries = resize(m.Manifest.Entries, count)
	for i := range m.Manifest.Entries {
		codeEntry(c, &m.Manifest.Entries[i], m.Manifest.Mode == compat.ManifestHashes)
	}
}

func codeEntry(c *coder, e *compat.Entry, hashed bool) {
	if hashed {
		c.u64("name hash", &e.NameHash)
	} else {
		c.capped("name", &e.Name, compat.MaxName)
	}
	c.u16("id", &e.WireID)
	c.u64("hash", &e.Hash)
	c.i64("changed at", &e.ChangedAt)
	c.i32("since", &e.Since)
}
