package predict

import (
	"math/rand/v2"
	"testing"
)

// TestX86Next: eight bytes at a time find the sites that one at a time finds, and nothing is jumped over.
func TestX86Next(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	alphabet := []byte{0xe8, 0xe9, 0xea, 0xe7, 0x0f, 0x80, 0x8f, 0x90, 0x7f, 0x05, 0x0d, 0x3d, 0x45, 0x04, 0x06, 0, 0xff, 0x90, 0x90, 0x90}
	for range 300 {
		b := make([]byte, r.IntN(80))
		for i := range b {
			if b[i] = alphabet[r.IntN(len(alphabet))]; r.IntN(4) == 0 {
				b[i] = byte(r.Uint32())
			}
		}
		end := r.IntN(len(b) + 1)
		for from := range end {
			want := from
			for want < end {
				if at, _ := x86Site(b, want); at > 0 {
					break
				}
				want++
			}
			got := x86Next(b, from, end)
			for got < end { // it may stop early: at the ends of b there is no word to look at
				if at, _ := x86Site(b, got); at > 0 {
					break
				}
				got = x86Next(b, got+1, end)
			}
			if min(got, end) != want {
				t.Fatalf("% x from %d to %d: %d, want %d", b, from, end, got, want)
			}
		}
	}
}

// TestX86NextSkips: bytes that are no site are passed in one call.
func TestX86NextSkips(t *testing.T) {
	b := make([]byte, 1000)
	for i := range b {
		b[i] = 0x90
	}
	b[777] = 0xe8
	if got := x86Next(b, 0, 900); got != 777 {
		t.Errorf("the site at 777 is found at %d", got)
	}
	if got := x86Next(b, 778, 900); got < 900 {
		t.Errorf("stopped at %d", got)
	}
}

// TestX86Site is what counts as a reference.
func TestX86Site(t *testing.T) {
	for _, c := range []struct {
		code   string
		at     int
		branch bool
	}{
		{"\xe8\x00\x00\x00\x00", 1, true}, {"\xe9\x00\x00\x00\x00", 1, true}, {"\x0f\x84\x00\x00\x00\x00", 2, true},
		{"\x0f\x8f\x00\x00\x00\x00", 2, true}, {"\x0f\x90\x00\x00\x00\x00", 0, false}, {"\x0f", 0, false},
		{"\x05\x00\x00\x00\x00", 0, false}, {"\xea\x00", 0, false}, {"\x90", 0, false},
	} {
		if at, branch := x86Site([]byte(c.code), 0); at != c.at || branch != c.branch {
			t.Errorf("% x: %d, %v", c.code, at, branch)
		}
	}
	for modrm := range 256 {
		at, branch := x86Site([]byte{0x8b, byte(modrm), 0, 0, 0, 0}, 1)
		relative := modrm>>6 == 0 && modrm&7 == 5
		switch {
		case modrm == 0xe8 || modrm == 0xe9 || modrm == 0x0f:
		case relative && (at != 2 || branch), !relative && at != 0:
			t.Errorf("modrm %02x: %d, %v", modrm, at, branch)
		}
	}
}
