package splash

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLine is the longest text of a peer in one line, in characters: more than fits into the window at any scale.
	maxLine = 120
	// maxTail is the longest text of the log or report view, in bytes. The text of several hundred lines is laid out in
	// a few milliseconds; a whole log would stop the window for seconds.
	maxTail = 24 << 10
)

// clean makes one harmless line of what a peer said: control characters, line breaks and marks that change the
// direction of writing become spaces, invalid UTF-8 becomes the replacement character, runs of spaces become one, and
// what is longer than limit characters loses its middle, since both ends of a path tell something.
func clean(text string, limit int) string {
	if end := limit * utf8.UTFMax; len(text) > 2*end {
		text = text[:end] + "…" + text[len(text)-end:] // so that the rest costs little, however long it is
	}
	text = strings.Map(harmless, strings.ToValidUTF8(text, "\uFFFD"))
	return cutMiddle(strings.Join(strings.Fields(text), " "), limit)
}

// harmless keeps letters, marks, numbers, punctuation, symbols and the space.
func harmless(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// cutMiddle shortens text to limit characters, an ellipsis among them.
func cutMiddle(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := (limit - 1) / 2
	tail := limit - 1 - head
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// cleanLines prepares a log or report: the last maxTail bytes, from the beginning of a line, without control characters
// other than line breaks.
func cleanLines(text string) string {
	if len(text) > maxTail {
		text = text[len(text)-maxTail:]
		_, text, _ = strings.Cut(text, "\n")
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\t", "    "), "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return harmless(r)
	}, text))
}
