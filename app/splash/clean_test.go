package splash

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"Resources/Core.zip":     "Resources/Core.zip",
		"Ресурсы/Ядро.zip":       "Ресурсы/Ядро.zip",
		"資源/核.zip":               "資源/核.zip",
		"a\tb\r\nc":              "a b c",
		"\x1b[31mred\x1b[0m":     "\uFFFD[31mred\uFFFD[0m",
		"safe\u202Egnp.exe":      "safe\uFFFDgnp.exe",
		"zero\u200Bwidth\uFEFF":  "zero\uFFFDwidth\uFFFD",
		"\u2066isolated\u2069":   "\uFFFDisolated\uFFFD",
		"  many   spaces ":       "many spaces",
		"bad\xff\xfeutf":         "bad\uFFFD\uFFFDutf",
		"no\u00A0break":          "no break",
		"private\uE000use":       "private\uFFFDuse",
		strings.Repeat("ab", 12): "ababababa…ababababab",
		strings.Repeat("é", 21):  strings.Repeat("é", 9) + "…" + strings.Repeat("é", 10),
	} {
		if got := clean(in, 20); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// Texts of a peer may have any length; the work on them is bounded.
func TestCleanOfEndlessText(t *testing.T) {
	for _, part := range []string{"x", "\x00", "\xff", "長", " "} {
		text := strings.Repeat(part, 20<<20/len(part))
		if got := clean(text, maxLine); utf8.RuneCountInString(got) > maxLine {
			t.Errorf("of %d times %q are left %d characters", len(text)/len(part), part, utf8.RuneCountInString(got))
		}
	}
}

func TestCleanLines(t *testing.T) {
	if got := cleanLines("\n first\tcolumn\x1b[1m\r\nsecond\xff \n\n"); got != "first    column\uFFFD[1m\nsecond\uFFFD" {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("a line of a log that goes on for a while\n", 2000) + "the end"
	got := cleanLines(long)
	if len(got) > maxTail || !strings.HasPrefix(got, "a line") || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes, from %q to %q", len(got), got[:20], got[len(got)-20:])
	}
	if got := cleanLines(strings.Repeat("x", 3*maxTail)); got != "" {
		t.Errorf("of one endless line %d bytes are left", len(got))
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a/b", "\x00\u202e", strings.Repeat("長", 300), "\xff\xfe", "a\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text, maxLine)
		if utf8.RuneCountInString(got) > maxLine || !utf8.ValidString(got) {
			t.Errorf("clean(%q) = %q", text, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(got) != got {
			t.Errorf("clean(%q) = %q", text, got)
		}
		if clean(got, maxLine) != got {
			t.Errorf("cleaning %q again gives %q", got, clean(got, maxLine))
		}
		lines := cleanLines(text)
		if len(lines) > maxTail*3 || strings.ContainsFunc(lines, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("cleanLines(%q) = %q", text, lines)
		}
	})
}
