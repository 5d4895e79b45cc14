package netproto

import (
	"fmt"

	"collet/netproto/compat"
	"collet/netproto/wire"
)

// ComponentManifest lists the components of a build for the peer, so that both ends know which of them differ
// (docs/PROTOCOL.md, "What a verdict is made of"). A server sends it directly after an answer that announces it, and the client
// responds with its own. At any other place, or a second time, it is a fault.
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
	c.U8("mode", &number)
	mode, known := modeOf(number)
	c.Require("mode", known, fmt.Errorf("%d is unknown", number))
	m.Manifest.Mode = mode
	c.I32("logic version", &b.Logic)
	c.U64("set hash", &b.Components)
	c.I64("build time", &b.Time)
	c.U64("build number", &b.Seq)
	c.Text("build id", &b.ID, 4, compat.MaxBuildID)
	c.Text("branch", &b.Branch, 4, compat.MaxBranch)
	wire.List(c.Coder, "count", 2, &m.Manifest.Entries, compat.MaxEntries, minEntry, func(e *compat.Entry) {
		codeEntry(c, e, mode == compat.ManifestHashes)
	})
	c.Require("entries", c.Size() <= compat.MaxManifest, wire.TooLarge(uint64(c.Size()), compat.MaxManifest))
	if c.Err() == nil {
		err := m.Manifest.Check() // rejects what no correct peer sends
		c.Require("entries", err == nil, err)
	}
}

func codeEntry(c *coder, e *compat.Entry, hashed bool) {
	if hashed {
		c.U64("name hash", &e.NameHash)
	} else {
		c.Text("name", &e.Name, 4, compat.MaxName)
	}
	c.U16("id", &e.WireID)
	c.U64("hash", &e.Hash)
	c.I64("changed at", &e.ChangedAt)
	c.I32("since", &e.Since)
}
