package compat_test

import (
	"strings"
	"testing"

	"collet/netproto/compat"
)

// everyCase calls f for every combination of what a snapshot and a hello can say. Strings count as equal, different,
// and empty on either side; a reach beyond the table stands for a value that nobody knows.
func everyCase(f func(s compat.Snapshot, h compat.Hello)) (cases int) {
	texts := []string{"", "compat-A", "compat-B", "COMPAT-A", "compat-A "}
	for _, served := range texts {
		for _, sent := range texts {
			for _, maintenance := range []bool{false, true} {
				for _, retry := range []uint32{0, 600} {
					for _, match := range []bool{false, true} {
						for reach := range 256 {
							cases++
							f(compat.Snapshot{Compatibility: served, Maintenance: maintenance, RetryAfter: retry},
								compat.Hello{Compatibility: sent, UpdaterMatch: match, Reach: compat.Reach(reach)})
						}
					}
				}
			}
		}
	}
	return cases
}

// TestInvariants states, over every input, what must hold of the merged design of the verdict as far as its inputs exist.
func TestInvariants(t *testing.T) {
	reached := make(map[compat.Verdict]int)
	cases := everyCase(func(s compat.Snapshot, h compat.Hello) {
		j := compat.Evaluate(s, h)
		reached[j.Verdict]++
		equal := s.Compatibility == h.Compatibility
		plays := j.Verdict == compat.Accept || j.Verdict == compat.UpdateResources
		for broken, is := range map[string]bool{
			"play is allowed where updater, maintenance or compatibility forbid it": plays != (h.UpdaterMatch && !s.Maintenance && equal),
			"a store platform is told to fetch a module":                            h.Reach == compat.ReachStore && j.Verdict == compat.UpdateBinaries,
			"a client is told to fetch a module that is not on offer":               h.Reach != compat.ReachSelf && j.Verdict == compat.UpdateBinaries,
			"a client is sent to a store that can update itself":                    h.Reach != compat.ReachStore && j.Verdict == compat.UpdateViaStore,
			"another updater is told something else":                                (j.Verdict == compat.UpdaterMismatch) == h.UpdaterMatch,
			"maintenance is announced where there is none":                          j.Verdict == compat.Maintenance && !s.Maintenance,
			"a time to retry is named outside of maintenance":                       j.RetryAfter != 0 && j.Verdict != compat.Maintenance,
			"maintenance does not say when to retry":                                j.Verdict == compat.Maintenance && j.RetryAfter != s.RetryAfter,
			"the server's own version is withheld":                                  j.Compatibility != s.Compatibility,
			"a verdict has no number of its own":                                    !j.Verdict.Known(),
			"a verdict has no rule":                                                 j.Rule == compat.RuleNone,
			"the same question has two answers":                                     compat.Evaluate(s, h) != j,
		} {
			if is {
				t.Fatalf("%s: %+v, %+v: %+v", broken, s, h, j)
			}
		}
	})
	if cases != 5*5*2*2*2*256 {
		t.Errorf("%d cases", cases)
	}
	for _, v := range []compat.Verdict{compat.Accept, compat.UpdateBinaries, compat.UpdateViaStore, compat.NoNativeUpdate, compat.UpdaterMismatch, compat.Maintenance} {
		if reached[v] == 0 {
			t.Errorf("%v is never reached", v)
		}
		delete(reached, v)
	}
	if len(reached) != 0 {
		t.Errorf("verdicts without a rule: %v", reached)
	}
}

// TestRules is the table of rules in its order: each row meets every condition of the rows below it as well, so that only
// the order can decide.
func TestRules(t *testing.T) {
	current := compat.Hello{Compatibility: "A", UpdaterMatch: true, Reach: compat.ReachSelf}
	tests := []struct {
		name  string
		s     compat.Snapshot
		h     compat.Hello
		want  compat.Verdict
		rule  compat.Rule
		retry uint32
	}{
		{"R1 before all", compat.Snapshot{Compatibility: "A", Maintenance: true, RetryAfter: 9}, compat.Hello{Compatibility: "B", Reach: compat.ReachSelf}, compat.UpdaterMismatch, compat.RuleUpdater, 0},
		{"R3 before R8", compat.Snapshot{Compatibility: "A", Maintenance: true, RetryAfter: 9}, compat.Hello{Compatibility: "B", UpdaterMatch: true, Reach: compat.ReachSelf}, compat.Maintenance, compat.RuleMaintenance, 9},
		{"R3 for a current client", compat.Snapshot{Compatibility: "A", Maintenance: true}, current, compat.Maintenance, compat.RuleMaintenance, 0},
		{"R8, a module is on offer", compat.Snapshot{Compatibility: "B"}, current, compat.UpdateBinaries, compat.RuleString, 0},
		{"R8, none is", compat.Snapshot{Compatibility: "B"}, compat.Hello{Compatibility: "A", UpdaterMatch: true, Reach: compat.ReachNone}, compat.NoNativeUpdate, compat.RuleString, 0},
		{"R8, from a store", compat.Snapshot{Compatibility: "B"}, compat.Hello{Compatibility: "A", UpdaterMatch: true, Reach: compat.ReachStore}, compat.UpdateViaStore, compat.RuleString, 0},
		{"R8, nobody knows", compat.Snapshot{Compatibility: "B"}, compat.Hello{Compatibility: "A", UpdaterMatch: true}, compat.NoNativeUpdate, compat.RuleString, 0},
		{"R8 is exact", compat.Snapshot{Compatibility: "a"}, current, compat.UpdateBinaries, compat.RuleString, 0},
		{"R11", compat.Snapshot{Compatibility: "A", RetryAfter: 9}, current, compat.Accept, compat.RuleAccept, 0},
		{"R11 whatever the reach", compat.Snapshot{Compatibility: "A"}, compat.Hello{Compatibility: "A", UpdaterMatch: true, Reach: compat.ReachStore}, compat.Accept, compat.RuleAccept, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := compat.Judgement{Verdict: test.want, Rule: test.rule, Compatibility: test.s.Compatibility, RetryAfter: test.retry}
			if got := compat.Evaluate(test.s, test.h); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestNumbers pins what stands on the wire.
func TestNumbers(t *testing.T) {
	verdicts := []struct {
		v    compat.Verdict
		name string
	}{
		{compat.Accept, "ACCEPT"}, {compat.UpdateResources, "UPDATE_RESOURCES"}, {compat.UpdateBinaries, "UPDATE_BINARIES"},
		{compat.UpdateViaStore, "UPDATE_VIA_STORE"}, {compat.NoNativeUpdate, "NO_NATIVE_UPDATE"}, {compat.ClientTooNew, "CLIENT_TOO_NEW"},
		{compat.Redirect, "REDIRECT"}, {compat.UpdaterMismatch, "UPDATER_MISMATCH"}, {compat.ComponentsMismatch, "COMPONENTS_MISMATCH"},
		{compat.Maintenance, "MAINTENANCE"},
	}
	for i, row := range verdicts {
		if int(row.v) != i || row.v.String() != row.name || !row.v.Known() {
			t.Errorf("%v is %d, known %t; want %s, %d", row.v, row.v, row.v.Known(), row.name, i)
		}
	}
	for v := len(verdicts); v < 256; v++ {
		if name := compat.Verdict(v).String(); compat.Verdict(v).Known() || !strings.HasPrefix(name, "VERDICT_") {
			t.Errorf("verdict %d is known as %s", v, name)
		}
	}
	rules := map[compat.Rule]uint8{compat.RuleNone: 0, compat.RuleUpdater: 1, compat.RuleMaintenance: 3, compat.RuleString: 8, compat.RuleAccept: 11}
	for rule, number := range rules {
		if uint8(rule) != number {
			t.Errorf("rule %d, want %d", rule, number)
		}
	}
	if compat.ReachSelf != 1 || compat.ReachNone != 2 || compat.ReachStore != 3 {
		t.Error("a reach has another number")
	}
}

// TestEngineBooleans checks what an engine client is told of every verdict, known or not.
func TestEngineBooleans(t *testing.T) {
	for v := range 256 {
		j := compat.Judgement{Verdict: compat.Verdict(v)}
		if got, want := j.CompatibilityOutdated(), v != 0 && v != 1; got != want {
			t.Errorf("%v: compatibility outdated %t", j.Verdict, got)
		}
		if got, want := j.UpdaterOutdated(), v == 7; got != want {
			t.Errorf("%v: updater outdated %t", j.Verdict, got)
		}
	}
}
