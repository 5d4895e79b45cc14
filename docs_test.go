package collet_test

import (
	"os"
	"path"
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

// place is a name of Go code, and the file that ARCHITECTURE says it is in: `Choose` in `app/acquire/plan.go`.
var place = regexp.MustCompile("`(\\w+)` in `([\\w/]+\\.go)`")

// TestPlaces looks the names of ARCHITECTURE up in their files. A file is meant by the end of its path.
func TestPlaces(t *testing.T) {
	files := map[string][]string{}
	for _, name := range tracked(t) {
		files[path.Base(name)] = append(files[path.Base(name)], name)
	}
	const page = "docs/ARCHITECTURE.md"
	places := place.FindAllStringSubmatch(read(t, page), -1)
	for _, m := range places {
		if !slices.ContainsFunc(files[path.Base(m[2])], func(name string) bool {
			return strings.HasSuffix("/"+name, "/"+m[2]) && regexp.MustCompile(`\b`+m[1]+`\b`).MatchString(read(t, filepath.FromSlash(name)))
		}) {
			t.Errorf("%s: no %s has %s", page, m[2], m[1])
		}
	}
	if len(places) < 20 {
		t.Errorf("%d places were found, there should be more", len(places))
	}
}
