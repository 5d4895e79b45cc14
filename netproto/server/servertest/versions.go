package servertest

import (
	"fmt"
	"testing"

	"collet/netproto/compat"
)

// SetHash is the set hash of the builds of a logic version. Any number does: tests only compare them.
func SetHash(logic int32) uint64 { return 0x1111 * uint64(logic) }

// Sidecar is the text of the sidecar file of a module of a logic version and patch.
func Sidecar(logic int32, patch int) string {
	return fmt.Sprintf(`{"logic": %d, "patch": %d, "set_hash": "%016x", "build": {"id": "client-%d.%d", "branch": "main", "time": 1772460300, "seq": %d}}`,
		logic, patch, SetHash(logic), logic, patch, 800+logic)
}

// WriteManifest returns a sealed manifest of a logic version with the given hashes of the components Camera, Mailbox and Wallet. It
// writes the manifest to path, unless that is empty.
func WriteManifest(t testing.TB, path string, logic int32, components map[string]uint64) compat.Manifest {
	t.Helper()
	m := compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: logic, Time: 1_770_000_000 + int64(logic)*86400, Seq: 800 + uint64(logic), ID: fmt.Sprintf("server-%d", logic), Branch: "main"}}
	id := uint16(1)
	for _, name := range []string{"Camera", "Mailbox", "Wallet"} {
		if sum := components[name]; sum != 0 {
			m.Entries = append(m.Entries, compat.Entry{Name: name, WireID: id, Hash: sum, ChangedAt: 1_770_000_000})
		}
		id++
	}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	if path != "" {
		text, err := compat.EncodeManifest(&m)
		if err != nil {
			t.Fatal(err)
		}
		WriteFile(t, path, string(text))
	}
	return m
}
