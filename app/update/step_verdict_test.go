package update_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"
)

// judgedAs is the reaction to a judgement: the mode of the transfer, or the outcome.
func judgedAs(t *testing.T, p update.Policy, j compat.Judgement) string {
	t.Helper()
	s := resting(update.Connecting)
	p.Retry = update.DefaultRetry()
	s.Policy = p
	s, _ = step(t, s, update.Connected{Judgement: j, Server: "b#841"})
	s, effect := step(t, s, update.Judged{})
	if s.Server != "b#841" {
		t.Errorf("%s: the server is %q", j.Verdict, s.Server)
	}
	switch {
	case s.Phase == update.Done && effect == update.Effect(update.Finish{}):
		return s.Outcome.String()
	case s.Ahead:
		return "ahead: " + s.Mode.String()
	default:
		return s.Mode.String()
	}
}

func bits(rules ...compat.Rule) (r compat.Reasons) {
	for _, rule := range rules {
		r |= compat.ReasonOf(rule)
	}
	return r
}

func TestVerdictsThatDependOnMore(t *testing.T) {
	there := &compat.Endpoint{Host: "next.example", Port: 4000}
	can, cannot := update.Policy{CanSelfUpdate: true}, update.Policy{}
	asks := update.Policy{CanSelfUpdate: true, AskPinned: true}
	sent := update.Policy{CanSelfUpdate: true, Redirected: true}
	eager, eagerStore := update.Policy{CanSelfUpdate: true, Prefetch: true}, update.Policy{Prefetch: true}
	down := func(r ...compat.Rule) compat.Judgement {
		return compat.Judgement{Verdict: compat.Maintenance, Rule: compat.RuleMaintenance, Reasons: bits(append(r, compat.RuleMaintenance)...)}
	}
	for _, test := range []struct {
		name   string
		policy update.Policy
		j      compat.Judgement
		want   string
	}{
		{"redirect", can, compat.Judgement{Verdict: compat.Redirect, Rule: compat.RuleRedirect, Endpoint: there}, "Redirected"},
		{"a second redirect", sent, compat.Judgement{Verdict: compat.Redirect, Rule: compat.RuleRedirect, Endpoint: there}, "ClientTooNew"},
		{"redirect to nowhere", can, compat.Judgement{Verdict: compat.Redirect, Rule: compat.RuleRedirect}, "ClientTooNew"},
		{"pinned, on offer", can, compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleFloor, Floor: 7}, "binaries"},
		{"pinned, on offer, with a question", asks, compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleFloor}, "PlayerPinned"},
		{"on offer for another reason", asks, compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleTooOld}, "binaries"},
		{"pinned where the module can't be replaced", cannot, compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleFloor}, "PlayerPinned"},
		{"pinned, store", cannot, compat.Judgement{Verdict: compat.UpdateViaStore, Rule: compat.RuleFloor}, "PlayerPinned"},
		{"pinned, nothing on offer", can, compat.Judgement{Verdict: compat.NoNativeUpdate, Rule: compat.RuleFloor}, "PlayerPinned"},
		{"pinned above everything", can, compat.Judgement{Verdict: compat.ClientTooNew, Rule: compat.RuleFloor}, "PlayerPinned"},
		{"a pin that lets play", can, compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleFloor}, "resources"},
		{"maintenance for the patient", can, down(), "Maintenance"},
		{"maintenance, current", eager, down(), "ahead: resources"},
		{"maintenance, other packs", eager, down(compat.RuleContent), "ahead: resources"},
		{"maintenance, too old", eager, down(compat.RuleTooOld), "ahead: binaries"},
		{"maintenance, patch", eager, down(compat.RulePatch), "ahead: binaries"},
		{"maintenance, pinned", eager, down(compat.RuleFloor), "ahead: binaries"},
		{"maintenance, another version", eager, down(compat.RuleString), "ahead: binaries"},
		{"maintenance, other components", eager, down(compat.RuleComponents), "ahead: binaries"},
		{"maintenance, too new", eager, down(compat.RuleTooNew), "Maintenance"},
		{"maintenance, too new and other components", eager, down(compat.RuleTooNew, compat.RuleComponents), "Maintenance"},
		{"maintenance, another updater", eager, down(compat.RuleUpdater), "Maintenance"},
		{"maintenance, too old, store", eagerStore, down(compat.RuleTooOld), "Maintenance"},
		{"maintenance, current, store", eagerStore, down(), "ahead: resources"},
	} {
		if got := judgedAs(t, test.policy, test.j); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestNewerNeverDownloads checks that a client that is too new fetches nothing, whatever else a judgement contains.
func TestNewerNeverDownloads(t *testing.T) {
	for _, v := range []compat.Verdict{compat.ClientTooNew, compat.Redirect, compat.UpdaterMismatch, compat.ComponentsMismatch} {
		for rule := range compat.RuleAccept + 2 {
			for p := range 16 {
				policy := update.Policy{CanSelfUpdate: p&1 != 0, AskPinned: p&2 != 0, Prefetch: p&4 != 0, Redirected: p&8 != 0}
				j := compat.Judgement{Verdict: v, Rule: rule, Reasons: compat.Reasons(p * 77), Payload: &compat.Payload{Logic: 3}}
				if got := judgedAs(t, policy, j); strings.Contains(got, "binaries") || strings.Contains(got, "resources") {
					t.Errorf("%s by rule %d with %+v: %s", v, rule, policy, got)
				}
			}
		}
	}
}

// TestMaintenanceAheadNeverCommits checks that a prefetch always ends in Maintenance, without a fault and without a
// committed file.
func TestMaintenanceAheadNeverCommits(t *testing.T) {
	for _, p := range []update.Phase{update.Listing, update.Comparing, update.Fetching, update.Verifying} {
		for _, event := range columns {
			before := resting(p)
			before.Ahead = true
			after, effects := update.Step(before, event)
			for _, e := range effects {
				if _, commits := e.(update.Commit); commits {
					t.Errorf("%s × %s commits", p, name(event))
				}
			}
			if after.Phase == update.Done && (after.Outcome != update.Maintenance || after.Fault != nil) {
				t.Errorf("%s × %s: %s %v", p, name(event), after.Outcome, after.Fault)
			}
			if after.Phase == update.Waiting {
				t.Errorf("%s × %s is tried again", p, name(event))
			}
		}
	}
	for what, plan := range map[string]update.Plan{
		"nothing missing": {Matched: 3}, "blocked": {Matched: 3, Blocked: true, Wants: twoWants().Wants}, "nothing for us": {},
		"a plan that contradicts itself": {Wants: twoWants().Wants},
	} {
		before := resting(update.Comparing)
		before.Ahead, before.Mode = true, update.Binaries
		after, effect := step(t, before, update.Planned{Plan: plan})
		if after.Outcome != update.Maintenance || effect != update.Effect(update.Finish{}) {
			t.Errorf("%s: %s %v", what, after.Outcome, effect)
		}
	}
}

// modules is an offer of two modules and a pack.
func modules(salt string) []release.File {
	return []release.File{
		{Path: "Lathe.so", Size: 3, Role: release.Binary, Digest: digest([]byte("so" + salt))},
		{Path: "Lathe.so.sym", Size: 3, Role: release.Binary, Digest: digest([]byte("sym"))},
		{Path: "Core.zip", Size: 3, Digest: digest([]byte("zip"))},
	}
}

// listed is the state after List.
func listed(t *testing.T, j compat.Judgement, server string, files []release.File, applied update.Offer) update.State {
	t.Helper()
	s := resting(update.Connecting)
	s.Policy.Applied = applied
	s, _ = step(t, s, update.Connected{Judgement: j, Server: server})
	s, _ = step(t, s, update.Judged{})
	s, _ = step(t, s, update.Listed{Offer: files})
	return s
}

var outdated = compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleComponents, Revision: 12}

// TestT11LoopGuard requests the installed module again with the same rule.
func TestT11LoopGuard(t *testing.T) {
	first := listed(t, outdated, "b841", modules(""), update.Offer{}).Offer
	if first.Server != "b841" || first.Revision != 12 || first.Rule != 9 || len(first.Hash) != 64 {
		t.Fatalf("offer %+v", first)
	}
	pack := update.Plan{Matched: 3, Wants: []update.Want{update.WantFrom(modules("")[2], 0)}}
	broken := update.Plan{Matched: 3, Wants: []update.Want{update.WantFrom(modules("")[0], 0)}}
	other := outdated
	other.Revision = 13
	ruled := outdated
	ruled.Rule = compat.RulePatch
	silent := outdated
	silent.Rule = compat.RuleNone
	plays := outdated
	plays.Verdict = compat.UpdateResources
	swapped := modules("")
	slices.Reverse(swapped)
	for _, test := range []struct {
		name    string
		j       compat.Judgement
		server  string
		files   []release.File
		applied update.Offer
		plan    update.Plan
		want    string
	}{
		{"nothing was applied", outdated, "b841", modules(""), update.Offer{}, update.Plan{Matched: 3}, "committing"},
		{"the same again", outdated, "b841", modules(""), first, update.Plan{Matched: 3}, "UpdateLoop"},
		{"the same again, a pack is missing", outdated, "b841", modules(""), first, pack, "UpdateLoop"},
		{"the same again, but the module is gone", outdated, "b841", modules(""), first, broken, "fetching"},
		{"another module", outdated, "b841", modules("2"), first, update.Plan{Matched: 3}, "committing"},
		{"another revision", other, "b841", modules(""), first, update.Plan{Matched: 3}, "committing"},
		{"another rule", ruled, "b841", modules(""), first, update.Plan{Matched: 3}, "committing"},
		{"another build of the server", outdated, "b842", modules(""), first, update.Plan{Matched: 3}, "committing"},
		{"an engine gives no grounds", silent, "b841", modules(""), update.Offer{}, update.Plan{Matched: 3}, "committing"},
		{"a verdict that lets play", plays, "b841", modules(""), first, update.Plan{Matched: 3}, "committing"},
		{"no module on offer", outdated, "b841", modules("")[2:], first, update.Plan{Matched: 1}, "committing"},
	} {
		s := listed(t, test.j, test.server, test.files, test.applied)
		s, _ = step(t, s, update.Planned{Plan: test.plan})
		got := s.Phase.String()
		if s.Phase == update.Done {
			got = s.Outcome.String()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if again := listed(t, outdated, "b841", modules("x"), update.Offer{}).Offer; again.Hash == first.Hash {
		t.Error("another module has the same hash")
	}
	if s := listed(t, outdated, "b841", swapped, update.Offer{}); s.Offer == (update.Offer{}) {
		t.Error("no offer where packs come first")
	}
}

// telling is a Source that identifies its server.
type telling struct {
	fakeSource
	build string
}

func (s telling) Server() string { return s.build }

// TestLoopGuardInARun runs several Updaters against the same server, each with the Offer that the previous one installed.
func TestLoopGuardInARun(t *testing.T) {
	var applied update.Offer
	var outcomes []string
	w := newWorld(t, module("Lathe.so", 30), pack("Core.zip", 20))
	w.judge = func(int) (compat.Judgement, error) { return outdated, nil }
	for range 3 {
		source, destination := w.ports()
		u := w.updater(func(c *update.Config) {
			c.Source, c.Destination, c.Applied = telling{source.(fakeSource), "b841"}, destination, applied
		})
		status := u.Run(context.Background())
		w.letGo(status)
		applied = status.Offer
		for path, data := range w.staged {
			w.live[path] = data
		}
		outcomes = append(outcomes, status.Outcome.String())
	}
	if want := []string{"BinariesStaged", "UpdateLoop", "UpdateLoop"}; !reflect.DeepEqual(outcomes, want) {
		t.Errorf("%v, want %v", outcomes, want)
	}
	if applied.Server != "b841" || len(w.asked) != 1 {
		t.Errorf("offer %+v, fetched %d times", applied, len(w.asked))
	}
}

// TestPrefetchInARun checks that prefetched bytes stay in their part, and that the update after the maintenance fetches
// nothing.
func TestPrefetchInARun(t *testing.T) {
	w := newWorld(t, pack("Core.zip", 25))
	w.judge = func(connect int) (compat.Judgement, error) {
		if connect == 1 {
			return compat.Judgement{Verdict: compat.Maintenance, Rule: compat.RuleMaintenance, RetryAfter: 60}, nil
		}
		return compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept}, nil
	}
	ahead := w.updater(func(c *update.Config) { c.Prefetch = true }).Run(context.Background())
	w.letGo(ahead)
	if ahead.Outcome != update.Maintenance || !ahead.Ahead || w.commits != 0 || w.sent != 25 {
		t.Errorf("%s, ahead %t, %d commits, %d bytes", ahead.Outcome, ahead.Ahead, w.commits, w.sent)
	}
	if status := w.run(context.Background()); status.Outcome != update.ResourcesReady || w.sent != 25 || w.commits != 1 {
		t.Errorf("%s, %d commits, %d bytes", status.Outcome, w.commits, w.sent)
	}
}

func TestMaintenanceThatLetsNothingThrough(t *testing.T) {
	w := newWorld(t, pack("Core.zip", 25))
	w.judge = func(int) (compat.Judgement, error) {
		return compat.Judgement{Verdict: compat.Maintenance, Rule: compat.RuleMaintenance}, nil
	}
	w.hold = func(_ context.Context, method string) error {
		if method == "List" {
			return fmt.Errorf("the server has closed")
		}
		return nil
	}
	status := w.updater(func(c *update.Config) { c.Prefetch = true }).Run(context.Background())
	w.letGo(status)
	if status.Outcome != update.Maintenance || len(w.connects) != 1 {
		t.Errorf("%s after %d connections", status.Outcome, len(w.connects))
	}
}
