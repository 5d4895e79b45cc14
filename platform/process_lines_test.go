package platform

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLinesAreCutAnywhere writes one text in pieces of every kind: the lines must not depend on where a read ended.
func TestLinesAreCutAnywhere(t *testing.T) {
	text := "a\n\n\xff\x00\r\n" + strings.Repeat("длинная ", 2000) + "\n" + strings.Repeat("z", maxOutputLine) + "\nlast"
	cut := func(size func() int) (lines []string) {
		w := &lineWriter{emit: func(line string) { lines = append(lines, line) }}
		for rest := text; rest != ""; {
			n := min(size(), len(rest))
			if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
				t.Fatalf("wrote %d, %v", wrote, err)
			}
			if len(w.held) > maxOutputLine {
				t.Fatalf("holds %d bytes", len(w.held))
			}
			rest = rest[n:]
		}
		w.finish()
		return lines
	}
	want := cut(func() int { return len(text) })
	if got := strings.Join(want, ""); got != strings.NewReplacer("\r\n", "", "\n", "").Replace(text) {
		t.Fatal("bytes were lost or made up")
	}
	source := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 2, 3, 7, 100, 4096, 5000} {
		if got := cut(func() int { return 1 + source.IntN(most) }); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("pieces up to %d: %d lines, want %d", most, len(got), len(want))
		}
	}
}
