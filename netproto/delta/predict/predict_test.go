package predict

import (
	"math/rand/v2"
	"testing"

	"collet/netproto/predicttest"
)

// noiseBytes is pseudo-random bytes.
func noiseBytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(b)
	return b
}

// TestTruncatedModules: headers may end anywhere.
func TestTruncatedModules(t *testing.T) {
	whole := predicttest.Module(0)
	for n := range 200 {
		parseImage(whole[:n])
	}
}

func TestMovesCutOverlaps(t *testing.T) {
	m := NewOffsetMap([]Match{{At: 100, Size: 10, Old: 0}, {At: 200, Size: 30, Old: 5}, {At: 300, Size: 4, Old: 10}, {At: 400, Size: 10, Old: 30}}, 64)
	for old, want := range map[uint32]uint32{0: 100, 4: 104, 5: 200, 12: 207, 34: 229, 35: 405, 39: 409, 45: 415} {
		if got, ok := m.newOffset(old); !ok || got != want {
			t.Errorf("%d went to %d, want %d", old, got, want)
		}
	}
	if _, ok := NewOffsetMap(nil, 64).newOffset(3); ok {
		t.Error("a place went somewhere without a match")
	}
}

func FuzzParseImage(f *testing.F) {
	f.Add(predicttest.Module(0))
	f.Add([]byte("MZ"))
	f.Add(predicttest.WASM(20, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		if im := parseImage(b); im != nil {
			for _, a := range im.areas {
				if uint64(a.At)+uint64(a.Size) > uint64(len(b)) {
					t.Fatalf("an area leaves the file: %+v", a)
				}
			}
		}
	})
}
