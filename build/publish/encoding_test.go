package publish_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
	s := newFixture(t)
	set := small(1).with(tree{"Resources/Text.zip": babble(1, 8000), "Resources/Noise.zip": noise(1, 9000), "Resources/Same.zip": strings.Repeat("0", 50_000)})
	s.publish(game(t, set), publish.Request{Effort: publish.EffortBest})
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

// TestEfforts publishes the same files with each effort: readers get them from each, and less effort takes more bytes. The
// number of workers changes nothing.
func TestEfforts(t *testing.T) {
	t.Parallel()
	set := small(1).with(tree{"Resources/Text.zip": babble(1, 8000), "Resources/Prose.zip": prose(3, 60_000)})
	var bytes []int64
	for _, effort := range []publish.Effort{publish.EffortBest, publish.EffortBalanced, publish.EffortFast} {
		var objects []string
		for _, workers := range []int{1, 3} {
			s := newFixture(t)
			s.workers = workers
			sum := s.publish(game(t, set), publish.Request{Effort: effort})
			s.wants(query("stable", linux, 0), 1, set.setOf(linux))
			objects = append(objects, fmt.Sprint(slices.Sorted(maps.Keys(s.filesBelow("objects")))))
			if workers == 1 {
				bytes = append(bytes, sum.Releases[0].Whole)
			}
		}
		if objects[0] != objects[1] {
			t.Errorf("%s: other objects with three workers than with one", effort)
		}
	}
	if bytes[0] >= bytes[1] || bytes[1] >= bytes[2] {
		t.Errorf("best, balanced and fast take %d bytes", bytes)
	}
	s := newFixture(t)
	f := s.open()
	defer f.Close()
	if _, err := f.Publish(t.Context(), game(t, set), publish.Request{Effort: "most"}, s.keys.online()); err == nil || !strings.Contains(err.Error(), "effort") {
		t.Errorf("an unknown effort: %v", err)
	}
}
