package text_test

import (
	"math"
	"testing"

	"collet/platform/text"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "-1 B", 0: "0 B", 999: "999 B", 1000: "1.0 kB", 1500: "1.5 kB", 99_949: "99.9 kB", 99_950: "100 kB", 460_000: "460 kB",
		999_499: "999 kB", 999_500: "1.0 MB", 24_000_000: "24.0 MB", 1_500_000_000: "1.5 GB", 2e12: "2.0 TB", 3e15: "3.0 PB",
		math.MaxInt64: "9223 PB",
	} {
		if got := text.Bytes(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range []string{"0 floors", "1 floor", "2 floors"} {
		if got := text.Count(n, "floor"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
