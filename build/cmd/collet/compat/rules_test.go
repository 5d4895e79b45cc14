package compat

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// TestRulesWarning: a publisher hears of rules that would keep clients of the new release out, and of those that can't be told.
func TestRulesWarning(t *testing.T) {
	t.Parallel()
	build := compat.Derived(7, 1)
	versioned := compat.Snapshot{
		Compatibility: build, Versioned: true, Supported: compat.Range{Min: 6, Max: 7}, Active: compat.Range{Min: 6, Max: 7}, Components: 1,
		Baselines: map[int32]uint64{7: 1, 6: 2}, Build: compat.Build{Logic: 7, Components: 1, Compatibility: build},
	}
	closed := versioned
	closed.Maintenance = true
	custom := compat.Snapshot{Custom: true, Compatibility: "1.4"}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		rules         compat.Snapshot
		compatibility string
		want          string // in the warning; empty: no warning
	}{
		"the same":                  {versioned, build, ""},
		"the same, in maintenance":  {closed, build, ""},
		"the next logic":            {versioned, compat.Derived(8, 3), "release 12 for Linux-x64 that reach no server get CLIENT_TOO_NEW; when your server has"},
		"no compatibility":          {versioned, "", "may be judged by the rules of the previous release"},
		"one that says nothing":     {versioned, "1.4", "may be judged by the rules of the previous release"},
		"the same word":             {custom, "1.4", ""},
		"another word":              {custom, "1.5", "get NO_NATIVE_UPDATE"},
		"no word, and words matter": {custom, "", "may be judged by the rules of the previous release"},
	} {
		document, err := compat.Rules{Protocol: netproto.VersionC1, Snapshot: test.rules}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := RulesWarning(trust.StatedRules{Channel: "stable", Expires: now}, document, release.Entry{Target: "Linux-x64", Number: 12}, test.compatibility, now)
		if err != nil || (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
		if got != "" && !strings.HasPrefix(got, "note: signed rules of stable are in force until 2026-11-28 12:00Z: ") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := RulesWarning(trust.StatedRules{}, []byte("{}"), release.Entry{}, "1", now); err == nil {
		t.Error("rules that can't be read judge")
	}
}

// TestRulesFileTooLarge: too much is not called malformed.
func TestRulesFileTooLarge(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "rules.json")
	for size, want := range map[int]string{trust.MaxRules + 1: "too large: rules have at most 512 KiB", trust.MaxRules: "public rules: "} {
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (RulesFlags{File: name}).Document(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
}
