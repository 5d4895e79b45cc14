package compat_test

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
)

func packsOf(contents ...string) (packs []compat.Pack) {
	for i := 0; i < len(contents); i += 2 {
		packs = append(packs, compat.Pack{Path: contents[i], Size: int64(len(contents[i+1])), Sum: sha256.Sum256([]byte(contents[i+1]))})
	}
	return packs
}

// TestDerivedContent pins identities that are on disks and in settings, and says what changes one.
func TestDerivedContent(t *testing.T) {
	two := packsOf("Core.zip", "core", "Maps.zip", "maps")
	identity := compat.DerivedContent(two)
	for want, packs := range map[string][]compat.Pack{
		"P-1909c9e2a87dd7ab37ee4f5a4806f35c": nil, "P-62ea54807646d7e2cb2d1682ec24b8bb": two,
	} {
		if got := compat.DerivedContent(packs); got != want {
			t.Errorf("%d packs are %s, want %s", len(packs), got, want)
		}
	}
	turned := []compat.Pack{two[1], two[0]}
	if compat.DerivedContent(turned) != identity || turned[0].Path != "Maps.zip" {
		t.Error("the order in which packs are listed counts, or was changed")
	}
	seen := []string{identity}
	for name, other := range map[string][]compat.Pack{
		"a pack less": two[:1], "a pack twice": append(slices.Clone(two), two[1]), "another name": packsOf("Core.zip", "core", "maps.zip", "maps"),
		"another content": packsOf("Core.zip", "core", "Maps.zip", "MAPS"), "contents swapped": packsOf("Core.zip", "maps", "Maps.zip", "core"),
		"another size":       {two[0], {Path: "Maps.zip", Size: 5, Sum: two[1].Sum}},
		"one name with both": {{Path: "Core.zip" + string(two[0].Sum[:]) + "Maps.zip", Size: two[1].Size, Sum: two[1].Sum}},
	} {
		got := compat.DerivedContent(other)
		if slices.Contains(seen, got) || !compat.IsDerivedContent(got) {
			t.Errorf("%s: %s was seen, or is not of the form", name, got)
		}
		seen = append(seen, got)
	}
}

// TestIsDerivedContent tells identities that can be checked from words of a publisher.
func TestIsDerivedContent(t *testing.T) {
	good := compat.DerivedContent(nil)
	for text, want := range map[string]bool{
		good: true, "": false, "packs-12": false, "P-": false, good[:len(good)-1]: false, good + "0": false, strings.ToUpper(good): false,
		"p" + good[1:]: false, good[:10] + "g" + good[11:]: false, strings.Repeat("0", len(good)): false,
	} {
		if compat.IsDerivedContent(text) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}

// TestContentOfTargets: a target may have packs of its own.
func TestContentOfTargets(t *testing.T) {
	s := &compat.Snapshot{Content: "all", Targets: map[string]compat.Target{"Web-wasm": {Content: "web"}, "Linux-x64": {}}}
	for target, content := range map[string]string{"Web-wasm": "web", "Linux-x64": "all", "unheard of": "all"} {
		if got := s.ContentFor(target); got != content {
			t.Errorf("%s: %q", target, got)
		}
		for _, has := range []string{"", "all", "web"} {
			j := compat.Evaluate(s, &compat.Hello{Target: target, Content: has, Tagged: true})
			if (j.Rule == compat.RuleContent) != (has != content) {
				t.Errorf("%s with %q: %+v", target, has, j)
			}
		}
	}
	if j := compat.Evaluate(s, &compat.Hello{Target: "Web-wasm"}); j.Verdict != compat.Accept {
		t.Errorf("an engine's client can't say which packs it has: %+v", j)
	}
	if j := compat.Evaluate(&compat.Snapshot{}, &compat.Hello{Content: "any", Tagged: true}); j.Verdict != compat.Accept {
		t.Errorf("the served packs are unknown: %+v", j)
	}
}
