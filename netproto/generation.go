package netproto

import "fmt"

// Generation is a protocol version. The numbers are fixed.
type Generation uint8

const (
	// G1 is the engine's updater version 1.
	G1 Generation = 1
	// G2a is the engine's updater version 2 with the layouts of version 1.
	G2a Generation = 2
	// G2b is the engine's updater version 2 with a metadata version in hello and answer. The engine changed the layout
	// without a new number.
	G2b Generation = 3
	// C1 is our own generation.
	C1 Generation = 4
)

const (
	// versionG1 and versionG2 are the updater versions that engine clients send (docs/PROTOCOL.md).
	versionG1 = 1
	versionG2 = 2
	// VersionC1 begins a C1 hello and answer: the letters CL in the upper half, the minor version in the lower. As the
	// string length at the start of an engine hello it is over a gigabyte, which every server rejects.
	VersionC1 = 0x434C0001
	// familyC1 is the upper half, the same for all minor versions.
	familyC1 = VersionC1 >> 16
)

// era is a generation's description beside the layouts of its messages. A new engine generation needs a row of eraOf, a
// place in engineGenerations, and a case in the code methods of Handshake and HandshakeAnswer.
type era struct {
	version  uint32 // first version number of a hello
	engine   bool   // the engine's messages: cipher, zlib from the server, descriptor, one request at a time
	metadata bool   // hello and answer carry a metadata version
}

// eraOf describes the supported generations.
func eraOf(g Generation) (era, bool) {
	switch g {
	case G1:
		return era{version: versionG1, engine: true}, true
	case G2a:
		return era{version: versionG2, engine: true}, true
	case G2b:
		return era{version: versionG2, engine: true, metadata: true}, true
	case C1:
		return era{version: VersionC1}, true
	default:
		return era{}, false
	}
}

// engineGenerations is the order in which a server tries an engine hello. A layout that fits the frame and has its own
// version number wins over one that only fits; else the first wins.
func engineGenerations() []Generation { return []Generation{G1, G2a, G2b} }

// Spoken reports whether this package supports g.
func (g Generation) Spoken() bool { _, ok := eraOf(g); return ok }

// Version is the updater version that a client of g sends, 0 if g is not supported.
func (g Generation) Version() uint32 { e, _ := eraOf(g); return e.version }

// Engine reports whether g is supported and one of the engine's own generations.
func (g Generation) Engine() bool { e, _ := eraOf(g); return e.engine }

// Metadata reports whether hello and answer of g carry a metadata version.
func (g Generation) Metadata() bool { e, _ := eraOf(g); return e.metadata }

// String is the name used in logs and settings, for example "G1".
func (g Generation) String() string {
	switch g {
	case G1:
		return "G1"
	case G2a:
		return "G2a"
	case G2b:
		return "G2b"
	case C1:
		return "C1"
	default:
		return fmt.Sprintf("generation %d", uint8(g))
	}
}

// ParseGeneration is the inverse of String, for settings. An unsupported generation is an error.
func ParseGeneration(name string) (Generation, error) {
	for _, g := range []Generation{G1, G2a, G2b, C1} {
		if g.String() == name {
			return g, g.Check()
		}
	}
	return 0, fmt.Errorf("generation %q is unknown; there are G1, G2a, G2b and C1", name)
}

// Check returns an error for an unsupported generation.
func (g Generation) Check() error {
	if g.Spoken() {
		return nil
	}
	return fmt.Errorf("%v is not spoken here; there are G1, G2a, G2b and C1", g)
}
