package tree

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// IgnoreFile is the name of the file in the top folder of a working copy that says what devices don't get. Its form is
	// that of gitignore(5), without files of that name further down and without classes like [:alpha:].
	IgnoreFile = ".colletignore"
	// MaxIgnore is the longest ignore file in bytes: such files are written by hand.
	MaxIgnore = 1 << 20
)

// ignoreDefaults hold before all other lines, which can take them back: what no game reads, and would be sent to every
// device. Names with ~ in front are unfinished files of Collet.
const ignoreDefaults = ".git\n.hg\n.svn\n.DS_Store\nThumbs.db\n~*\n/" + IgnoreFile + "\n"

// IgnoreError is a line that is no pattern.
type IgnoreError struct {
	Line int // counted from 1; 0 if it does not come from a file
	Text string
}

func (e *IgnoreError) Error() string {
	return fmt.Sprintf("%s line %d: %q is no pattern: brackets must be closed, and a backslash needs a character behind it", IgnoreFile, e.Line, e.Text)
}

// IgnoreRules say which paths are left out. The zero value leaves out nothing. It is immutable and safe for concurrent
// use.
type IgnoreRules struct {
	rules []ignoreRule
}

// ignoreRule is one line.
type ignoreRule struct {
	pattern string // for doublestar, against the whole path; empty if base says it
	base    string // the last element must be this
	negated bool   // takes back what lines before it said
	folders bool   // holds for folders only
}

// ParseIgnore reads texts with lines as gitignore(5) has them, after the rules that always hold; later texts outdo earlier ones. The
// error is an *IgnoreError.
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
	text = strings.TrimPrefix(text, "\uFEFF") // editors on Windows begin files so
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

// trimIgnore takes spaces from the end up to one that a backslash keeps.
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
		line += "/*" // all that is inside, but not the folder itself, or nothing inside could be taken back
	}
	// Braces mean nothing in gitignore(5).
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

// Entry reports whether a path is left out, given that no folder above it is. It is for walking down a tree. name is
// relative, with slashes.
func (i IgnoreRules) Entry(name string, folder bool) bool {
	for n := len(i.rules) - 1; n >= 0; n-- {
		if i.rules[n].matches(name, folder) {
			return !i.rules[n].negated
		}
	}
	return false
}

// File reports whether a file is left out, by itself or because a folder above it is.
func (i IgnoreRules) File(name string) bool {
	for at, c := range []byte(name) {
		if c == '/' && i.Entry(name[:at], true) {
			return true
		}
	}
	return i.Entry(name, false)
}
