package assets_test

import (
	"math"
	"testing"
	"time"

	"collet/assets"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		bytes  int64
		en, ru string
	}{
		{math.MinInt64, "0 B", "0 Б"}, {-1, "0 B", "0 Б"}, {0, "0 B", "0 Б"}, {1, "1 B", "1 Б"}, {999, "999 B", "999 Б"},
		{1000, "1.0 KB", "1,0 КБ"}, {1049, "1.0 KB", "1,0 КБ"}, {1051, "1.1 KB", "1,1 КБ"},
		{999_940, "999.9 KB", "999,9 КБ"}, {999_950, "1.0 MB", "1,0 МБ"}, {1_000_000, "1.0 MB", "1,0 МБ"},
		{412_345_678, "412.3 MB", "412,3 МБ"}, {999_999_999, "1.0 GB", "1,0 ГБ"}, {2_000_000_000, "2.0 GB", "2,0 ГБ"},
		{7_500_000_000_000, "7.5 TB", "7,5 ТБ"}, {math.MaxInt64, "9223372.0 TB", "9223372,0 ТБ"},
	} {
		if got := assets.TextsFor("en").Size(c.bytes); got != c.en {
			t.Errorf("English size of %d is %q, want %q", c.bytes, got, c.en)
		}
		if got := assets.TextsFor("ru").Size(c.bytes); got != c.ru {
			t.Errorf("Russian size of %d is %q, want %q", c.bytes, got, c.ru)
		}
	}
}

func TestAmountAndRate(t *testing.T) {
	en, ru := assets.TextsFor("en"), assets.TextsFor("ru")
	for got, want := range map[string]string{
		en.Amount(3_100_000, 8_000_000): "3.1 MB of 8.0 MB", ru.Amount(3_100_000, 8_000_000): "3,1 МБ из 8,0 МБ",
		en.Rate(2_340_000): "2.3 MB/s", ru.Rate(2_340_000): "2,3 МБ/с",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAges(t *testing.T) {
	for span, want := range map[time.Duration][2]string{
		0: {"0 s", "0 с"}, time.Hour: {"1 h", "1 ч"}, 24*time.Hour - time.Minute: {"23 h 59 min", "23 ч 59 мин"},
		24 * time.Hour: {"1 d", "1 дн."}, 19*24*time.Hour + 5*time.Hour: {"19 d", "19 дн."}, -time.Hour: {"0 s", "0 с"},
	} {
		for i, language := range []string{"en", "ru"} {
			if got := assets.TextsFor(language).Age(span); got != want[i] {
				t.Errorf("%s: %v is %q, want %q", language, span, got, want[i])
			}
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		span   time.Duration
		en, ru string
	}{
		{-time.Hour, "0 s", "0 с"}, {0, "0 s", "0 с"}, {time.Millisecond, "1 s", "1 с"}, {4001 * time.Millisecond, "5 s", "5 с"},
		{59 * time.Second, "59 s", "59 с"}, {59*time.Second + 1, "1 min", "1 мин"}, {89 * time.Second, "1 min", "1 мин"},
		{90 * time.Second, "2 min", "2 мин"}, {59 * time.Minute, "59 min", "59 мин"},
		{59*time.Minute + 30*time.Second, "1 h", "1 ч"}, {70 * time.Minute, "1 h 10 min", "1 ч 10 мин"},
		{48 * time.Hour, "48 h", "48 ч"},
	} {
		if got := assets.TextsFor("en").Span(c.span); got != c.en {
			t.Errorf("English span of %v is %q, want %q", c.span, got, c.en)
		}
		if got := assets.TextsFor("ru").Span(c.span); got != c.ru {
			t.Errorf("Russian span of %v is %q, want %q", c.span, got, c.ru)
		}
	}
}

func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		left   time.Duration
		en, ru string
	}{
		{-time.Second, "a few seconds left", "осталось несколько секунд"}, {9 * time.Second, "a few seconds left", "осталось несколько секунд"},
		{10 * time.Second, "about 10 s left", "осталось примерно 10 с"}, {38 * time.Second, "about 40 s left", "осталось примерно 40 с"},
		{55 * time.Second, "about 1 min left", "осталось примерно 1 мин"}, {80 * time.Second, "about 1 min left", "осталось примерно 1 мин"},
		{2 * time.Minute, "about 2 min left", "осталось примерно 2 мин"}, {59*time.Minute + 50*time.Second, "about 1 h left", "осталось примерно 1 ч"},
		{72 * time.Minute, "about 1 h 10 min left", "осталось примерно 1 ч 10 мин"}, {24 * time.Hour, "more than a day left", "осталось больше суток"},
		{math.MaxInt64, "more than a day left", "осталось больше суток"},
	} {
		if got := assets.TextsFor("en").Left(c.left); got != c.en {
			t.Errorf("English time left of %v is %q, want %q", c.left, got, c.en)
		}
		if got := assets.TextsFor("ru").Left(c.left); got != c.ru {
			t.Errorf("Russian time left of %v is %q, want %q", c.left, got, c.ru)
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
