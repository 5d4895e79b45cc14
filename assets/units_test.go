package assets_test

import (
	"math"
	"testing"
	"time"

	"collet/assets"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		en    string
	}{
		{math.MinInt64, "0 B"}, {-1, "0 B"}, {0, "0 B"}, {1, "1 B"}, {999, "999 B"},
		{1000, "1.0 KB"}, {1049, "1.0 KB"}, {1051, "1.1 KB"},
		{999_940, "999.9 KB"}, {999_950, "1.0 MB"}, {1_000_000, "1.0 MB"},
		{412_345_678, "412.3 MB"}, {999_999_999, "1.0 GB"}, {2_000_000_000, "2.0 GB"},
		{7_500_000_000_000, "7.5 TB"}, {math.MaxInt64, "9223372.0 TB"},
	} {
		if got := assets.TextsFor("en").Size(c.bytes); got != c.en {
			t.Errorf("English size of %d is %q, want %q", c.bytes, got, c.en)
		}
	}
}

func TestAmountAndRate(t *testing.T) {
	en := assets.TextsFor("en")
	for got, want := range map[string]string{
		en.Amount(3_100_000, 8_000_000): "3.1 MB of 8.0 MB",
		en.Rate(2_340_000):              "2.3 MB/s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAges(t *testing.T) {
	for span, want := range map[time.Duration]string{
		0: "0 s", time.Hour: "1 h", 24*time.Hour - time.Minute: "23 h 59 min",
		24 * time.Hour: "1 d", 19*24*time.Hour + 5*time.Hour: "19 d", -time.Hour: "0 s",
	} {
		if got := assets.TextsFor("en").Age(span); got != want {
			t.Errorf("%v is %q, want %q", span, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		en   string
	}{
		{-time.Hour, "0 s"}, {0, "0 s"}, {time.Millisecond, "1 s"}, {4001 * time.Millisecond, "5 s"},
		{59 * time.Second, "59 s"}, {59*time.Second + 1, "1 min"}, {89 * time.Second, "1 min"},
		{90 * time.Second, "2 min"}, {59 * time.Minute, "59 min"},
		{59*time.Minute + 30*time.Second, "1 h"}, {70 * time.Minute, "1 h 10 min"},
		{48 * time.Hour, "48 h"},
	} {
		if got := assets.TextsFor("en").Span(c.span); got != c.en {
			t.Errorf("English span of %v is %q, want %q", c.span, got, c.en)
		}
	}
}

func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		left time.Duration
		en   string
	}{
		{-time.Second, "a few seconds left"}, {9 * time.Second, "a few seconds left"},
		{10 * time.Second, "about 10 s left"}, {38 * time.Second, "about 40 s left"},
		{55 * time.Second, "about 1 min left"}, {80 * time.Second, "about 1 min left"},
		{2 * time.Minute, "about 2 min left"}, {59*time.Minute + 50*time.Second, "about 1 h left"},
		{72 * time.Minute, "about 1 h 10 min left"}, {24 * time.Hour, "more than a day left"},
		{math.MaxInt64, "more than a day left"},
	} {
		if got := assets.TextsFor("en").Left(c.left); got != c.en {
			t.Errorf("English time left of %v is %q, want %q", c.left, got, c.en)
		}
	}
}

// The guess must not jump up while the time runs down.
func TestTimeLeftNeverRises(t *testing.T) {
	en := assets.TextsFor("en")
	seen := map[string]bool{}
	last := ""
	for left := 30 * time.Hour; left >= 0; left -= time.Second {
		text := en.Left(left)
		if text != last && seen[text] {
			t.Fatalf("%q comes back at %v, after %q", text, left, last)
		}
		seen[text], last = true, text
	}
	if len(seen) < 100 {
		t.Errorf("only %d different texts from 30 hours down to nothing", len(seen))
	}
}
