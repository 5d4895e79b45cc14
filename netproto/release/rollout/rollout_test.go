package rollout_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"collet/netproto/release/rollout"
)

var chances = rollout.DefaultPlan().Chances

func TestJudge(t *testing.T) {
	known := rollout.Starts{Confirmed: 999_000, Failed: 1000} // 0.1 %
	for _, c := range []struct {
		name        string
		before, now rollout.Starts
		want        rollout.Verdict
	}{
		{"nothing", rollout.Starts{}, rollout.Starts{}, rollout.Undecided},
		{"no start yet", known, rollout.Starts{}, rollout.Undecided},
		{"a few good ones", known, rollout.Starts{Confirmed: 500}, rollout.Undecided},
		{"many good ones", known, rollout.Starts{Confirmed: 5000, Failed: 5}, rollout.Good},
		{"all fail", known, rollout.Starts{Failed: 4}, rollout.Bad},
		{"one fails", known, rollout.Starts{Failed: 1}, rollout.Undecided},
		{"0.6 %", known, rollout.Starts{Confirmed: 1988, Failed: 12}, rollout.Bad},
		{"0.1 % for ever", known, rollout.Starts{Confirmed: 999_000_000, Failed: 1_000_000}, rollout.Good},
		{"better", known, rollout.Starts{Confirmed: 4000}, rollout.Good},
		{"a good one after nothing", rollout.Starts{}, rollout.Starts{Confirmed: 1_000_000}, rollout.Undecided},
		{"all fail after nothing", rollout.Starts{}, rollout.Starts{Failed: 1000}, rollout.Undecided},
		{"too little is known of the release before", rollout.Starts{Confirmed: 999, Failed: 1}, rollout.Starts{Confirmed: 100_000, Failed: 100}, rollout.Undecided},
		{"the release before failed always", rollout.Starts{Failed: 1000}, rollout.Starts{Confirmed: 1000, Failed: 1000}, rollout.Undecided},
	} {
		f := rollout.Judge(c.before, c.now, chances)
		if f.Verdict != c.want || math.IsNaN(f.ForBad) || math.IsNaN(f.ForGood) || f.Low > c.before.Rate()+1e-6 || f.High < c.before.Rate()-1e-6 {
			t.Errorf("%s: %+v, want %s", c.name, f, c.want)
		}
	}
}

// TestChances draws releases that are just good and just bad, looks after every start, and counts wrong decisions.
func TestChances(t *testing.T) {
	const seeds, starts = 500, 6000
	c := rollout.Chances{Hold: 0.05, Widen: 0.05, Worse: 0.02} // coarse, so that wrong decisions happen
	rng := rand.New(rand.NewPCG(1, 2))
	var held, widened, heldBad, widenedGood int
	for range seeds {
		var before rollout.Starts
		for range 20_000 {
			before = draw(rng, before, 0.01)
		}
		for _, bad := range []bool{false, true} {
			rate := 0.01
			if bad {
				rate += c.Worse
			}
			var now rollout.Starts
			verdict := rollout.Undecided
			for i := 0; i < starts && verdict == rollout.Undecided; i++ {
				now = draw(rng, now, rate)
				if i%20 == 0 || now.Failed > 0 {
					verdict = rollout.Judge(before, now, c).Verdict
				}
			}
			switch {
			case !bad && verdict == rollout.Bad:
				held++
			case bad && verdict == rollout.Good:
				widened++
			case bad && verdict == rollout.Bad:
				heldBad++
			case !bad && verdict == rollout.Good:
				widenedGood++
			}
		}
	}
	t.Logf("of %d good ones %d held, %d widened; of as many bad ones %d widened, %d held", seeds, held, widenedGood, widened, heldBad)
	if held > seeds*5/100 || widened > seeds*5/100 {
		t.Errorf("%d of %d good ones were held, %d bad ones widened: more than 5 %%", held, seeds, widened)
	}
	if heldBad < seeds*9/10 || widenedGood < seeds*9/10 {
		t.Errorf("only %d bad ones were held, and %d good ones widened, of %d", heldBad, widenedGood, seeds)
	}
}

func draw(rng *rand.Rand, s rollout.Starts, rate float64) rollout.Starts {
	if rng.Float64() < rate {
		s.Failed++
	} else {
		s.Confirmed++
	}
	return s
}

func TestNext(t *testing.T) {
	plan := rollout.DefaultPlan()
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	known, good, bad := rollout.Starts{Confirmed: 999_000, Failed: 1000}, rollout.Starts{Confirmed: 20_000, Failed: 20}, rollout.Starts{Confirmed: 1950, Failed: 50}
	few, fewBad := rollout.Starts{Confirmed: 30}, rollout.Starts{Confirmed: 30, Failed: 1}
	at := func(name string, percent int, h time.Duration, before, now rollout.Starts) rollout.Target {
		return rollout.Target{Name: name, Percent: percent, At: h * time.Hour, Before: before, Now: now}
	}
	patient := plan
	patient.Patience = 48 * time.Hour
	for _, c := range []struct {
		name    string
		plan    rollout.Plan
		targets []rollout.Target
		want    string // an action and a percentage for each
	}{
		{"good", plan, []rollout.Target{at("a", 1, 3, known, good)}, "widen 5"},
		{"good, at a percentage of its own", plan, []rollout.Target{at("a", 10, 3, known, good)}, "widen 25"},
		{"good, not offered", plan, []rollout.Target{at("a", 0, 3, known, good)}, "widen 1"},
		{"good, too soon", plan, []rollout.Target{at("a", 1, 1, known, good)}, "wait 0"},
		{"good, all have it", plan, []rollout.Target{at("a", 100, 3, known, good)}, "done 0"},
		{"bad", plan, []rollout.Target{at("a", 1, 0, known, bad)}, "hold 0"},
		{"bad, all have it", plan, []rollout.Target{at("a", 100, 90, known, bad)}, "hold 0"},
		{"nothing has ever failed", plan, []rollout.Target{at("a", 1, 3, rollout.Starts{Confirmed: 300}, rollout.Starts{})}, "wait 0"},
		{"nothing is known", plan, []rollout.Target{at("a", 1, 90, known, few)}, "wait 0"},
		{"a small one follows", plan, []rollout.Target{at("a", 1, 3, known, good), at("b", 1, 3, known, few)}, "widen 5, widen 5"},
		{"a small one with a failure does not", plan, []rollout.Target{at("a", 1, 3, known, good), at("b", 1, 3, known, fewBad)}, "widen 5, wait 0"},
		{"a bad one does not stop a good one", plan, []rollout.Target{at("a", 1, 3, known, good), at("b", 1, 3, known, bad)}, "widen 5, hold 0"},
		{"a bad one stops small ones", plan, []rollout.Target{at("a", 1, 3, known, few), at("b", 1, 3, known, bad)}, "hold 0, hold 0"},
		{"a new target follows", plan, []rollout.Target{at("a", 1, 3, known, good), at("b", 1, 3, rollout.Starts{}, good)}, "widen 5, widen 5"},
		{"little is known, and patience ends", patient, []rollout.Target{at("a", 1, 48, known, few)}, "widen 5"},
		{"little is known, and patience lasts", patient, []rollout.Target{at("a", 1, 47, known, few)}, "wait 0"},
		{"one has failed", patient, []rollout.Target{at("a", 1, 48, known, fewBad)}, "wait 0"},
		{"other shares of failures, another mixture", plan, []rollout.Target{
			at("a", 1, 3, rollout.Starts{Confirmed: 9_000_000, Failed: 1_000_000}, rollout.Starts{Confirmed: 900_000, Failed: 100_000}),
			at("b", 1, 3, known, rollout.Starts{Confirmed: 10}),
		}, "widen 5, widen 5"},
	} {
		var got []string
		for i, d := range c.plan.Next(c.targets) {
			got = append(got, string(d.Action)+" "+strconv.Itoa(d.Percent))
			if d.Target != c.targets[i].Name || d.Reason == "" || strings.Contains(d.Reason, "e-") { // 0 % is not 1e-07 %
				t.Errorf("%s: %+v", c.name, d)
			}
		}
		if joined := strings.Join(got, ", "); joined != c.want {
			t.Errorf("%s: %s, want %s: %+v", c.name, joined, c.want, c.plan.Next(c.targets))
		}
	}
}
