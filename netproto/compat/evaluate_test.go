package compat_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"collet/netproto/compat"
)

// production is the server of the examples below.
func production() *compat.Snapshot {
	return &compat.Snapshot{
		Revision: 12, Compatibility: "L8-0000000000000088", Versioned: true, Supported: supported, Active: active, Components: 0x88,
		Baselines: map[int32]uint64{5: 0x55, 6: 0x66, 7: 0x77, 8: 0x88}, Policy: compat.PolicyEnforce,
		Build: compat.Build{Logic: 8, Components: 0x88, Seq: 841, Branch: "main"},
		Targets: map[string]compat.Target{
			"Windows-win64": {Payloads: []compat.Payload{{Logic: 8, Components: 0x88}, {Logic: 7, Components: 0x77}, {Logic: 6, Components: 0x66}}},
			"iOS-arm64":     {Store: true}, "Android-arm64": {Store: true}, "Linux-arm64": {},
		},
	}
}

// player is a client of a logic version with that version's components, of an older build than the server's.
func player(logic int32, target string) compat.Hello {
	return compat.Hello{Tagged: true, Target: target, Build: compat.Build{
		Logic: logic, Components: baselines[logic], Seq: 812, Branch: "main", Compatibility: "any",
	}}
}

// TestExamples judges clients of every kind that a server meets.
func TestExamples(t *testing.T) {
	const windows, android, ios, linux = "Windows-win64", "Android-arm64", "iOS-arm64", "Linux-arm64"
	for _, e := range []struct {
		name     string
		target   string
		logic    int32
		change   func(s *compat.Snapshot, h *compat.Hello)
		verdict  compat.Verdict
		warnings compat.Warnings
	}{
		{"logic 4, binary on offer", windows, 4, nil, compat.UpdateBinaries, 0},
		{"logic 5, binary on offer", windows, 5, nil, compat.UpdateBinaries, 0},
		{"logic 5, a store", android, 5, nil, compat.UpdateViaStore, 0},
		{"logic 5, no payload", linux, 5, nil, compat.NoNativeUpdate, 0},
		{"logic 6 with its baseline", windows, 6, nil, compat.Accept, compat.WarnNewer},
		{"logic 6 with its baseline, no payload", linux, 6, nil, compat.Accept, compat.WarnNewer},
		{"logic 6, played 7 before", windows, 6, func(_ *compat.Snapshot, h *compat.Hello) { h.Floor = 7 }, compat.UpdateBinaries, 0},
		{"logic 7 patch 2, rule iOS >= 3", ios, 7, func(s *compat.Snapshot, h *compat.Hello) {
			s.PatchRules, h.Patch = []compat.PatchRule{{Logic: 7, Target: "iOS-*", MinPatch: 3}}, 2
		}, compat.UpdateViaStore, 0},
		{"logic 8, no redirect", windows, 8, nil, compat.ClientTooNew, 0},
		{"logic 9, redirect on", android, 9, func(s *compat.Snapshot, _ *compat.Hello) { s.Redirect = &endpoint }, compat.Redirect, 0},
		{"logic 7, hash differs, older", windows, 7, func(_ *compat.Snapshot, h *compat.Hello) { h.Build.Components = 1 }, compat.UpdateBinaries, 0},
		{"logic 7, hash differs, newer", windows, 7, func(_ *compat.Snapshot, h *compat.Hello) { h.Build.Components, h.Build.Seq = 1, 900 }, compat.ClientTooNew, 0},
		{"logic 7, hash differs, dev, enforce", windows, 7, func(s *compat.Snapshot, h *compat.Hello) { h.Build.Components, s.Development = 1, true }, compat.ComponentsMismatch, 0},
		{"logic 7, hash differs, dev, warn", windows, 7, func(s *compat.Snapshot, h *compat.Hello) {
			h.Build.Components, s.Development, s.Policy = 1, true, compat.PolicyWarn
		}, compat.Accept, compat.WarnComponents},
	} {
		t.Run(e.name, func(t *testing.T) {
			s, h := production(), player(e.logic, e.target)
			if e.change != nil {
				e.change(s, &h)
			}
			j := compat.Evaluate(s, &h)
			if j.Verdict != e.verdict || j.Warnings != e.warnings {
				t.Errorf("%s with warnings %b by rule %d, want %s with %b", j.Verdict, j.Warnings, j.Rule, e.verdict, e.warnings)
			}
			if why := invariants(s, &h, j); why != "" {
				t.Error(why)
			}
		})
	}
}

// obstacles are what makes each rule apply, to a client of logic version 6 that would play otherwise.
var obstacles = []struct {
	rule  compat.Rule
	raise func(s *compat.Snapshot, h *compat.Hello)
}{
	{compat.RuleUpdater, func(_ *compat.Snapshot, h *compat.Hello) { h.Updater = compat.UpdaterOlder }},
	{compat.RuleMaintenance, func(s *compat.Snapshot, _ *compat.Hello) { s.Maintenance = true }},
	{compat.RuleTooOld, func(s *compat.Snapshot, _ *compat.Hello) { s.Active.Min = 7 }},
	{compat.RulePatch, func(s *compat.Snapshot, _ *compat.Hello) { s.PatchRules = []compat.PatchRule{{Logic: 6, MinPatch: 1}} }},
	{compat.RuleFloor, func(_ *compat.Snapshot, h *compat.Hello) { h.Floor = 7 }},
	{compat.RuleString, func(s *compat.Snapshot, _ *compat.Hello) { s.Custom, s.Compatibility = true, "game-8" }},
	{compat.RuleComponents, func(_ *compat.Snapshot, h *compat.Hello) { h.Build.Components = 1 }},
	{compat.RuleContent, func(s *compat.Snapshot, _ *compat.Hello) { s.Content = "packs-2" }},
}

// TestRuleOrder raises each obstacle together with all that come behind it: the first decides, and all are named.
func TestRuleOrder(t *testing.T) {
	for first := range obstacles {
		s, h, reasons := production(), player(6, "Windows-win64"), compat.Reasons(0)
		for _, o := range obstacles[first:] {
			o.raise(s, &h)
			reasons |= compat.ReasonOf(o.rule)
		}
		if j := compat.Evaluate(s, &h); j.Rule != obstacles[first].rule || j.Reasons != reasons {
			t.Errorf("rule %d for reasons %011b, want rule %d for %011b", j.Rule, j.Reasons, obstacles[first].rule, reasons)
		}
	}
	// the two rules for too new clients can't apply together with the rule for too old ones
	s, h := production(), player(8, "Windows-win64")
	s.Redirect, s.Maintenance = &endpoint, true
	for _, want := range []compat.Rule{compat.RuleRedirect, compat.RuleMaintenance, compat.RuleTooNew} {
		if j := compat.Evaluate(s, &h); j.Rule != want {
			t.Errorf("rule %d, want %d", j.Rule, want)
		}
		if want == compat.RuleRedirect {
			s.Redirect = nil
		} else {
			s.Maintenance = false
		}
	}
}

// TestT10NewerNeverDownloads: what is newer by its logic version, or by its components and its age, is never told to fetch anything,
// whatever else is wrong with it.
func TestT10NewerNeverDownloads(t *testing.T) {
	byTime := func(b *compat.Build) { b.Seq, b.Time = 0, 2_000_000_061 }
	bySeq := func(b *compat.Build) { b.Seq = 842 }
	cases := 0
	for _, age := range []func(*compat.Build){byTime, bySeq} {
		for _, target := range []string{"Windows-win64", "iOS-arm64", "Linux-arm64", "unknown"} {
			for obstacle := range 1 << len(obstacles) {
				for _, newLogic := range []bool{false, true} {
					s, h := production(), player(6, target)
					s.Build.Time = 2_000_000_000
					for i, o := range obstacles {
						if obstacle>>i&1 == 1 && o.rule != compat.RuleTooOld && o.rule != compat.RulePatch && o.rule != compat.RuleFloor {
							o.raise(s, &h)
						}
					}
					age(&h.Build)
					if newLogic {
						h.Build.Logic = 8
					} else {
						h.Build.Components = 0xbad
					}
					cases++
					j := compat.Evaluate(s, &h)
					if j.Verdict == compat.UpdateBinaries || j.Verdict == compat.UpdateViaStore || j.Verdict == compat.NoNativeUpdate || j.Plays() {
						t.Fatalf("newLogic %v, obstacles %b, %s: %s by rule %d", newLogic, obstacle, target, j.Verdict, j.Rule)
					}
				}
			}
		}
	}
	if cases < 4000 {
		t.Errorf("only %d cases", cases)
	}
}

// TestT12RedirectOnce: a client that is too new is sent on once; where it arrives and is too new again it is told so.
func TestT12RedirectOnce(t *testing.T) {
	s, h := production(), player(9, "Windows-win64")
	s.Redirect = &endpoint
	j := compat.Evaluate(s, &h)
	if j.Verdict != compat.Redirect || j.Endpoint == nil || *j.Endpoint != endpoint {
		t.Fatalf("%+v", j)
	}
	h.Flags |= compat.FlagRedirected
	if j = compat.Evaluate(s, &h); j.Verdict != compat.ClientTooNew || j.Endpoint != nil || j.Reasons&compat.ReasonOf(compat.RuleRedirect) != 0 {
		t.Errorf("the second time: %+v", j)
	}
	h = player(5, "Windows-win64")
	if j = compat.Evaluate(s, &h); j.Verdict != compat.UpdateBinaries {
		t.Errorf("one who is too old is sent on: %+v", j)
	}
}

// TestEnginesAreKnownByTheirString: a client that can say nothing but its compatibility version is judged by what that says.
func TestEnginesAreKnownByTheirString(t *testing.T) {
	own, custom := production(), production()
	custom.Custom, custom.Compatibility = true, "game-8"
	for _, e := range []struct {
		name   string
		server *compat.Snapshot
		says   string
		want   compat.Verdict
		rule   compat.Rule
	}{
		{"derived and active", own, compat.Derived(7, 0x77), compat.Accept, compat.RuleAccept},
		{"derived and of another active version", own, compat.Derived(6, 0x66), compat.Accept, compat.RuleAccept},
		{"derived with other components", own, compat.Derived(7, 0x78), compat.UpdateBinaries, compat.RuleComponents},
		{"derived and too old", own, compat.Derived(5, 0x55), compat.UpdateBinaries, compat.RuleTooOld},
		{"derived and too new", own, compat.Derived(8, 0x88), compat.ClientTooNew, compat.RuleTooNew},
		{"something else", own, "0123456789abcdef", compat.UpdateBinaries, compat.RuleTooOld},
		{"nothing", own, "", compat.UpdateBinaries, compat.RuleTooOld},
		{"the game's own", custom, "game-8", compat.Accept, compat.RuleAccept},
		{"another one of the game's", custom, "game-7", compat.UpdateBinaries, compat.RuleString},
		{"derived where the game has its own", custom, compat.Derived(7, 0x77), compat.UpdateBinaries, compat.RuleString},
		{"derived and too new where the game has its own", custom, compat.Derived(9, 0x77), compat.ClientTooNew, compat.RuleTooNew},
	} {
		h := compat.Hello{Target: "Windows-win64", Build: compat.Build{Compatibility: e.says, Logic: 7, Components: 0x77}}
		if j := compat.Evaluate(e.server, &h); j.Verdict != e.want || j.Rule != e.rule {
			t.Errorf("%s: %s by rule %d, want %s by %d", e.name, j.Verdict, j.Rule, e.want, e.rule)
		}
	}
}

// TestEnginesAreNotToldOfPacks: an engine compares files by itself, so packs that it can't name are no reason.
func TestEnginesAreNotToldOfPacks(t *testing.T) {
	s := production()
	s.Content = "packs-2"
	h := player(7, "Windows-win64")
	if j := compat.Evaluate(s, &h); j.Verdict != compat.UpdateResources {
		t.Errorf("one without packs: %s", j.Verdict)
	}
	h.Content = "packs-2"
	if j := compat.Evaluate(s, &h); j.Verdict != compat.Accept {
		t.Errorf("one with these packs: %s", j.Verdict)
	}
	h = compat.Hello{Target: "Windows-win64", Build: compat.Build{Compatibility: compat.Derived(7, 0x77)}}
	if j := compat.Evaluate(s, &h); j.Verdict != compat.Accept || j.Reasons != 0 {
		t.Errorf("an engine: %s for %b", j.Verdict, j.Reasons)
	}
}

// TestUnversioned is a server that was never told a logic version: it compares strings, and what clients say of versions is nothing
// to it.
func TestUnversioned(t *testing.T) {
	s := &compat.Snapshot{
		Compatibility: "compat-A", Custom: true, Policy: compat.PolicyEnforce, Baselines: map[int32]uint64{3: 0x33},
		Targets: map[string]compat.Target{"Linux-x64": {Payloads: []compat.Payload{{Undeclared: true, Name: "game.so"}}}, "Windows-win64": {}},
	}
	for _, e := range []struct {
		says, target string
		store        bool
		want         compat.Verdict
	}{
		{"compat-A", "Linux-x64", false, compat.Accept}, {"compat-A", "unknown", true, compat.Accept},
		{"compat-B", "Linux-x64", false, compat.UpdateBinaries}, {"compat-B", "Windows-win64", false, compat.NoNativeUpdate},
		{"compat-B", "Android-arm64", true, compat.UpdateViaStore}, {"", "Linux-x64", true, compat.UpdateViaStore},
		{"COMPAT-A", "Linux-x64", false, compat.UpdateBinaries}, {"compat-A ", "Linux-x64", false, compat.UpdateBinaries},
	} {
		for says := range 4 {
			tagged := says&1 == 1
			s.Custom = says&2 == 0 // a version that is compared is the game's own, also without a declaration
			h := compat.Hello{Target: e.target, Store: e.store, Tagged: tagged, Floor: 9, Build: compat.Build{Compatibility: e.says, Logic: 3, Components: 1}}
			j := compat.Evaluate(s, &h)
			if j.Verdict != e.want || j.Warnings != 0 || j.Verdict == compat.UpdateBinaries && j.Payload.Name != "game.so" {
				t.Errorf("%+v: %+v", e, j)
			}
			if why := invariants(s, &h, j); why != "" {
				t.Errorf("%+v: %s", e, why)
			}
		}
	}
}

// TestPayloads: the newest module that helps is offered, and none that doesn't.
func TestPayloads(t *testing.T) {
	const here = "Windows-win64"
	type ps = []compat.Payload
	six, seven, eight := compat.Payload{Name: "6", Logic: 6, Components: 0x66}, compat.Payload{Name: "7", Logic: 7, Components: 0x77}, compat.Payload{Name: "8", Logic: 8, Components: 0x88}
	patched := func(p compat.Payload, patch uint32) compat.Payload { p.Patch, p.Name = patch, p.Name+"+"; return p }
	for _, e := range []struct {
		name   string
		have   ps
		client func(s *compat.Snapshot, h *compat.Hello)
		want   string // the payload; empty for NO_NATIVE_UPDATE
	}{
		{"the newest active one", ps{eight, seven, six}, nil, "7"},
		{"an older active one", ps{eight, six}, nil, "6"},
		{"only a dormant one (T11)", ps{eight}, nil, ""},
		{"only one that is too old itself (T11)", ps{{Logic: 5, Components: 0x55}}, nil, ""},
		{"only one without a sidecar (T11)", ps{{Logic: 7, Components: 0x77, Undeclared: true}}, nil, ""},
		{"one with other components", ps{{Logic: 7, Components: 1}, six}, nil, "6"},
		{"one with unknown components", ps{{Logic: 7}, six}, nil, "6"},
		{"one with other components, tolerated", ps{{Name: "odd", Logic: 7, Components: 1}, six}, func(s *compat.Snapshot, _ *compat.Hello) { s.Policy = compat.PolicyWarn }, "odd"},
		{"one below the account's floor", ps{six}, func(_ *compat.Snapshot, h *compat.Hello) { h.Floor = 7 }, ""},
		{"one below a developer's floor", ps{six}, func(_ *compat.Snapshot, h *compat.Hello) { h.Floor, h.Developer = 7, true }, "6"},
		{"one with a patch that the rules refuse", ps{seven, patched(six, 4)}, func(s *compat.Snapshot, _ *compat.Hello) {
			s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Win*", MinPatch: 2}, {Logic: 6, Target: here, MinPatch: 4}}
		}, "6+"},
		{"one with a patch that one of the rules refuses", ps{patched(seven, 1), six}, func(s *compat.Snapshot, _ *compat.Hello) {
			s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Win*", MinPatch: 2}, {Logic: 7, MinPatch: 1}}
		}, "6"},
		{"the same version with a patch that is enough", ps{seven, patched(six, 2)}, func(s *compat.Snapshot, h *compat.Hello) {
			h.Build.Logic, h.Build.Components = 6, 0x66
			s.PatchRules = []compat.PatchRule{{Logic: 6, MinPatch: 2}, {Logic: 7, MinPatch: 1}}
		}, "6+"},
		{"an older version for a patch", ps{six}, func(s *compat.Snapshot, h *compat.Hello) {
			h.Build.Logic, h.Build.Components = 7, 0x77
			s.PatchRules = []compat.PatchRule{{Logic: 7, MinPatch: 2}}
		}, ""},
		{"the same version for other components", ps{seven}, func(_ *compat.Snapshot, h *compat.Hello) { h.Build.Logic, h.Build.Components = 7, 1 }, "7"},
		{"the same version for components that were not told", ps{seven}, func(_ *compat.Snapshot, h *compat.Hello) { h.Build.Logic, h.Build.Components = 7, 0 }, "7"},
		{"the same version to a newer build that told none", ps{seven}, func(_ *compat.Snapshot, h *compat.Hello) {
			h.Build.Logic, h.Build.Components, h.Build.Seq = 7, 0, 900
		}, ""},
		{"the same module for another name", ps{seven}, func(s *compat.Snapshot, h *compat.Hello) {
			h.Build.Logic, h.Build.Components = 7, 0x77
			s.Custom, s.Compatibility = true, "game-8"
		}, "7"},
	} {
		t.Run(e.name, func(t *testing.T) {
			s, h := production(), player(5, here)
			s.Targets[here] = compat.Target{Payloads: e.have}
			if e.client != nil {
				e.client(s, &h)
			}
			j := compat.Evaluate(s, &h)
			switch {
			case e.want == "" && j.Verdict != compat.NoNativeUpdate:
				t.Errorf("%s by rule %d, want none", j.Verdict, j.Rule)
			case e.want != "" && (j.Payload == nil || j.Payload.Name != e.want):
				t.Errorf("%s by rule %d with %+v, want module %s", j.Verdict, j.Rule, j.Payload, e.want)
			}
			if why := invariants(s, &h, j); why != "" {
				t.Error(why)
			}
		})
	}
}

// TestMaintenance: affected clients, and the time to wait.
func TestMaintenance(t *testing.T) {
	now := time.Date(2026, 3, 2, 14, 5, 0, 0, time.UTC)
	s, h := production(), player(7, "iOS-arm64")
	s.Maintenance, s.RetryAfter = true, 77
	for _, e := range []struct {
		name       string
		targets    []string
		developer  bool
		until, now time.Time
		want       compat.Verdict
		retry      uint32
	}{
		{"everyone, time unknown", nil, false, time.Time{}, now, compat.Maintenance, 77},
		{"without an end", nil, false, now, time.Time{}, compat.Maintenance, 77},
		{"in ten minutes", nil, false, now.Add(10 * time.Minute), now, compat.Maintenance, 600},
		{"a part of a second is waited for", nil, false, now.Add(10*time.Minute + 1), now, compat.Maintenance, 601},
		{"it takes longer than was thought", nil, false, now.Add(-time.Hour), now, compat.Maintenance, 60},
		{"beyond what the wire can say", nil, false, now.AddDate(280, 0, 0), now, compat.Maintenance, math.MaxUint32},
		{"this target", []string{"Android-*", "iOS-*"}, false, time.Time{}, now, compat.Maintenance, 77},
		{"another target", []string{"Android-*"}, false, time.Time{}, now, compat.Accept, 0},
		{"what is no pattern", []string{"["}, false, time.Time{}, now, compat.Accept, 0},
		{"a developer", nil, true, time.Time{}, now, compat.Accept, 0},
	} {
		s.Targeted, s.Until, h.Developer, h.Now = e.targets, e.until, e.developer, e.now
		if j := compat.Evaluate(s, &h); j.Verdict != e.want || j.RetryAfter != e.retry {
			t.Errorf("%s: %s, retry after %d, want %s after %d", e.name, j.Verdict, j.RetryAfter, e.want, e.retry)
		}
	}
}

// TestBaselines: unknown components are not compared but warned of, and a tolerated difference is told with each verdict.
func TestBaselines(t *testing.T) {
	for _, e := range []struct {
		policy   compat.Policy
		baseline uint64
		sent     uint64
		want     compat.Verdict
		warnings compat.Warnings
	}{
		{compat.PolicyEnforce, 0x66, 0x66, compat.Accept, compat.WarnNewer},
		{compat.PolicyEnforce, 0x66, 0, compat.UpdateBinaries, 0},
		{compat.PolicyEnforce, 0, 0, compat.Accept, compat.WarnNewer | compat.WarnNoBaseline},
		{compat.PolicyEnforce, 0, 5, compat.Accept, compat.WarnNewer | compat.WarnNoBaseline},
		{compat.PolicyWarn, 0x66, 5, compat.Accept, compat.WarnNewer | compat.WarnComponents},
		{compat.PolicyWarn, 0x66, 0, compat.Accept, compat.WarnNewer | compat.WarnComponents},
		{compat.PolicyWarn, 0, 0, compat.Accept, compat.WarnNewer | compat.WarnNoBaseline},
		{compat.PolicyOff, 0x66, 5, compat.Accept, compat.WarnNewer},
		{compat.PolicyOff, 0, 5, compat.Accept, compat.WarnNewer},
		{"", 0x66, 5, compat.Accept, compat.WarnNewer},
	} {
		s, h := production(), player(6, "Windows-win64")
		s.Policy, s.Baselines[6], h.Build.Components = e.policy, e.baseline, e.sent
		if j := compat.Evaluate(s, &h); j.Verdict != e.want || j.Warnings != e.warnings {
			t.Errorf("%+v: %s with warnings %03b by rule %d", e, j.Verdict, j.Warnings, j.Rule)
		}
	}
}

// hardest is a judgement that has to look at all that settings can hold: 32 rules for the client, and 32 targets under maintenance.
func hardest() (*compat.Snapshot, compat.Hello) {
	s, h := production(), player(5, "Windows-win64")
	for i := range compat.MaxPatchRules {
		s.PatchRules = append(s.PatchRules, compat.PatchRule{Logic: 5, Target: "Windows-*", MinPatch: uint32(i) + 1})
	}
	s.Maintenance, s.Content = true, "packs-2"
	for range compat.MaxTargeted {
		s.Targeted = append(s.Targeted, "Android-*")
	}
	return s, h
}

// TestEvaluateAllocatesNothing, whatever the verdict.
func TestEvaluateAllocatesNothing(t *testing.T) {
	s, h := hardest()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		h.Build.Logic, h.Build.Components, h.Updater = random.Int32N(10), random.Uint64N(3), compat.Updater(random.IntN(8)/6)
		h.Tagged, h.Floor = random.IntN(4) > 0, random.Int32N(10)
		h.Build.Compatibility = compat.Derived(random.Int32N(10), 0x77)
		if n := testing.AllocsPerRun(10, func() { compat.Evaluate(s, &h) }); n != 0 {
			t.Fatalf("%v allocations for %+v", n, h)
		}
	}
}

// BenchmarkEvaluate must stay below a microsecond, without an allocation.
func BenchmarkEvaluate(b *testing.B) {
	s, h := production(), player(7, "Windows-win64")
	engine := compat.Hello{Target: "Windows-win64", Build: compat.Build{Compatibility: compat.Derived(7, 0x77)}}
	hard, old := hardest()
	for _, e := range []struct {
		name string
		s    *compat.Snapshot
		h    *compat.Hello
	}{{"accept", s, &h}, {"engine", s, &engine}, {"hardest", hard, &old}} {
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compat.Evaluate(e.s, e.h)
			}
		})
	}
}
