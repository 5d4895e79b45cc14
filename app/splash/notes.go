package splash

import (
	"regexp"
	"strings"
)

// Release notes are Markdown, but the window has only one typeface. Headings, emphasis, code, links and list items are
// converted to plain text. Everything else stays.
var (
	headingMark = regexp.MustCompile(`^#{1,6}[ \t]+(.*?)[ \t]*#*$`)
	itemMark    = regexp.MustCompile(`^([ \t]*)[-*+][ \t]+`)
	ruleMark    = regexp.MustCompile(`^[ \t]*([-*_][ \t]*){3,}$`)
	strongMark  = regexp.MustCompile(`(\*\*|__)(\S(?:.*?\S)?)(\*\*|__)`)
	softMark    = regexp.MustCompile(`(^|[^\w*])[*_](\S(?:[^*_]*?\S)?)[*_]($|[^\w*])`)
	codeMark    = regexp.MustCompile("`([^`]+)`")
	linkMark    = regexp.MustCompile(`!?\[([^\]]+)\]\([^)\s]*\)`)
)

// plainNotes removes the Markdown markup from release notes.
func plainNotes(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = plainLine(line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func plainLine(line string) string {
	if ruleMark.MatchString(line) {
		return ""
	}
	line = headingMark.ReplaceAllString(line, "$1")
	line = itemMark.ReplaceAllString(line, "$1• ")
	line = linkMark.ReplaceAllString(line, "$1")
	line = strongMark.ReplaceAllString(line, "$2")
	line = softMark.ReplaceAllString(line, "$1$2$3")
	return codeMark.ReplaceAllString(line, "$1")
}
