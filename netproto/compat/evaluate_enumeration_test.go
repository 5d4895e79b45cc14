package compat_test

import (
	"path"
	"reflect"
	"testing"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// input is one combination of all inputs of Evaluate, each an index into its values.
type input struct {
	upd         int // equal, client old, client new
	logic       int // below supported, below active, active, above active, above supported
	patch       int // ok, low
	floor       int // ok, higher within active, higher than active_max
	text        int // derived or equal, custom differs
	hash        int // equal, differs, no baseline, not sent
	age         int // client older, client newer, unknown
	target      int // self, nobin, store
	dev         int
	policy      int // off, warn, enforce
	redirect    int // off, on, on for one who was redirected
	maintenance int
	content     int // same, differs
	developer   int
}

// sizes are how many values each input has, in the order of its fields.
var sizes = []int{3, 5, 2, 3, 2, 4, 3, 3, 2, 3, 3, 2, 2, 2}

// everyInput calls f for every stride-th combination, and says how many there are. A stride that no size divides meets each pair of
// values, too.
func everyInput(stride int, f func(in input)) (cases int) {
	var in input
	fields := reflect.ValueOf(&in).Elem()
	all := make([]*int, fields.NumField())
	for i := range all {
		all[i] = (*int)(fields.Field(i).Addr().UnsafePointer())
	}
	for {
		if cases%stride == 0 {
			f(in)
		}
		cases++
		i := 0
		for ; i < len(all); i++ {
			if *all[i]++; *all[i] < sizes[i] {
				break
			}
			*all[i] = 0
		}
		if i == len(all) {
			return cases
		}
	}
}

// The world of the enumeration is that of the examples: supported 5 to 8, active 6 to 7, a server of logic version 8.
var (
	supported = compat.Range{Min: 5, Max: 8}
	active    = compat.Range{Min: 6, Max: 7}
	logics    = []int32{4, 5, 6, 8, 9}
	floors    = []int32{0, 7, 12}
	policies  = []compat.Policy{compat.PolicyOff, compat.PolicyWarn, compat.PolicyEnforce}
	endpoint  = compat.Endpoint{Host: "next.example", Port: 4000, TLS: true, BaseURL: "https://next.example/packs/"}
	baselines = map[int32]uint64{4: 0x44, 5: 0x55, 6: 0x66, 7: 0x77, 8: 0x88, 9: 0x99}
)

// worlds are the snapshots of the enumeration by what they depend on, so that a million cases make a few hundred.
type worlds map[input]*compat.Snapshot

// of is the snapshot for an input.
func (w worlds) of(in input) *compat.Snapshot {
	key := input{logic: in.logic, text: in.text, target: in.target, dev: in.dev, policy: in.policy, redirect: min(in.redirect, 1), maintenance: in.maintenance}
	if in.hash == 2 {
		key.hash = 2
	}
	if s, made := w[key]; made {
		return s
	}
	client := logics[in.logic]
	s := &compat.Snapshot{
		Revision: 12, Compatibility: "L8-0000000000000088", Content: "packs-2", Versioned: true, Supported: supported, Active: active,
		Components: 0x88, Baselines: map[int32]uint64{}, Policy: policies[in.policy], Development: in.dev == 1,
		Build:       compat.Build{Logic: 8, Components: 0x88, Seq: 841, Time: 1_772_460_300, ID: "server", Branch: "main"},
		PatchRules:  []compat.PatchRule{{Logic: client, Target: "Windows-*", MinPatch: 3}},
		Maintenance: in.maintenance == 1, RetryAfter: 600,
		Targets: map[string]compat.Target{"Windows-win64": {Store: in.target == 2}},
	}
	for logic, sum := range baselines {
		if in.hash != 2 || logic != client {
			s.Baselines[logic] = sum
		}
	}
	if in.text == 1 {
		s.Custom, s.Compatibility = true, "game-8"
	}
	if in.redirect > 0 {
		s.Redirect = &endpoint
	}
	if in.target == 0 {
		s.Targets["Windows-win64"] = compat.Target{Payloads: []compat.Payload{
			{Logic: 8, Patch: 9, Components: 0x88}, {Logic: 7, Patch: 9, Components: 0x77}, {Logic: 5, Patch: 9, Components: 0x55},
		}}
	}
	w[key] = s
	return s
}

// helloOf is what a client of an input says.
func helloOf(in input) compat.Hello {
	h := compat.Hello{
		Updater: compat.Updater(in.upd), Target: "Windows-win64", Patch: []uint32{3, 2}[in.patch], Content: []string{"packs-2", "packs-1"}[in.content],
		Tagged: true, Floor: floors[in.floor], Developer: in.developer == 1,
		Build: compat.Build{
			Logic: logics[in.logic], Components: baselines[logics[in.logic]], Seq: []uint64{812, 877, 0}[in.age], Branch: "main",
			Compatibility: []string{"L8-0000000000000088", "game-7"}[in.text],
		},
	}
	switch in.hash {
	case 1:
		h.Build.Components = 0xbad
	case 3:
		h.Build.Components = 0
	}
	if in.redirect == 2 {
		h.Flags |= compat.FlagRedirected
	}
	return h
}

// byTarget is the verdict "update" of docs/COMPATIBILITY.md, by the client's target. No module fits an account that may only play
// with more than is active.
func (in input) byTarget() compat.Verdict {
	if in.target == 0 && in.floor == 2 && in.developer == 0 {
		return compat.NoNativeUpdate
	}
	return []compat.Verdict{compat.UpdateBinaries, compat.NoNativeUpdate, compat.UpdateViaStore}[in.target]
}

// ask is the table of docs/COMPATIBILITY.md, "The verdict", written once more and from the words: nothing here looks at versions,
// hashes or patterns.
func ask(in input) (compat.Verdict, compat.Rule) {
	newer, dev, enforce := in.age == 1, in.dev == 1, in.policy == 2
	switch above := in.logic > 2; {
	case in.upd != 0:
		return compat.UpdaterMismatch, 1
	case above && in.redirect == 1:
		return compat.Redirect, 2
	case in.maintenance == 1 && in.developer == 0:
		return compat.Maintenance, 3
	case above:
		return compat.ClientTooNew, 4
	case in.logic < 2:
		return in.byTarget(), 5
	case in.patch == 1:
		return in.byTarget(), 6
	case in.floor == 1 && in.developer == 0:
		return in.byTarget(), 7
	case in.floor == 2 && in.developer == 0:
		return compat.ClientTooNew, 7
	case in.text == 1 && dev:
		return compat.ComponentsMismatch, 8
	case in.text == 1 && newer:
		return compat.ClientTooNew, 8
	case in.text == 1:
		return in.byTarget(), 8
	case enforce && dev && (in.hash == 1 || in.hash == 3):
		return compat.ComponentsMismatch, 9
	case enforce && in.hash == 1 && newer:
		return compat.ClientTooNew, 9
	case enforce && (in.hash == 1 || in.hash == 3):
		return in.byTarget(), 9
	case in.content == 1:
		return compat.UpdateResources, 10
	default:
		return compat.Accept, 11
	}
}

// TestT1Enumeration judges every combination of the inputs, every eleventh in make check, against the table and the invariants.
func TestT1Enumeration(t *testing.T) {
	reached, rules, failures, of := map[compat.Verdict]int{}, map[compat.Rule]int{}, 0, worlds{}
	cases := everyInput(testlevel.Stride(1, 11), func(in input) {
		s, h := of.of(in), helloOf(in)
		j := compat.Evaluate(s, &h)
		reached[j.Verdict]++
		rules[j.Rule]++
		verdict, rule := ask(in)
		broken := invariants(s, &h, j)
		if failures < 10 && (j.Verdict != verdict || j.Rule != rule || broken != "") {
			failures++
			t.Errorf("%+v: %s by rule %d, want %s by %d; %s", in, j.Verdict, j.Rule, verdict, rule, broken)
		}
		if h != helloOf(in) {
			t.Fatalf("%+v: the hello was written to", in)
		}
	})
	if want := 311_040 / 2 * 3 * 2; cases != want {
		t.Errorf("%d combinations, want %d", cases, want)
	}
	for v := compat.Accept; v <= compat.Maintenance; v++ {
		if reached[v] == 0 {
			t.Errorf("no input leads to %s", v)
		}
	}
	for r := compat.RuleUpdater; r <= compat.RuleAccept; r++ {
		if rules[r] == 0 {
			t.Errorf("no input is decided by rule %d", r)
		}
	}
	for key, s := range of {
		if again := (worlds{}).of(key); !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v: the snapshot was written to", key)
		}
	}
}

// invariants are what holds without exception, whatever the inputs: the name of what doesn't, or nothing. Every snapshot of it
// has either a logic version or none; the rest may be anything.
func invariants(s *compat.Snapshot, h *compat.Hello, j compat.Judgement) string {
	logic, above := h.Build.Logic, h.Build.Logic > s.Active.Max
	baseline := s.Baselines[logic]
	differs := h.Tagged && s.Versioned && baseline != 0 && h.Build.Components != baseline
	newer := compat.AgeOf(h.Build, s.Build) == compat.ClientNewer
	download, component := j.Verdict == compat.UpdateBinaries, j.Rule == compat.RuleString || j.Rule == compat.RuleComponents
	switch {
	case !j.Verdict.Known() || j.Rule < compat.RuleUpdater || j.Rule > compat.RuleAccept:
		return "no verdict or no rule of the table"
	case compat.Evaluate(s, h) != j:
		return "the same question has two answers"
	case j.Revision != s.Revision || j.Compatibility != s.Compatibility:
		return "it doesn't say who judged"
	case j.Plays() && (h.Updater != compat.UpdaterSame || s.Maintenance && !h.Developer && len(s.Targeted) == 0):
		return "it plays in spite of its updater or maintenance"
	case j.Plays() && h.Tagged && s.Versioned && (!s.Active.Has(logic) || !h.Developer && h.Floor > 0 && h.Floor > logic):
		return "it plays in spite of its logic version or its floor"
	case j.Plays() && h.Tagged && s.Versioned && h.Patch < patchWanted(s, h):
		return "it plays in spite of its patch"
	case j.Plays() && s.Policy == compat.PolicyEnforce && differs:
		return "it plays with components that are enforced to be others"
	case j.Plays() && s.Custom && h.Build.Compatibility != s.Compatibility:
		return "it plays with another compatibility version"
	case h.Tagged && s.Versioned && above && j.Verdict != compat.UpdaterMismatch && j.Verdict != compat.Redirect && j.Verdict != compat.Maintenance && j.Verdict != compat.ClientTooNew:
		return "a client above the active range is told something else than to wait or to go"
	case download && (h.Store || s.Targets[h.Target].Store):
		return "a store's platform is told to fetch a module"
	case component && s.Development && j.Verdict != compat.ComponentsMismatch:
		return "a developer's build would be replaced"
	case download && h.Tagged && s.Versioned && newer && (j.Rule == compat.RuleString || j.Rule == compat.RuleComponents && h.Build.Components != 0):
		return "a newer client is told to fetch a module"
	case (j.Verdict == compat.Redirect) != (j.Endpoint != nil) || j.Endpoint != nil && h.Flags&compat.FlagRedirected != 0:
		return "a redirect without a place, or a second one"
	case j.RetryAfter != 0 && j.Verdict != compat.Maintenance:
		return "a time to retry is named outside of maintenance"
	case (j.Rule == compat.RulePatch) != (j.MinPatch != 0) || (j.Rule == compat.RuleFloor) != (j.Floor != 0) || j.Pinned() != (j.Rule == compat.RuleFloor):
		return "the patch or the floor is told for another reason"
	case j.CompatibilityOutdated() == j.Plays() || j.UpdaterOutdated() != (j.Verdict == compat.UpdaterMismatch):
		return "the engine's booleans disagree with the verdict"
	case download != (j.Payload != nil):
		return "a download without a module, or the reverse"
	}
	if why := reasonsFit(s, j); why != "" {
		return why
	}
	return helps(s, h, j, newer)
}

// patchWanted is the strictest patch that the rules ask of a client, found in the plainest way.
func patchWanted(s *compat.Snapshot, h *compat.Hello) (least uint32) {
	for _, r := range s.PatchRules {
		if is, err := path.Match(r.Target, h.Target); r.Logic == h.Build.Logic && (r.Target == "" || is && err == nil) {
			least = max(least, r.MinPatch)
		}
	}
	return least
}

// reasonsFit wants the deciding rule to be the first of all that apply; components that are tolerated don't decide.
func reasonsFit(s *compat.Snapshot, j compat.Judgement) string {
	reasons := j.Reasons
	if s.Policy == compat.PolicyWarn {
		reasons &^= compat.ReasonOf(compat.RuleComponents)
	}
	first := compat.RuleUpdater
	for ; first < compat.RuleAccept && reasons&compat.ReasonOf(first) == 0; first++ {
	}
	if first != j.Rule {
		return "another rule decided than the first that applies"
	}
	if reasons>>compat.RuleAccept != 0 || j.Rule == compat.RuleAccept && reasons != 0 {
		return "reasons that there are not"
	}
	return ""
}

// helps wants a client that installs what it was offered to be let in.
func helps(s *compat.Snapshot, h *compat.Hello, j compat.Judgement, newer bool) string {
	p := j.Payload
	if p == nil {
		return ""
	}
	after := *h
	after.Build.Logic, after.Build.Components, after.Build.Compatibility = p.Logic, p.Components, s.Compatibility
	after.Tagged, after.Patch, after.Flags = true, p.Patch, h.Flags|compat.FlagAfterUpdate
	backwards := p.Logic < h.Build.Logic || p.Logic == h.Build.Logic && p.Patch <= h.Patch
	switch again := compat.Evaluate(s, &after); {
	case !again.Plays():
		return "the module that is offered doesn't help: " + again.Verdict.String()
	case s.Versioned && h.Tagged && backwards && (newer || j.Rule != compat.RuleString && j.Rule != compat.RuleComponents):
		return "a step backwards is offered to a client that is newer, or for another reason than its components"
	}
	return ""
}
