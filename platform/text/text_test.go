package text_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"collet/platform/text"
)

// attacks are texts that a terminal, a log, a page or a window must not get as they are.
var attacks = []struct{ name, in, line, lines string }{
	{"plain", "Core.zip, 4 MB – größer 日本", "Core.zip, 4 MB – größer 日本", "Core.zip, 4 MB – größer 日本"},
	{"escape sequence", "a\x1b[2Jb", "a\uFFFD[2Jb", "a\uFFFD[2Jb"},
	{"C1 control sequence introducer", "a\u009b2Jb", "a\uFFFD2Jb", "a\uFFFD2Jb"},
	{"C1 as a single byte", "a\x9b2Jb", "a\uFFFD2Jb", "a\uFFFD2Jb"},
	{"delete, bell, backspace", "\x7f\a\b", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD"},
	{"forged line", "a\nlevel=info b\r\nc\rd", "a level=info b c d", "a\nlevel=info b\nc d"},
	{"tab and indentation", "\ta  b", " a  b", "    a  b"},
	{"Unicode line ends", "a\u2028b\u2029c\u0085d", "a b c d", "a b c d"},
	{"override of the direction", "x\u202egpj.exe", "x\uFFFDgpj.exe", "x\uFFFDgpj.exe"},
	{"isolates and marks", "\u2066\u2069\u200e\u200f\u061c", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
	{"zero width", "a\u200bb\ufeffc\u2060d", "a\uFFFDb\uFFFDc\uFFFDd", "a\uFFFDb\uFFFDc\uFFFDd"},
	{"tags and private use", "\U000E0041\ue000", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
	{"no-break and ideographic space", "a\u00a0b\u3000c", "a b c", "a b c"},
}

func TestLine(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			if got := text.Line(a.in); got != a.line {
				t.Errorf("Line: %q, want %q", got, a.line)
			}
			if got := text.Lines(a.in); got != a.lines {
				t.Errorf("Lines: %q, want %q", got, a.lines)
			}
			if got, want := text.Visible(a.in), a.in == a.line; got != want {
				t.Errorf("Visible: %v, want %v", got, want)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"  a \n\t b  ", 10, "a b"},
		{"0123456789", 10, "0123456789"},
		{"0123456789A", 10, "0123…6789A"},
		{"abc", 1, "…"},
		{strings.Repeat("ä", 1_000_000), 5, "ää…ää"},
		{"", 5, ""},
	} {
		if got := text.Shorten(c.in, c.limit); got != c.want {
			t.Errorf("Shorten(%.20q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

// TestWriter gives each attack to the writers in one write and byte by byte.
func TestWriter(t *testing.T) {
	for _, a := range attacks {
		for _, step := range []int{1, 1 << 20} {
			var out bytes.Buffer
			w := text.NewWriter(&out)
			for rest := []byte(a.in); len(rest) > 0; {
				n := min(step, len(rest))
				if written, err := w.Write(rest[:n]); written != n || err != nil {
					t.Fatalf("%s: Write returned %d, %v", a.name, written, err)
				}
				rest = rest[n:]
			}
			if got := strings.ReplaceAll(out.String(), "\r\n", "\n"); text.Lines(got) != a.lines && !strings.ContainsRune(a.in, '\r') {
				t.Errorf("%s, %d bytes a write: %q, want %q", a.name, step, got, a.lines)
			}
			checkHarmless(t, out.String())
		}
	}
}

// TestJSONWriter decodes the output: escapes lose no information.
func TestJSONWriter(t *testing.T) {
	for _, a := range attacks {
		if !utf8.ValidString(a.in) {
			continue // JSON has no form for it
		}
		value, err := json.Marshal(a.in)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := text.NewJSONWriter(&out).Write(value); err != nil {
			t.Fatal(err)
		}
		checkHarmless(t, out.String())
		var back string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != a.in {
			t.Errorf("%s: %s reads as %q (%v), want %q", a.name, &out, back, err, a.in)
		}
	}
}

// checkHarmless looks for what no output may have.
func checkHarmless(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && r != '\r' && r != '\t' && !unicode.IsPrint(r) && r != utf8.RuneError {
			t.Errorf("%q contains %U", s, r)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.in, 10)
	}
	f.Fuzz(func(t *testing.T, in string, limit int) {
		line := text.Line(in)
		if strings.ContainsRune(line, '\n') {
			t.Errorf("Line(%q) = %q has a line break", in, line)
		}
		checkHarmless(t, line)
		checkHarmless(t, text.Lines(in))
		if again := text.Line(line); again != line {
			t.Errorf("Line changes its own result %q to %q", line, again)
		}
		limit = 1 + limit&0xff
		if short := text.Shorten(in, limit); utf8.RuneCountInString(short) > limit {
			t.Errorf("Shorten(%q, %d) = %q", in, limit, short)
		}
		var out bytes.Buffer
		text.NewWriter(&out).Write([]byte(in))
		checkHarmless(t, out.String())
	})
}
