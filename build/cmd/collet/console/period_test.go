package console_test

import (
	"strings"
	"testing"
	"time"

	"collet/build/cmd/collet/console"
)

// TestPeriod: a flag takes days before what time.ParseDuration takes, and no other forms.
func TestPeriod(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "288h": 12 * day, "40d": 40 * day, "1d12h": 36 * time.Hour, "0d5m": 5 * time.Minute, "-1h": -time.Hour,
		"106751d23h": 106751*day + 23*time.Hour,
	} {
		var p console.Period
		if err := p.UnmarshalText([]byte(text)); err != nil || p.Duration() != want {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "d", "40", "1.5d", "-1d", "+1d", "1 d", "1d 2h", "1d-2h", "12h1d", "1d1d", "1w", "106752d", "106751d24h", "18446744073709551616d"} {
		var p console.Period
		if err := p.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "40d") {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}
