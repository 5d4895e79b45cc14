package compat

import (
	"fmt"
	"strings"
)

// Hints are warnings about valid settings: rules without effect, clients whose components are not compared, and targets whose
// modules are not offered. It is nil without any.
func (s Settings) Hints(d Declared) (all []Mistake) {
	hint := func(field, why string, args ...any) {
		all = append(all, Mistake{Field: field, Why: fmt.Sprintf(why, args...)})
	}
	for i, r := range s.PatchRules {
		field := fmt.Sprintf("patch_rules[%d]", i)
		switch by := s.redundant(i); {
		case r.MinPatch == 0:
			hint(field, "redundant: every client has patch 0 or more")
		case by >= 0:
			hint(field, "redundant: patch_rules[%d] asks for as much, of the same clients", by)
		case !s.Active().Has(r.Logic):
			hint(field, "no effect while logic version %d is not active", r.Logic)
		}
	}
	if _, set := s.Messages[PopupLoop]; set {
		hint("messages."+PopupLoop, "no effect: the client shows this one by itself, without an answer from here")
	}
	if !d.Versioned {
		return all
	}
	snapshot := d.snapshot(s)
	if missing := snapshot.missingBaselines(); len(missing) > 0 && s.Components != PolicyOff {
		hint("components", "not compared for logic version %s, whose components are unknown", ranges(missing))
	}
	for _, u := range snapshot.Unserved() {
		hint("active_max", "clients of %s can't be updated: %s", u.Target, u.Why)
	}
	return all
}

// redundant is the index of a patch rule that covers rule i; -1 is none. Of two that say the same the later one is redundant.
func (s Settings) redundant(i int) int {
	r := s.PatchRules[i]
	for j, other := range s.PatchRules {
		if j == i || other.Logic != r.Logic || other.MinPatch < r.MinPatch || !covers(other.Target, r.Target) {
			continue
		}
		if same := other.MinPatch == r.MinPatch && covers(r.Target, other.Target); !same || j < i {
			return j
		}
	}
	return -1
}

// covers reports whether a pattern stands for all that another one stands for, as far as that can be seen without trying names.
func covers(pattern, other string) bool {
	switch {
	case pattern == "" || pattern == "*" || pattern == other:
		return true
	case other == "" || strings.ContainsAny(other, `*?[\`):
		return false
	default:
		return matches(pattern, other)
	}
}
