// Package text sanitizes foreign text before it is shown. Foreign is every text that another program chose: names in a peer's lists,
// messages of servers, devices and games, output of tools. It must not control a terminal, forge a line of a log, hide characters, or
// change the direction of writing.
//
// One rule applies to every terminal, log, page and window:
//
//   - A character is visible if it is the ASCII space or has a Unicode category L, M, N, P or S. Visible characters stay.
//   - White space of other kinds (tabs, line breaks, Unicode spaces) becomes an ASCII space. Lines keeps line breaks.
//   - All other characters become U+FFFD: control characters (C0, DEL and C1), marks that change the direction of writing and other
//     format characters (zero width included), private use, unassigned characters, and bytes that are not UTF-8.
//     Inside JSON it becomes an escape instead, so that no information is lost.
//
// Line and Lines are for single texts. NewWriter and NewJSONWriter are for a whole stream: a terminal, or a log file.
// Visible is the same rule as a check, for names that are rejected rather than changed. The rule is that of unicode.IsPrint, with the
// Unicode tables of the Go release that built the program.
//
// ShellWord is for commands that a person copies.
package text

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// replacement replaces characters that must not be shown.
const replacement = utf8.RuneError

// tab replaces a tab in Lines, so that columns of logs stay readable.
const tab = "    "

// Visible reports whether s is valid UTF-8 with visible characters only. U+FFFD does not count as visible: it marks text that was
// damaged before.
func Visible(s string) bool {
	for _, r := range s {
		if r == replacement || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Line is s, sanitized, on one line.
func Line(s string) string { return strings.Map(harmless, strings.ReplaceAll(s, "\r\n", "\n")) }

// Shorten is Line, trimmed and with single spaces only, cut to limit characters (at least 1). An ellipsis replaces the middle of a
// longer text, because both ends of a path are worth reading. Its cost depends on limit, not on the length of s.
func Shorten(s string, limit int) string {
	if end := limit * utf8.UTFMax; len(s) > 2*end {
		s = s[:end] + "…" + s[len(s)-end:]
	}
	return Cut(strings.Join(strings.Fields(Line(s)), " "), limit)
}

// Cut is s with an ellipsis in place of its middle, so that it has at most limit characters (at least 1). It does not sanitize.
func Cut(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	head := (limit - 1) / 2
	tail := limit - 1 - head
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// Clip is s, or its beginning of at most limit bytes and an ellipsis. It cuts no character in two.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// MaxQuoted is how many bytes of a text Quote shows.
const MaxQuoted = 64

// Quote is the beginning of s in quotation marks, with escapes for characters that can't be shown.
func Quote(s string) string { return strconv.Quote(Clip(s, MaxQuoted)) }

// Lines is s, sanitized, with its line breaks ("\n", "\r\n"). A tab becomes four spaces, any other white space one space.
func Lines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return harmless(r)
	}, strings.NewReplacer("\r\n", "\n", "\t", tab).Replace(s))
}

// harmless is r if it is visible, else its replacement.
func harmless(r rune) rune {
	switch {
	case unicode.IsPrint(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	default:
		return replacement
	}
}

// NewWriter returns a writer that sanitizes a stream to w, a terminal or a text file. Tabs and line breaks ("\n", "\r\n") stay. A
// character may be split between writes; an incomplete character at the end of the stream is dropped. Each Write is at most one write
// to w. It is safe for concurrent use.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w, append: appendText} }

// NewJSONWriter is NewWriter for a stream of JSON values: a character that must not be shown becomes its escape (\u009b),
// which is the same text to a reader of JSON.
func NewJSONWriter(w io.Writer) *Writer { return &Writer{to: w, append: appendJSON} }

// Writer sanitizes a stream: see NewWriter and NewJSONWriter.
type Writer struct {
	to     io.Writer
	mu     sync.Mutex // guards the fields below
	append func(out []byte, r rune) []byte
	begun  []byte // bytes of an incomplete character of the last Write
	out    []byte // buffer of the last Write, reused
}

// Raw is the underlying writer: for colours and cursor movements of the program itself, never for foreign text.
func (w *Writer) Raw() io.Writer { return w.to }

// Write implements io.Writer: it writes all of p, or returns the error of the underlying writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := p
	if len(w.begun) > 0 {
		rest = append(w.begun, p...)
	}
	w.out = w.out[:0]
	for len(rest) > 0 && utf8.FullRune(rest) {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == '\r' && len(rest) > 1 && rest[1] == '\n', r == '\n', r == '\t', r != replacement && unicode.IsPrint(r):
			w.out = append(w.out, rest[:size]...)
		default:
			w.out = w.append(w.out, r)
		}
		rest = rest[size:]
	}
	w.begun = append(w.begun[:0:0], rest...)
	if len(w.out) == 0 {
		return len(p), nil
	}
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func appendText(out []byte, r rune) []byte { return utf8.AppendRune(out, harmless(r)) }

func appendJSON(out []byte, r rune) []byte {
	if first, second := utf16.EncodeRune(r); first != replacement {
		return appendEscape(appendEscape(out, first), second)
	}
	return appendEscape(out, r)
}

// appendEscape appends the JSON escape of one UTF-16 unit.
func appendEscape(out []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}
