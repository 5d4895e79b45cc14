package compat_test

import (
	"slices"
	"testing"

	"collet/netproto/compat"
)

// TestVerdictNumbers are fixed. They stand on the wire.
func TestVerdictNumbers(t *testing.T) {
	words := []string{
		"ACCEPT", "UPDATE_RESOURCES", "UPDATE_BINARIES", "UPDATE_VIA_STORE", "NO_NATIVE_UPDATE", "CLIENT_TOO_NEW", "REDIRECT",
		"UPDATER_MISMATCH", "COMPONENTS_MISMATCH", "MAINTENANCE",
	}
	for n, word := range words {
		if v := compat.Verdict(n); v.String() != word || !v.Known() {
			t.Errorf("verdict %d is %s, want %s", n, v, word)
		}
	}
	if v := compat.Verdict(len(words)); v.Known() || v.String() != "VERDICT_10" {
		t.Errorf("a verdict of the future is %s", v)
	}
	numbers := []compat.Rule{
		compat.RuleNone, compat.RuleUpdater, compat.RuleRedirect, compat.RuleMaintenance, compat.RuleTooNew, compat.RuleTooOld, compat.RulePatch,
		compat.RuleFloor, compat.RuleString, compat.RuleComponents, compat.RuleContent, compat.RuleAccept,
	}
	for n, r := range numbers {
		if int(r) != n {
			t.Errorf("rule %d has number %d", n, r)
		}
	}
	if compat.ReasonOf(compat.RuleUpdater) != 1 || compat.ReasonOf(compat.RuleContent) != 1<<9 {
		t.Error("the bit of a reason has moved")
	}
	if compat.WarnComponents != 1 || compat.WarnNewer != 2 || compat.WarnNoBaseline != 4 {
		t.Error("the bit of a warning has moved")
	}
	if compat.FlagDevelopment != 1 || compat.FlagManifest != 2 || compat.FlagRedirected != 4 || compat.FlagAfterUpdate != 8 {
		t.Error("the bit of a flag has moved")
	}
}

// TestEngineBooleans: what a handshake of before the verdicts can say of each.
func TestEngineBooleans(t *testing.T) {
	for v := compat.Accept; v <= compat.Maintenance; v++ {
		j := compat.Judgement{Verdict: v}
		if plays := v <= compat.UpdateResources; j.Plays() != plays || j.CompatibilityOutdated() == plays {
			t.Errorf("%s plays: %v, outdated: %v", v, j.Plays(), j.CompatibilityOutdated())
		}
		if j.UpdaterOutdated() != (v == compat.UpdaterMismatch) {
			t.Errorf("%s: the updater is outdated: %v", v, j.UpdaterOutdated())
		}
	}
}

// TestPopups is the column of popups in docs/COMPATIBILITY.md, "What a player sees", and that a pinned account is told whatever the verdict.
func TestPopups(t *testing.T) {
	for v, want := range []string{"", "", "", "P-STORE", "P-NOBIN", "P-NEWER", "", "P-UPDATER", "P-DEV", "P-MAINT", ""} {
		j := compat.Judgement{Verdict: compat.Verdict(v)}
		if got := j.Popup(compat.UpdaterSame); got != want {
			t.Errorf("%s shows %q, want %q", j.Verdict, got, want)
		}
		j.Rule = compat.RuleFloor
		if got := j.Popup(compat.UpdaterSame); got != "P-PIN" {
			t.Errorf("%s of a pinned account shows %q", j.Verdict, got)
		}
		if want != "" && !slices.Contains(compat.Popups(), want) {
			t.Errorf("%s is none of the popups", want)
		}
	}
	mismatch := compat.Judgement{Verdict: compat.UpdaterMismatch}
	if old, newer := mismatch.Popup(compat.UpdaterOlder), mismatch.Popup(compat.UpdaterNewer); old != "P-UPDATER" || newer != "P-NEWER" {
		t.Errorf("an older updater is shown %s, a newer one %s", old, newer)
	}
	if len(compat.Popups()) != 8 {
		t.Error(compat.Popups())
	}
}

// TestMessage: the operator's text goes out with the popup that it is for, and nothing without a text.
func TestMessage(t *testing.T) {
	s := &compat.Snapshot{Messages: map[string]string{"P-MAINT": "Back at noon.", "": "never"}}
	for v, want := range map[compat.Verdict][2]string{compat.Maintenance: {"P-MAINT", "Back at noon."}, compat.UpdateViaStore: {}, compat.Accept: {}} {
		if key, text := s.Message(compat.Judgement{Verdict: v}, compat.UpdaterSame); key != want[0] || text != want[1] {
			t.Errorf("%s: %q, %q", v, key, text)
		}
	}
}

// TestStoreURL: the name before patterns, and the longer pattern before the shorter.
func TestStoreURL(t *testing.T) {
	s := &compat.Snapshot{StoreURLs: map[string]string{
		"iOS-arm64": "exact", "iOS-*": "longer", "iOS*": "shorter", "*": "any", "An*": "a", "A*d": "b", "And?oid": "same", "An??oid": "first",
	}}
	for target, want := range map[string]string{"iOS-arm64": "exact", "iOS-simulator": "longer", "iOS": "shorter", "Web-wasm": "any", "Android": "first", "Ax": "any"} {
		for range 20 { // maps have no order
			if got := s.StoreURL(target); got != want {
				t.Fatalf("%s leads to %q, want %q", target, got, want)
			}
		}
	}
	if got := (&compat.Snapshot{}).StoreURL("iOS-arm64"); got != "" {
		t.Errorf("a link out of nothing: %q", got)
	}
}
