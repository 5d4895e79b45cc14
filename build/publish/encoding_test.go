package publish_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/netproto/release"
)

// babble is text in which words of a small language follow each other: brotli codes it better than zstd by far more than
// the three percent for which it is taken.
func babble(seed uint64, words int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	language := strings.Fields("the a of update release patch chunk part and or which that was is becomes holds file set server player")
	var b strings.Builder
	for range words {
		b.WriteString(language[r.IntN(len(language))])
		b.WriteByte(' ')
	}
	return b.String()
}

// TestEveryEncoding publishes a content for which each encoding is the best, and reads the set back out of the objects.
func TestEveryEncoding(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	set := small(1).with(tree{"Resources/Text.zip": babble(1, 8000), "Resources/Noise.zip": noise(1, 9000), "Resources/Same.zip": strings.Repeat("0", 50_000)})
	s.publish(game(t, set), publish.Request{})
	r := s.wants(query("stable", linux, 0), 1, set.setOf(linux))
	seen := map[release.Encoding]int{}
	for _, source := range r.sources {
		seen[source.Encoding]++
	}
	for _, want := range []release.Encoding{release.EncodedBrotli, release.EncodedStored, release.EncodedZstd} {
		if seen[want] == 0 {
			t.Errorf("nothing is %s: %v", want, seen)
		}
	}
}
