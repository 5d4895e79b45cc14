package splash

import (
	"strings"

	harmless "collet/platform/text"
)

const (
	// maxLine is the longest text from a peer in one line, in characters: more than fits into the window at any scale.
	maxLine = 120
	// maxReason is the longest reason for a game's end, in characters: three or four lines of the window.
	maxReason = 260
	// maxTail is the longest text of the log or report view, in bytes. The layout of several hundred lines takes a few
	// milliseconds; a whole log would block the window for seconds.
	maxTail = 24 << 10
)

// clean sanitizes untrusted text to one line of at most limit characters.
func clean(foreign string, limit int) string { return harmless.Shorten(foreign, limit) }

// cleanLines sanitizes a log or report and returns its last lines, at most maxTail bytes.
func cleanLines(foreign string) string {
	if len(foreign) > maxTail {
		foreign = foreign[len(foreign)-maxTail:]
		_, foreign, _ = strings.Cut(foreign, "\n")
	}
	return strings.TrimSpace(harmless.Lines(foreign))
}
