package tree

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// IgnoreFile is the name of the file in the top folder of a working copy that lists what devices don't get. Its
	// format is that of gitignore(5), without nested files and without classes like [:alpha:].
	IgnoreFile = ".colletignore"
	// MaxIgnore is the size of the largest ignore file in bytes: such files are written by hand.
	MaxIgnore = 1 << 20
)

// ignoreDefaults apply before all other lines, which can negate them: files that no game reads. Names that begin with ~
// are unfinished files of Collet.
const ignoreDefaults = ".git\n.hg\n.svn\n.DS_Store\nThumbs.db\n~*\n/" + IgnoreFile + "\n"

// IgnoreError is about an invalid line.
type IgnoreError struct {
	Line int // counted from 1; 0 if it does not come from a file
	Text string
}

func (e *IgnoreError) Error() string {
	return fmt.Sprintf("%s line %d: %q is no pattern: brackets must be closed, and a backslash needs a character behind it", IgnoreFile, e.Line, e.Text)
}

// IgnoreRules are parsed ignore lines. The zero value ignores nothing. It is immutable and safe for concurrent use.
type IgnoreRules struct {
	rules []ignoreRule
}

// ignoreRule is one line.
type ignoreRule struct {
	pattern string // for doublestar, against the whole path; empty if base says it
	base    string // the last element must equal this
	negated bool   // cancels the effect of earlier lines
	folders bool   // applies to folders only
}

// ParseIgnore parses texts with lines in the format of gitignore(5), after the default rules; later texts override
// earlier ones. The error is an *IgnoreError.
func ParseIgnore(texts ...string) (IgnoreRules, error) {
	rules, err := parseIgnore(ignoreDefaults, nil)
	for _, text := range texts {
		if err == nil {
			rules, err = parseIgnore(text, rules)
		}
	}
	if err != nil {
		return IgnoreRules{}, err
	}
	return IgnoreRules{rules: rules}, nil
}

func parseIgnore(text string, rules []ignoreRule) ([]ignoreRule, error) {
	text = strings.TrimPrefix(text, "\uFEFF") // a byte order mark, as editors on Windows write it
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = trimIgnore(strings.TrimRight(line, "\r\n"))
		if line == "" || line[0] == '#' {
			continue
		}
		rule, fine := newIgnoreRule(line)
		if !fine {
			return nil, &IgnoreError{Line: number, Text: line}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// trimIgnore removes trailing spaces, except one that is escaped with a backslash.
func trimIgnore(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

func newIgnoreRule(line string) (rule ignoreRule, fine bool) {
	line, rule.negated = strings.CutPrefix(line, "!")
	line, rule.folders = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	switch {
	case line == "":
		return rule, false
	case !anchored && !strings.ContainsAny(line, `*?[\`):
		rule.base = line
		return rule, true
	case !anchored:
		line = "**/" + line
	case strings.HasSuffix(line, "/**"):
		line += "/*" // the content, not the folder itself: otherwise nothing inside could be re-included
	}
	// Braces have no special meaning in gitignore(5).
	rule.pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	return rule, doublestar.ValidatePattern(rule.pattern)
}

func (r ignoreRule) matches(name string, folder bool) bool {
	switch {
	case r.folders && !folder:
		return false
	case r.base != "":
		return path.Base(name) == r.base
	default:
		return doublestar.MatchUnvalidated(r.pattern, name)
	}
}

// Entry reports whether a path is ignored, given that none of its parents is. It is for walking down a tree. name is
// relative, with slashes.
func (i IgnoreRules) Entry(name string, folder bool) bool {
	for n := len(i.rules) - 1; n >= 0; n-- {
		if i.rules[n].matches(name, folder) {
			return !i.rules[n].negated
		}
	}
	return false
}

// File reports whether a file is ignored, by itself or through a parent.
func (i IgnoreRules) File(name string) bool {
	for at, c := range []byte(name) {
		if c == '/' && i.Entry(name[:at], true) {
			return true
		}
	}
	return i.Entry(name, false)
}
