package update_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"
)

// step is Step for tests that expect one effect or none.
func step(t *testing.T, s update.State, e update.Event) (update.State, update.Effect) {
	t.Helper()
	after, effects := update.Step(s, e)
	switch len(effects) {
	case 0:
		return after, nil
	case 1:
		return after, effects[0]
	}
	t.Fatalf("%s × %s: %d effects", s.Phase, name(e), len(effects))
	return after, nil
}

func TestVerdictChoosesModeOrOutcome(t *testing.T) {
	const transfer = update.Outcome(255) // not an outcome: the update continues
	tests := []struct {
		verdict compat.Verdict
		can     bool
		mode    update.Mode
		outcome update.Outcome
	}{
		{compat.Accept, true, update.Resources, transfer},
		{compat.Accept, false, update.Resources, transfer},
		{compat.UpdateResources, true, update.Resources, transfer},
		{compat.UpdateResources, false, update.Resources, transfer},
		{compat.UpdateBinaries, true, update.Binaries, transfer},
		{compat.UpdateBinaries, false, update.Undecided, update.PlatformUnsupported},
		{compat.UpdateViaStore, true, update.Undecided, update.PlatformUnsupported},
		{compat.UpdateViaStore, false, update.Undecided, update.PlatformUnsupported},
		{compat.NoNativeUpdate, true, update.Undecided, update.ServerMissingNativeUpdate},
		{compat.ClientTooNew, true, update.Undecided, update.ClientTooNew},
		{compat.Redirect, true, update.Undecided, update.ClientTooNew},
		{compat.UpdaterMismatch, true, update.Undecided, update.UpdaterOutdated},
		{compat.ComponentsMismatch, true, update.Undecided, update.ComponentsMismatch},
		{compat.Maintenance, true, update.Undecided, update.Maintenance},
		{10, true, update.Undecided, update.UpdaterOutdated},
		{255, false, update.Undecided, update.UpdaterOutdated},
	}
	covered := map[compat.Verdict]bool{}
	for _, test := range tests {
		covered[test.verdict] = true
		s := resting(update.Connecting)
		s.Policy.CanSelfUpdate = test.can
		s, effect := step(t, s, update.Connected{Judgement: compat.Judgement{Verdict: test.verdict, Rule: 3}})
		if effect != (update.Judge{Judgement: compat.Judgement{Verdict: test.verdict, Rule: 3}}) {
			t.Fatalf("%s: effect %v", test.verdict, effect)
		}
		s, effect = step(t, s, update.Judged{})
		want := resting(update.Listing)
		want.Policy.CanSelfUpdate = test.can
		want.Judgement, want.Mode = compat.Judgement{Verdict: test.verdict, Rule: 3}, test.mode
		wantEffect := update.Effect(update.List{})
		if test.outcome != transfer {
			want.Phase, want.Outcome, wantEffect = update.Done, test.outcome, update.Finish{}
		}
		if !reflect.DeepEqual(s, want) || effect != wantEffect {
			t.Errorf("%s, self-update %t: got %s %s %s %v", test.verdict, test.can, s.Phase, s.Mode, s.Outcome, effect)
		}
	}
	for v := range compat.Verdict(255) {
		if v.Known() && !covered[v] {
			t.Errorf("verdict %s has no row", v)
		}
	}
}

func TestPlanDecidesWhatIsNext(t *testing.T) {
	want := []update.Want{update.WantFrom(release.File{Path: "A", Size: 1}, 0)}
	tests := []struct {
		name   string
		mode   update.Mode
		plan   update.Plan
		next   string
		finish update.Outcome // after Committed, if it is reached
	}{
		{"resources, something missing", update.Resources, update.Plan{Matched: 2, Wants: want}, "fetching/Fetch", 0},
		{"resources, all there", update.Resources, update.Plan{Matched: 2}, "committing/Commit", update.ResourcesReady},
		{"resources, empty offer", update.Resources, update.Plan{}, "committing/Commit", update.ResourcesReady},
		{"binaries, something missing", update.Binaries, update.Plan{Matched: 1, Wants: want}, "fetching/Fetch", 0},
		{"binaries, all there", update.Binaries, update.Plan{Matched: 1}, "committing/Commit", update.BinariesStaged},
		{"binaries, nothing for us", update.Binaries, update.Plan{}, "ServerMissingNativeUpdate", 0},
		{"binaries, a plan that contradicts itself", update.Binaries, update.Plan{Wants: want}, "ServerMissingNativeUpdate", 0},
	}
	for _, test := range tests {
		before := resting(update.Comparing)
		before.Mode, before.Verified = test.mode, 7
		after, effects := update.Step(before, update.Planned{Plan: test.plan})
		if got := tell(before, after, effects); got != test.next {
			t.Errorf("%s: got %s, want %s", test.name, got, test.next)
		}
		if !reflect.DeepEqual(after.Plan, test.plan) || after.Verified != 0 {
			t.Errorf("%s: plan was not taken over", test.name)
		}
		if after.Phase != update.Committing {
			continue
		}
		after, effect := step(t, after, update.Committed{})
		if after.Outcome != test.finish || effect != (update.Finish{}) {
			t.Errorf("%s: ended %s %v", test.name, after.Outcome, effect)
		}
	}
}

func TestCompareAndFetchCarryWhatTheyNeed(t *testing.T) {
	offer := []release.File{{Path: "A", Index: 4}}
	s := resting(update.Listing)
	s.Mode = update.Binaries
	s, effect := step(t, s, update.Listed{Offer: offer})
	if !reflect.DeepEqual(effect, update.Compare{Mode: update.Binaries, Offer: offer}) {
		t.Errorf("compare: %+v", effect)
	}
	_, effect = step(t, s, update.Planned{Plan: twoWants()})
	if !reflect.DeepEqual(effect, update.Fetch{Wants: twoWants().Wants}) {
		t.Errorf("fetch: %+v", effect)
	}
}

func TestWantsAreVerifiedOneByOne(t *testing.T) {
	s := resting(update.Fetching)
	for want := range 2 {
		for _, wrong := range []int{-1, want - 1, want + 1, 99} {
			if after, effects := update.Step(s, update.Received{Want: wrong}); tell(s, after, effects) != "-" {
				t.Errorf("want %d was due and received %d counted", want, wrong)
			}
		}
		s, _ = step(t, s, update.Received{Want: want})
		if after, effects := update.Step(s, update.Verified{Want: want + 1}); tell(s, after, effects) != "-" {
			t.Errorf("want %d was received and verified %d counted", want, want+1)
		}
		s, _ = step(t, s, update.Verified{Want: want})
	}
	if after, effects := update.Step(s, update.Received{Want: 2}); tell(s, after, effects) != "-" {
		t.Error("a want beyond the plan counted")
	}
	s, effect := step(t, s, update.Fetched{})
	if s.Phase != update.Committing || s.Verified != 2 || effect != (update.Commit{}) {
		t.Errorf("got %s, %d verified, %v", s.Phase, s.Verified, effect)
	}
}

// TestNothingUnverifiedIsCommitted has a Source report its end too early.
func TestNothingUnverifiedIsCommitted(t *testing.T) {
	early := []update.State{resting(update.Fetching), resting(update.Verifying), resting(update.Verifying), resting(update.Fetching)}
	early[2].Verified, early[3].Verified = 1, 1
	for _, s := range early {
		after, effect := step(t, s, update.Fetched{})
		if _, waits := effect.(update.Wait); !waits || after.Fault.Cause != update.ServerFault || !after.Fault.Transient {
			t.Errorf("%s with %d verified: %s %v %v", s.Phase, s.Verified, after.Phase, effect, after.Fault)
		}
	}
}

func TestFaultIsKeptUntilTheUpdateSucceeds(t *testing.T) {
	fault := broken()
	s, _ := step(t, resting(update.Fetching), update.Faulted{Fault: fault})
	for _, e := range []update.Event{
		update.RetryDue{}, update.Connected{}, update.Judged{}, update.Listed{}, update.Planned{Plan: update.Plan{}},
	} {
		if s.Fault != fault {
			t.Fatalf("the fault is gone before %s", name(e))
		}
		s, _ = step(t, s, e)
	}
	s, _ = step(t, s, update.Committed{})
	if s.Fault != nil || s.Outcome != update.ResourcesReady || s.Attempt != 2 {
		t.Errorf("ended %s with %v after %d attempts", s.Outcome, s.Fault, s.Attempt)
	}
}

func TestFaultWithoutAReason(t *testing.T) {
	s, _ := step(t, resting(update.Committing), update.Faulted{})
	if s.Outcome != update.Failed || s.Fault == nil || s.Fault.Cause != update.ServerFault {
		t.Errorf("got %s, %v", s.Outcome, s.Fault)
	}
}

func TestOnlyTransientFaultsAreTriedAgain(t *testing.T) {
	causes := []update.Cause{
		update.Unreachable, update.Interrupted, update.DiskFull, update.NoPermission, update.LockedFile,
		update.DamagedDownload, update.Untrusted, update.ServerFault, update.DiskFault, update.SignIn,
	}
	for _, p := range []update.Phase{update.Connecting, update.Listing, update.Comparing, update.Fetching, update.Verifying, update.Committing} {
		for _, cause := range causes {
			for _, transient := range []bool{true, false} {
				fault := &update.Fault{Cause: cause, Transient: transient, Subject: "x", Err: errors.New("y")}
				s, effect := step(t, resting(p), update.Faulted{Fault: fault})
				retried := transient && cause != update.Untrusted || cause == update.DamagedDownload
				if got := s.Phase == update.Waiting; got != retried {
					t.Errorf("%s, %s, transient %t: %s", p, cause, transient, s.Phase)
				}
				if !retried && (s.Outcome != update.Failed || effect != (update.Finish{})) {
					t.Errorf("%s, %s, transient %t: ended %s %v", p, cause, transient, s.Outcome, effect)
				}
			}
		}
	}
}

func TestWaitCarriesTheDelay(t *testing.T) {
	s, effect := step(t, resting(update.Fetching), update.Faulted{Fault: broken(), Dice: 0.5})
	if want := 375 * time.Millisecond; s.Delay != want || effect != (update.Wait{For: want}) {
		t.Errorf("got %v, %v", s.Delay, effect)
	}
	s, _ = step(t, s, update.RetryDue{})
	if s.Delay != 0 || s.Attempt != 2 {
		t.Errorf("after the pause: delay %v, attempt %d", s.Delay, s.Attempt)
	}
}
