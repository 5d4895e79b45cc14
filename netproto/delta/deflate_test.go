package delta

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNoise(t *testing.T) {
	noise := make([]byte, 2*noiseFrom)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	mixed := bytes.Clone(noise)
	copy(mixed[noiseFrom:], strings.Repeat("0123456789", noiseFrom/100))
	for _, test := range []struct {
		name string
		data []byte
		want bool
	}{
		{"noise", noise, true},
		{"too little of it", noise[:noiseFrom-1], false},
		{"with a tenth of text", mixed, false},
		{"zeroes", make([]byte, noiseFrom), false},
		{"said twice", append(bytes.Clone(noise[:noiseFrom]), noise[:noiseFrom]...), false},
		{"nothing", nil, false},
	} {
		if got := isNoise(test.data); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestNoiseIsCheap: what is noise becomes no larger than it is, but for a header.
func TestNoiseIsCheap(t *testing.T) {
	noise := make([]byte, 3*noiseFrom)
	rand.NewChaCha8([32]byte{2}).Read(noise)
	if n := len(deflated(t.Context(), noise, bestWindow)); n > len(noise)+64 {
		t.Errorf("%d bytes became %d", len(noise), n)
	}
}
