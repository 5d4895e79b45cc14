package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// guide is where all of this is described for people.
func guide(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "COMPATIBILITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// block is the first piece of code in the guide that begins like this.
func block(t *testing.T, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(guide(t), begin)
	text, _, ends := strings.Cut(rest, "\n```")
	if !found || !ends {
		t.Fatalf("the guide has nothing like %q", begin)
	}
	return begin[strings.Index(begin, "\n")+1:] + text
}

// TestGuideExample checks that the guide's Go source has the form and the hash that the guide shows.
func TestGuideExample(t *testing.T) {
	t.Parallel()
	dir := goProject(t, block(t, "```go\npackage game"))
	if said, want := must(t, "explain", "Camera", dir), block(t, "```\n(component")+"\n"; said != want {
		t.Errorf("explained as\n%swhere the guide says\n%s", said, want)
	}
}

// TestGuideProject checks that the guide's project file is one, and that the guide names every key.
func TestGuideProject(t *testing.T) {
	t.Parallel()
	dir := layOut(t, map[string]string{projectFile: block(t, "```json\n{\n")})
	if p, err := openProject(dir); err != nil || p.Logic != 7 || p.SupportedMin != 6 {
		t.Errorf("%v: %+v", err, p)
	}
	kind := reflect.TypeFor[project]()
	for i := range kind.NumField() {
		if key := kind.Field(i).Tag.Get("json"); key != "" && !strings.Contains(guide(t), "`"+key+"`") {
			t.Errorf("the guide does not name %q", key)
		}
	}
}

// TestGuideTypes checks that the guide's types are understood.
func TestGuideTypes(t *testing.T) {
	t.Parallel()
	d := &dialect{known: map[string]*typ{}, unknown: map[string]*typ{}}
	if err := d.readTypes("guide", []byte(block(t, "```xml\n<Types>"))); err != nil {
		t.Fatal(err)
	}
	if err := d.resolveTypes(); err != nil || len(d.known) != 3 {
		t.Errorf("%v: %v", err, d.known)
	}
}

// TestGuideAttributes checks that the guide says of every attribute whether it counts.
func TestGuideAttributes(t *testing.T) {
	t.Parallel()
	text := guide(t)
	for element, attributes := range vocabulary {
		for attribute := range attributes {
			relation := element == "Include" || element == "ComponentRelation" // named as wholes
			if !relation && !strings.Contains(text, attribute) {
				t.Errorf("the guide does not name %s of %s", attribute, element)
			}
		}
	}
}
