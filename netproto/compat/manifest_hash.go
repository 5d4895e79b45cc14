package compat

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// What is hashed begins with one of these, so that no form of one kind can have the hash of another
// (docs/COMPATIBILITY.md).
const (
	componentPrefix = "compat/component/1\n"
	setPrefix       = "compat/set/1\n"
	namePrefix      = "compat/name/1\n"
	valuePrefix     = "compat/value/1\n"
)

// ComponentHash is the hash of a component's canonical form: the first 8 bytes of a SHA-256, big-endian. It is never 0, which
// stands for "not told".
func ComponentHash(form string) uint64 { return sum64(componentPrefix + form) }

// SetHash is the hash over all components: their names, ids and hashes, in whatever order they come, for a set has none. It
// does not change entries.
func SetHash(entries []Entry) uint64 {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.WireID, b.WireID), cmp.Compare(a.Hash, b.Hash))
	})
	var lines strings.Builder
	lines.WriteString(setPrefix)
	for _, e := range sorted {
		fmt.Fprintf(&lines, "%s %d %016x\n", e.Name, e.WireID, e.Hash)
	}
	return sum64(lines.String())
}

// NameHash replaces a name in a manifest of ManifestHashes: only an end with the component can recognise it.
func NameHash(name string) uint64 { return sum64(namePrefix + name) }

func sum64(s string) uint64 {
	digest := sha256.Sum256([]byte(s))
	return first64(digest[:])
}

// first64 are the first 8 bytes of a digest as a number that is not 0.
func first64(digest []byte) uint64 { return max(binary.BigEndian.Uint64(digest), 1) }
