package compat

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// A content identity names a set of packs, so a client and a server can compare their packs by one text (tag 9 of
// the hello, docs/PROTOCOL.md). A publisher may choose the text. A derived identity can be verified from the packs:
//
//	"P-" and the first 16 bytes in hex of SHA-256 of
//	    "compat/content/1" LF
//	    for each pack, by the bytes of its path:  u32 length of the path · path · u64 size · SHA-256 of the pack; little-endian
const (
	contentPrefix = "P-"
	contentForm   = "compat/content/1\n"
	contentBytes  = 16 // of the digest: an attacker gains nothing from collisions
)

// Pack is one pack of a content identity: its path as clients know it, its size in bytes and its SHA-256.
type Pack struct {
	Path string
	Size int64
	Sum  [sha256.Size]byte
}

// DerivedContent is the identity of a set of packs, independent of their order; packs is not changed.
func DerivedContent(packs []Pack) string {
	packs = slices.Clone(packs)
	slices.SortFunc(packs, func(a, b Pack) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	line := []byte(contentForm)
	for _, p := range packs {
		line = binary.LittleEndian.AppendUint32(line, uint32(len(p.Path)))
		line = append(line, p.Path...)
		line = binary.LittleEndian.AppendUint64(line, uint64(p.Size))
		h.Write(append(line, p.Sum[:]...))
		line = line[:0]
	}
	h.Write(line)
	return contentPrefix + hex.EncodeToString(h.Sum(nil)[:contentBytes])
}

// IsDerivedContent reports whether an identity has the form of DerivedContent, so a set of packs can be compared with it.
func IsDerivedContent(identity string) bool {
	digits, found := strings.CutPrefix(identity, contentPrefix)
	return found && len(digits) == 2*contentBytes && strings.Trim(digits, "0123456789abcdef") == ""
}

// ContentFor is the identity of the packs that are served to a target; empty is unknown.
func (s *Snapshot) ContentFor(target string) string {
	if own := s.Targets[target].Content; own != "" {
		return own
	}
	return s.Content
}
