package collet_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// link is a link of Markdown to another page, another place of its page, or both.
var link = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)

// TestLinks follows the links between the pages: the file is there, and it has the heading.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		for i, line := range strings.Split(read(t, page), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], ":") {
					continue // to another site
				}
				links++
				target := page
				if m[1] != "" {
					target = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s:%d: %v", page, i+1, err)
				} else if m[2] != "" && !slices.Contains(anchors(read(t, target)), m[2]) {
					t.Errorf("%s:%d: %s has no heading for #%s", page, i+1, target, m[2])
				}
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were found, there should be more", links)
	}
}

// anchors are the names by which forges link to the headings of a page.
func anchors(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if _, heading, is := strings.Cut(line, "# "); is && strings.Trim(line[:strings.Index(line, "# ")], "#") == "" {
			list = append(list, strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
					return unicode.ToLower(r)
				}
				return -1
			}, heading))
		}
	}
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
