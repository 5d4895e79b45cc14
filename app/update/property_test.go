package update_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"

	"pgregory.net/rapid"
)

// answers says which events end an effect. It is deliberately independent of the state machine.
func answers(effect update.Effect, event update.Event) bool {
	_, faulted := event.(update.Faulted)
	switch effect.(type) {
	case update.Connect:
		_, is := event.(update.Connected)
		return is || faulted
	case update.Judge:
		_, is := event.(update.Judged)
		return is
	case update.List:
		_, is := event.(update.Listed)
		return is || faulted
	case update.Compare:
		_, is := event.(update.Planned)
		return is || faulted
	case update.Fetch:
		_, is := event.(update.Fetched)
		return is || faulted
	case update.Commit:
		_, is := event.(update.Committed)
		return is || faulted
	case update.Wait:
		_, is := event.(update.RetryDue)
		return is
	}
	return false
}

func anyJudgement(t *rapid.T) compat.Judgement {
	return compat.Judgement{Verdict: compat.Verdict(rapid.IntRange(0, 12).Draw(t, "verdict"))}
}

func anyPlan(t *rapid.T) update.Plan {
	plan := update.Plan{Matched: rapid.IntRange(0, 3).Draw(t, "matched")}
	for i := range rapid.IntRange(0, plan.Matched).Draw(t, "wants") {
		plan.Wants = append(plan.Wants, update.WantFrom(release.File{Path: string(rune('A' + i)), Size: 9}, rapid.Int64Range(0, 9).Draw(t, "offset")))
	}
	return plan
}

func anyFault(t *rapid.T, gain int64) update.Faulted {
	return update.Faulted{
		Fault: &update.Fault{
			Cause:     update.Cause(rapid.IntRange(19, 29).Draw(t, "cause")),
			Transient: rapid.IntRange(0, 9).Draw(t, "lasting") > 0,
			Refused:   rapid.IntRange(0, 2).Draw(t, "refused") == 0,
			Subject:   rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "subject"),
		},
		Gained: rapid.Int64Range(0, gain).Draw(t, "gained"),
		Dice:   rapid.Float64Range(0, 1).Draw(t, "dice"),
	}
}

// anyEvent draws any event, valid or not.
func anyEvent(t *rapid.T) update.Event {
	switch rapid.IntRange(0, len(columns)).Draw(t, "event") {
	case 0:
		return update.Started{}
	case 1:
		if rapid.IntRange(0, 4).Draw(t, "cancel") > 0 { // rarely, or every sequence would be short
			return update.Started{}
		}
		return update.CancelAsked{}
	case 2:
		return update.Connected{Judgement: anyJudgement(t)}
	case 3:
		return update.Judged{}
	case 4:
		return update.Listed{}
	case 5:
		return update.Planned{Plan: anyPlan(t)}
	case 6:
		return update.Received{Want: rapid.IntRange(-1, 3).Draw(t, "want")}
	case 7:
		return update.Verified{Want: rapid.IntRange(-1, 3).Draw(t, "want")}
	case 8:
		return update.Fetched{}
	case 9:
		return update.Committed{}
	case 10:
		return update.RetryDue{}
	case 11:
		return anyFault(t, 1)
	default:
		return nil
	}
}

func fresh(t *rapid.T) update.State {
	return update.State{Policy: update.Policy{CanSelfUpdate: rapid.Bool().Draw(t, "self"), Retry: update.DefaultRetry()}}
}

// deep copies everything that an incorrect Step could modify.
func deep(s update.State) update.State {
	s.Damaged = maps.Clone(s.Damaged)
	s.Plan.Wants = slices.Clone(s.Plan.Wants)
	for i, want := range s.Plan.Wants {
		s.Plan.Wants[i].Missing = slices.Clone(want.Missing)
	}
	if s.Fault != nil {
		fault := *s.Fault
		s.Fault = &fault
	}
	return s
}

// checked takes one step, checks the invariants of all steps, and returns the effect in progress after it.
func checked(t *rapid.T, s update.State, e update.Event, under update.Effect) (update.State, update.Effect) {
	copied := deep(s)
	after, effects := update.Step(s, e)
	again, sameEffects := update.Step(s, e)
	if !reflect.DeepEqual(s, copied) || !reflect.DeepEqual(after, again) || !reflect.DeepEqual(effects, sameEffects) {
		t.Fatalf("%s × %T is not pure", s.Phase, e)
	}
	if s.Phase == update.Done && (!reflect.DeepEqual(after, s) || len(effects) != 0) {
		t.Fatalf("Done is not final: %T gave %+v, %v", e, after, effects)
	}
	free := under == nil || answers(under, e)
	if len(effects) > 1 || len(effects) == 1 && !free {
		t.Fatalf("%s × %T: effects %v beside %T", s.Phase, e, effects, under)
	}
	if under != nil && free && len(effects) == 0 {
		t.Fatalf("%s × %T ended %T and nothing follows", s.Phase, e, under)
	}
	if len(effects) == 1 {
		under = effects[0]
	}
	invariants(t, after, under)
	if after.Attempt < s.Attempt || after.Attempt > s.Attempt+1 {
		t.Fatalf("attempts went from %d to %d", s.Attempt, after.Attempt)
	}
	return after, under
}

func invariants(t *rapid.T, s update.State, under update.Effect) {
	_, finishing := under.(update.Finish)
	if (s.Phase == update.Idle) != (under == nil) || (s.Phase == update.Done) != finishing {
		t.Fatalf("%s with %T under way", s.Phase, under)
	}
	if s.Phase == update.Committing && s.Verified != len(s.Plan.Wants) {
		t.Fatalf("committing %d of %d files", s.Verified, len(s.Plan.Wants))
	}
	if s.Phase == update.Done && (s.Fault != nil) != (s.Outcome == update.Failed) {
		t.Fatalf("%s with fault %v", s.Outcome, s.Fault)
	}
	limit := s.Policy.Retry.Transfer
	if !s.Met {
		limit = s.Policy.Retry.FirstContact
	}
	if s.Phase != update.Done && s.Tries-s.Refusals >= limit {
		t.Fatalf("%d attempts in a row failed and %s goes on", s.Tries, s.Phase)
	}
	if s.Phase != update.Done && s.Tries >= limit && s.Waited > s.Policy.Retry.Refused+2*s.Policy.Retry.Cap {
		t.Fatalf("%d attempts failed in %v of pauses and %s goes on", s.Tries, s.Waited, s.Phase)
	}
	if (s.Delay > 0) != (s.Phase == update.Waiting) {
		t.Fatalf("%s with a pause of %v", s.Phase, s.Delay)
	}
}

func TestAnyEventsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, under := fresh(t), update.Effect(nil)
		for range rapid.IntRange(1, 200).Draw(t, "length") {
			s, under = checked(t, s, anyEvent(t), under)
		}
	})
}

// answer draws one of the events that a real runner could send during the effect.
func answer(t *rapid.T, s update.State, under update.Effect, bytesLeft *int64) update.Event {
	if rapid.IntRange(0, 3).Draw(t, "trouble") == 0 && s.Phase != update.Judging && s.Phase != update.Waiting {
		fault := anyFault(t, min(*bytesLeft, 3))
		if fault.Fault.Cause == update.DamagedDownload {
			fault.Gained = 0
		}
		*bytesLeft -= fault.Gained
		return fault
	}
	switch under.(type) {
	case update.Connect:
		return update.Connected{Judgement: anyJudgement(t)}
	case update.Judge:
		return update.Judged{}
	case update.List:
		return update.Listed{}
	case update.Compare:
		return update.Planned{Plan: anyPlan(t)}
	case update.Commit:
		return update.Committed{}
	case update.Wait:
		return update.RetryDue{}
	}
	switch {
	case s.Phase == update.Verifying:
		return update.Verified{Want: s.Verified}
	case s.Verified < len(s.Plan.Wants) && rapid.IntRange(0, 9).Draw(t, "early") > 0:
		return update.Received{Want: s.Verified}
	default:
		return update.Fetched{}
	}
}

// TestEveryUpdateEnds checks that with a finite number of bytes to gain any sequence of faults and successes ends. After a
// cancel request it ends with the effect in progress.
func TestEveryUpdateEnds(t *testing.T) {
	ended := map[update.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		bytesLeft := rapid.Int64Range(0, 20).Draw(t, "bytes")
		// Each gain allows at most Transfer attempts; an attempt has at most 6 effects and 2 events per file, of 3 files.
		bound := int(bytesLeft+1) * update.TransferAttempts * (6 + 2*3 + 2)
		cancelAt := rapid.IntRange(0, 2*bound).Draw(t, "cancel at")
		s, under := checked(t, fresh(t), update.Started{}, nil)
		for steps := 0; s.Phase != update.Done; steps++ {
			if steps > bound {
				t.Fatalf("not done after %d steps", steps)
			}
			if steps == cancelAt {
				s, under = checked(t, s, update.CancelAsked{}, under)
			}
			cancelling, event := s.Cancelling, answer(t, s, under, &bytesLeft)
			ends := answers(under, event)
			s, under = checked(t, s, event, under)
			if cancelling && ends && s.Outcome != update.Cancelled {
				t.Fatalf("asked to cancel, ended %s in %s", s.Outcome, s.Phase)
			}
		}
		ended[s.Outcome]++
	})
	if len(ended) < 4 {
		t.Errorf("the draws reached only the outcomes %v", ended)
	}
}
