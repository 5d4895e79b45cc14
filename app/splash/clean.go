package splash

import (
	"strings"

	harmless "collet/platform/text"
)

const (
	// maxLine is the longest text of a peer in one line, in characters: more than fits into the window at any scale.
	maxLine = 120
	// maxReason is the longest reason of a game's end, in characters: three or four lines of the window.
	maxReason = 260
	// maxTail is the longest text of the log or report view, in bytes. The text of several hundred lines is laid out in
	// a few milliseconds; a whole log would stop the window for seconds.
	maxTail = 24 << 10
)

// clean makes one harmless line of at most limit characters of foreign text.
func clean(foreign string, limit int) string { return harmless.Shorten(foreign, limit) }

// cleanLines prepares a log or report: the last maxTail bytes, from the beginning of a line, made harmless.
func cleanLines(foreign string) string {
	if len(foreign) > maxTail {
		foreign = foreign[len(foreign)-maxTail:]
		_, foreign, _ = strings.Cut(foreign, "\n")
	}
	return strings.TrimSpace(harmless.Lines(foreign))
}
