package assets_test

import (
	"maps"
	"slices"
	"testing"

	"collet/assets"
)

func TestLanguagesAreSortedAndHoldTheFallback(t *testing.T) {
	tags := assets.Languages()
	if !slices.IsSorted(tags) || !slices.Contains(tags, "en") || len(tags) < 2 {
		t.Errorf("languages are %q", tags)
	}
	names := map[string]bool{}
	for _, tag := range tags {
		texts := assets.TextsFor(tag)
		if texts.Language() != tag {
			t.Errorf("TextsFor(%q) is %q", tag, texts.Language())
		}
		names[assets.AboutOf(tag).Name] = true
	}
	if len(names) != len(tags) {
		t.Errorf("%d languages have the names %q", len(tags), slices.Collect(maps.Keys(names)))
	}
}

func TestGetReplacesPlaceholders(t *testing.T) {
	texts := assets.TextsFor("en")
	for _, c := range []struct {
		key  string
		args []any
		want string
	}{
		{"count", []any{"n", 3, "total", 12}, "File 3 of 12"},
		{"count", []any{"total", 12, "n", 3}, "File 3 of 12"},
		{"count", []any{"n", 3}, "File 3 of {total}"},
		{"count", nil, "File {n} of {total}"},
		{"count", []any{"n"}, "File {n} of {total}"},
		{"count", []any{"n", "{total}", "total", "{n}"}, "File {total} of {n}"}, // values are not looked at again
		{"count", []any{"n", 3, "total", 12, "more", "x"}, "File 3 of 12"},
		{"no.such.key", []any{"n", 3}, "no.such.key"},
	} {
		if got := texts.Get(c.key, c.args...); got != c.want {
			t.Errorf("Get(%q, %v) = %q, want %q", c.key, c.args, got, c.want)
		}
	}
	if texts.Has("no.such.key") || !texts.Has("count") {
		t.Error("Has knows a key that is not there, or not one that is")
	}
}

func TestZeroTextsGiveKeysBack(t *testing.T) {
	var texts assets.Texts
	if got := texts.Get("count", "n", 1); got != "count" {
		t.Errorf("Get of the zero value is %q", got)
	}
	if texts.Has("count") || texts.Language() != "" {
		t.Error("the zero value knows a text or has a language")
	}
}
