package compat

import (
	"testing"
	"time"
)

func TestParseUntil(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"30m": "2026-11-21T13:00:00Z", "15:04": "2026-11-21T13:04:00Z", "14:00": "2026-11-22T12:00:00Z",
		"2026-12-01 08:00": "2026-12-01T06:00:00Z", "2026-12-01T08:00:00Z": "2026-12-01T08:00:00Z",
	} {
		if at, err := parseUntil(text, now); err != nil || at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v; want %s", text, at, err, want)
		}
	}
	for _, text := range []string{"", "soon", "-5m", "25:00"} {
		if at, err := parseUntil(text, now); err == nil {
			t.Errorf("%q is %v", text, at)
		}
	}
}
