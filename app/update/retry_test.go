package update_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"collet/app/update"
)

func TestDelay(t *testing.T) {
	rules := update.DefaultRetry()
	const ms = time.Millisecond
	tests := []struct {
		failures int
		dice     float64
		want     time.Duration
	}{
		{1, 0, 500 * ms}, {2, 0, 1000 * ms}, {3, 0, 2000 * ms}, {4, 0, 4000 * ms}, {5, 0, 8000 * ms},
		{6, 0, 15000 * ms}, {7, 0, 15000 * ms}, {1000, 0, 15000 * ms}, {math.MaxInt, 0, 15000 * ms},
		{1, 0.5, 375 * ms}, {1, 1, 250 * ms}, {6, 1, 7500 * ms}, {3, 0.25, 1750 * ms},
		{0, 0, 500 * ms}, {-5, 0, 500 * ms}, // less than one failure counts as one
		{1, -3, 500 * ms}, {1, 9, 250 * ms}, {1, math.NaN(), 500 * ms}, {1, math.Inf(1), 250 * ms},
	}
	for _, test := range tests {
		if got := rules.Delay(test.failures, test.dice); got != test.want {
			t.Errorf("Delay(%d, %g) = %v, want %v", test.failures, test.dice, got, test.want)
		}
	}
}

// TestPausesAddUp checks the sums in the comments of the constants.
func TestPausesAddUp(t *testing.T) {
	rules := update.DefaultRetry()
	sum := func(attempts int) (total time.Duration) {
		for failed := 1; failed < attempts; failed++ {
			total += rules.Delay(failed, 0)
		}
		return total
	}
	if got := sum(update.FirstContactAttempts); got != 1500*time.Millisecond {
		t.Errorf("first contact: %v", got)
	}
	if got := sum(update.TransferAttempts); got != 75500*time.Millisecond {
		t.Errorf("transfer: %v", got)
	}
	if update.FirstContactAttempts >= update.TransferAttempts {
		t.Error("a server that never answered is not given up sooner")
	}
}

// failing counts the consecutive faults after which a state fails.
func failing(t *testing.T, s update.State, e update.Faulted) (attempts int, end update.State) {
	t.Helper()
	phase, tries := s.Phase, s.Tries
	for attempts < 1000 {
		attempts++
		s, _ = step(t, s, e)
		if s.Phase == update.Done {
			return attempts, s
		}
		if want := s.Policy.Retry.Delay(tries+attempts, e.Dice); e.Gained == 0 && s.Delay != want {
			t.Errorf("pause %d is %v, want %v", attempts, s.Delay, want)
		}
		s, _ = step(t, s, update.RetryDue{})
		s.Phase = phase // the phases in between do not matter here
	}
	return attempts, s
}

func TestFirstContactGivesUpSooner(t *testing.T) {
	e := update.Faulted{Fault: &update.Fault{Cause: update.Unreachable, Transient: true, Subject: "game.example:4000", Err: errors.New("no route")}}
	n, end := failing(t, resting(update.Connecting), e)
	if n != update.FirstContactAttempts || end.Outcome != update.Failed || end.Fault != e.Fault || end.Attempt != n {
		t.Errorf("never met: %d attempts, %s, %v", n, end.Outcome, end.Fault)
	}
	met := resting(update.Connecting)
	met.Met = true
	n, end = failing(t, met, e)
	if n != update.TransferAttempts || end.Fault.Cause != update.Interrupted {
		t.Errorf("met before: %d attempts, %v", n, end.Fault)
	}
	if end.Fault.Subject != e.Fault.Subject || !errors.Is(end.Fault, e.Fault.Err) || e.Fault.Cause != update.Unreachable {
		t.Errorf("the fault lost what it was about, or the port's value was written to: %v", end.Fault)
	}
}

// TestRefusedIsAskedForLonger checks that a refusing server is retried for the time of a restart, whatever the jitter, and
// an unreachable one is not.
func TestRefusedIsAskedForLonger(t *testing.T) {
	refused := &update.Fault{Cause: update.Unreachable, Transient: true, Refused: true}
	unreachable := &update.Fault{Cause: update.Unreachable, Transient: true}
	for _, dice := range []float64{0, 0.3, 1} {
		s := resting(update.Connecting)
		for s.Phase != update.Done {
			s, _ = step(t, s, update.Faulted{Fault: refused, Dice: dice})
			if s.Delay > update.RefusedCap {
				t.Errorf("dice %g: a pause of %v", dice, s.Delay)
			}
			s, _ = step(t, s, update.RetryDue{})
		}
		if s.Waited < update.RefusedPatience || s.Waited > update.RefusedPatience+update.RefusedCap || s.Fault.Cause != update.Unreachable {
			t.Errorf("dice %g: given up after pauses of %v: %v", dice, s.Waited, s.Fault)
		}
	}
	// Broken connections before and after the refusals count separately.
	s := resting(update.Connecting)
	for i, fault := range []*update.Fault{unreachable, refused, refused, refused, refused, unreachable, refused} {
		if s, _ = step(t, s, update.Faulted{Fault: fault}); s.Phase != update.Waiting {
			t.Fatalf("fault %d ended it", i)
		}
		s, _ = step(t, s, update.RetryDue{})
	}
	if s, _ = step(t, s, update.Faulted{Fault: unreachable}); s.Phase != update.Done {
		t.Errorf("after %d that were not refused it goes on", update.FirstContactAttempts)
	}
}

func TestProgressResetsAttempts(t *testing.T) {
	s := resting(update.Fetching)
	for range 50 * update.TransferAttempts {
		s, _ = step(t, s, update.Faulted{Fault: broken(), Gained: 1})
		if s.Phase != update.Waiting || s.Delay != update.BackoffBase {
			t.Fatalf("a transfer that moves on was given up or slowed: %s %v", s.Phase, s.Delay)
		}
		s, _ = step(t, s, update.RetryDue{})
		s.Phase = update.Fetching
	}
	n, _ := failing(t, s, update.Faulted{Fault: broken()})
	if n != update.TransferAttempts-1 {
		t.Errorf("after the last progress %d more attempts, want %d", n, update.TransferAttempts-1)
	}
}

func TestDamagedFileIsFetchedAtMostThreeTimes(t *testing.T) {
	damaged := func(file string, gained int64) update.Faulted {
		return update.Faulted{Fault: &update.Fault{Cause: update.DamagedDownload, Subject: file, Err: errors.New("digest")}, Gained: gained}
	}
	if n, end := failing(t, resting(update.Verifying), damaged("A.zip", 0)); n != 1+update.DamagedRetries || end.Fault.Cause != update.DamagedDownload {
		t.Errorf("%d attempts, %v", n, end.Fault)
	}
	// Bytes of other files do not give a damaged file more attempts.
	if n, _ := failing(t, resting(update.Verifying), damaged("A.zip", 100)); n != 1+update.DamagedRetries {
		t.Errorf("with progress elsewhere: %d attempts", n)
	}
	// Two files are counted separately, and Step does not modify the earlier state's count.
	s := resting(update.Verifying)
	for range update.DamagedRetries {
		for _, file := range []string{"A.zip", "B.zip"} {
			before := s.Damaged[file]
			next, _ := step(t, s, damaged(file, 1))
			if next.Phase != update.Waiting || s.Damaged[file] != before || next.Damaged[file] != before+1 {
				t.Fatalf("%s: %s, count %v → %v", file, next.Phase, s.Damaged, next.Damaged)
			}
			s, _ = step(t, next, update.RetryDue{})
			s.Phase = update.Verifying
		}
	}
}

// TestFreshNamesDoNotDamageForEver checks that the attempts end even if the server damages another file each time.
func TestFreshNamesDoNotDamageForEver(t *testing.T) {
	s := resting(update.Verifying)
	for n := 1; ; n++ {
		s, _ = step(t, s, update.Faulted{Fault: &update.Fault{Cause: update.DamagedDownload, Subject: string(rune('A' + n))}})
		if s.Phase == update.Done {
			if n != update.TransferAttempts {
				t.Errorf("%d attempts", n)
			}
			return
		}
		s, _ = step(t, s, update.RetryDue{})
		s.Phase = update.Verifying
	}
}

func TestNewRefusesBadRules(t *testing.T) {
	good := update.DefaultRetry()
	bad := map[string]func(*update.RetryRules){
		"no base":          func(r *update.RetryRules) { r.Base = 0 },
		"negative base":    func(r *update.RetryRules) { r.Base = -1 },
		"cap below base":   func(r *update.RetryRules) { r.Cap = r.Base - 1 },
		"shrinking":        func(r *update.RetryRules) { r.Factor = 0.9 },
		"factor no number": func(r *update.RetryRules) { r.Factor = math.NaN() },
		"factor infinite":  func(r *update.RetryRules) { r.Factor = math.Inf(1) },
		"jitter below":     func(r *update.RetryRules) { r.Jitter = -0.1 },
		"jitter above":     func(r *update.RetryRules) { r.Jitter = 1.1 },
		"jitter no number": func(r *update.RetryRules) { r.Jitter = math.NaN() },
		"no first contact": func(r *update.RetryRules) { r.FirstContact = 0 },
		"no transfer":      func(r *update.RetryRules) { r.Transfer = 0 },
		"negative refused": func(r *update.RetryRules) { r.Refused = -1 },
		"negative pause":   func(r *update.RetryRules) { r.RefusedCap = -1 },
		"negative damage":  func(r *update.RetryRules) { r.Damaged = -1 },
	}
	source, destination := newWorld(t).ports()
	for what, spoil := range bad {
		rules := good
		spoil(&rules)
		if _, err := update.New(update.Config{Source: source, Destination: destination, Retry: rules}); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	for _, rules := range []update.RetryRules{{}, good} {
		if _, err := update.New(update.Config{Source: source, Destination: destination, Retry: rules}); err != nil {
			t.Errorf("%+v: %v", rules, err)
		}
	}
	for _, cfg := range []update.Config{{}, {Source: source}, {Destination: destination}} {
		if _, err := update.New(cfg); err == nil {
			t.Error("a missing port was taken")
		}
	}
}
