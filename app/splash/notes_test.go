package splash

import (
	"strings"
	"testing"
)

func TestPlainNotes(t *testing.T) {
	for text, want := range map[string]string{
		"# Release 2: the long bed\n\nAll new.": "Release 2: the long bed\n\nAll new.",
		"## Fixed ##":                           "Fixed",
		"#1 in the list":                        "#1 in the list",
		"- one\n* two\n+ three\n  - inner":      "• one\n• two\n• three\n  • inner",
		"1. first":                              "1. first",
		"- **New map:** Ironworks":              "• New map: Ironworks",
		"__all__ of *it* and _that_":            "all of it and that",
		"feed_rate_max stays, 2 * 3 * 4 too":    "feed_rate_max stays, 2 * 3 * 4 too",
		"run `collet release list`":             "run collet release list",
		"see [the site](https://example.com/a)": "see the site",
		"above\n\n---\n\nbelow":                 "above\n\n\n\nbelow",
		"a - b":                                 "a - b",
		"\r\n# Windows\r\nlines\r\n":            "Windows\nlines",
		"":                                      "",
		"**":                                    "**",
		"*":                                     "*",
		"Новости: **карта**":                    "Новости: карта",
	} {
		if got := plainNotes(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// FuzzPlainNotes checks that arbitrary notes from a publisher are processed in bounded time.
func FuzzPlainNotes(f *testing.F) {
	for _, seed := range []string{"# a", "- **b** *c* `d` [e](f)", "***", "____", "[](", strings.Repeat("*a", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := plainNotes(text); len(got) > len(text)+2*strings.Count(text, "\n")+2*len(text) {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}
