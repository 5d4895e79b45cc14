// Package rollout decides from counts of first starts whether a release is offered to more players, or to no more.
//
// An install that starts a release for the first time tells at most once that the game did not get ready, and at most once that it did. The package
// compares the share of failures with that of the release before:
//
//	Judge    what the counts of one target say: Good, Bad or Undecided
//	Plan     the steps of a rollout, and Next, what to do now with one target
//
// # The test
//
// It is Wald's sequential probability ratio test, once in each direction, which may be asked as often as one likes while the counts grow.
//
//   - A release is Bad when its counts are 1/h times as likely under a share of high+worse as under high. If its share of failures is high or
//     less, the ratio is a supermartingale, and by Ville's inequality it ever reaches 1/h with a chance of at most h.
//   - A release is Good when its counts are 1/w times as likely under high as under low+worse. If its share of failures is low+worse or more,
//     this ever happens with a chance of at most w.
//
// low and high bound the share of failures of the release before: by Hoeffding's bound each is wrong with a chance of at most h or w. So with
// Chances{Hold: 2h, Widen: 2w}
//
//   - the chance of ever holding a release that fails no more often than the one before is at most Chances.Hold;
//   - the chance of ever widening one that fails more often by worse or more is at most Chances.Widen.
//
// Releases between these are judged one way or the other. Good and Bad exclude each other, because the likelihood of a share has one maximum.
//
// Sources: A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945), 117–186; J. Ville, Étude critique
// de la notion de collectif (1939), for ratios that are looked at again and again; W. Hoeffding, Probability Inequalities for Sums of Bounded
// Random Variables, Journal of the American Statistical Association 58 (1963), 13–30, theorem 1.
//
// # What it takes for granted
//
// First starts are independent of each other and of their order, and the counts are true. Players who update first may be others than those
// who update last: a defect that only those have is seen late. The counts of the release before must not change while a rollout runs: take
// them once, at its beginning.
//
// All is pure, and safe for concurrent use.
package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Starts counts first starts of a release.
type Starts struct {
	Confirmed uint64 // the game was ready
	Failed    uint64 // the game ended before, or nothing is known of its end
}

// Total is the number of first starts.
func (s Starts) Total() uint64 { return s.Confirmed + s.Failed }

// Rate is the share of failures, 0 to 1, and 0 without starts.
func (s Starts) Rate() float64 {
	if s.Total() == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.Total())
}

// Chances bounds the chances of wrong decisions about a release, over its whole rollout and all of its targets. Each is above 0 and below 1.
type Chances struct {
	Hold  float64 // of holding a release that fails no more often than the one before
	Widen float64 // of widening a release that fails more often by Worse or more
	Worse float64 // the difference that matters, as a share of first starts
}

// Check returns the fault of the chances, or nil.
func (c Chances) Check() error {
	for _, one := range []struct {
		name  string
		value float64
	}{{"chance of holding a good release", c.Hold}, {"chance of widening a bad release", c.Widen}, {"difference that matters", c.Worse}} {
		if !(one.value > 0 && one.value < 1) {
			return fmt.Errorf("%s: %v: want more than 0 and less than 100 %%", one.name, one.value)
		}
	}
	return nil
}

// among divides the chances among so many tests.
func (c Chances) among(tests int) Chances {
	return Chances{c.Hold / float64(tests), c.Widen / float64(tests), c.Worse}
}

// Verdict is what counts say.
type Verdict string

// The verdicts. Their texts are shown and recorded.
const (
	Undecided Verdict = "open" // too little is known
	Good      Verdict = "good"
	Bad       Verdict = "bad"
)

// Finding is a verdict and the numbers behind it.
type Finding struct {
	Verdict   Verdict
	Low, High float64 // bounds of the share of failures of the release before
	ForBad    float64 // how far the evidence against the release has come: Bad from 1 on
	ForGood   float64 // how far the evidence for it has come: Good from 1 on
}

// Judge compares the first starts of a release with those of the release before. Without enough starts of the release before the verdict is
// never Good.
func Judge(before, now Starts, c Chances) Finding {
	var f Finding
	f.High = bound(before, c.Hold/2, +1)
	f.Low = bound(before, c.Widen/2, -1)
	if bad := f.High + c.Worse; bad < 1 {
		f.ForBad = now.ratio(bad, f.High) / math.Log(2/c.Hold)
	}
	if bad := f.Low + c.Worse; bad > f.High && bad < 1 {
		f.ForGood = now.ratio(f.High, bad) / math.Log(2/c.Widen)
	}
	f.conclude()
	return f
}

// conclude sets the verdict.
func (f *Finding) conclude() {
	switch {
	case f.ForBad >= 1:
		f.Verdict = Bad
	case f.ForGood >= 1:
		f.Verdict = Good
	default:
		f.Verdict = Undecided
	}
}

// ratio is the logarithm of how much more likely the counts are under the share of failures p than under q. Both are above 0 and below 1.
func (s Starts) ratio(p, q float64) float64 {
	return float64(s.Failed)*math.Log(p/q) + float64(s.Confirmed)*(math.Log1p(-p)-math.Log1p(-q))
}

// bound is the largest (side +1) or smallest (side -1) share of failures that counts do not contradict: a wrong bound has the given chance at
// most. It is between tiny and 1-tiny.
func bound(s Starts, chance float64, side int) float64 {
	const tiny = 1e-9
	seen := s.Rate()
	want := math.Log(1 / chance)
	inner, outer := seen, 1-tiny
	if side < 0 {
		outer = tiny
	}
	for range 60 { // halves the interval, of length 1 at most, to below 1e-18
		p := (inner + outer) / 2
		if float64(s.Total())*divergence(seen, p) < want {
			inner = p
		} else {
			outer = p
		}
	}
	return min(max(outer, tiny), 1-tiny)
}

// divergence is that of Kullback and Leibler between shares p and q, in nats.
func divergence(p, q float64) (d float64) {
	if p > 0 {
		d += p * math.Log(p/q)
	}
	if p < 1 {
		d += (1 - p) * math.Log((1-p)/(1-q))
	}
	return d
}

// Plan is how a rollout goes.
type Plan struct {
	Steps   []int         // percentages, rising, the last one 100 or less
	Stay    time.Duration // at least so long at each step: failures may be told later than successes
	Chances Chances

	// Patience, if it is not 0, is how long a target waits at a step for evidence. After that it is widened if its own starts and those of all
	// targets do not speak against it, which Chances.Widen does not bound. It is for games whose first steps have too few players to tell.
	Patience time.Duration
}

// DefaultPlan is how a rollout goes if nothing else is asked for. For one target, and with a share of failures of 0.1 %, some 3,500 first starts
// make a release Good, and 1,200 that fail at 0.6 % make it Bad.
func DefaultPlan() Plan {
	return Plan{Steps: []int{1, 5, 25, 100}, Stay: 2 * time.Hour, Chances: Chances{Hold: 0.005, Widen: 0.001, Worse: 0.004}}
}

// Check returns the fault of the plan, or nil.
func (p Plan) Check() error {
	if len(p.Steps) == 0 || !slices.IsSorted(p.Steps) || p.Steps[0] < 1 || p.Steps[len(p.Steps)-1] > 100 || len(slices.Compact(slices.Clone(p.Steps))) != len(p.Steps) {
		return fmt.Errorf("steps %v: want percentages from 1 to 100 that rise", p.Steps)
	}
	if p.Stay < 0 || p.Patience < 0 {
		return errors.New("a time at a step is negative")
	}
	return p.Chances.Check()
}

// Target is what is known about a release for one target.
type Target struct {
	Name        string
	Percent     int           // that it is offered to now
	At          time.Duration // how long it has been
	Before, Now Starts        // first starts of the release before, taken once, and of this one
}

// Action is what to do with a release for one target.
type Action string

// The actions. Their texts are shown and recorded.
const (
	Wait  Action = "wait"
	Widen Action = "widen"
	Hold  Action = "hold"
	Done  Action = "done" // the last step is reached; its starts are still judged
)

// Decision is what to do with a release for one target.
type Decision struct {
	Target  string
	Action  Action
	Percent int // of Widen
	Finding Finding
	Reason  string // in English, with the numbers
}

// Next decides for all targets of a release, in their order. A target that is Bad is held. One that is Good is widened to the next step when
// it has been long enough at this one.
//
// The verdict of all targets together multiplies their likelihood ratios. Counts are not pooled: pooled counts mislead when targets have different
// failure rates or different shares of the players (Simpson's paradox). If this combined verdict is Bad, all targets are held that are not Good by
// themselves. If it is Good, a target with too few starts for a verdict of its own is widened, too, unless its own evidence points to Bad
// (Finding.ForBad above 0). Such a target has no evidence of its own; it is still judged, and held once it is Bad.
//
// There is one test for each target and one for all together, and each has an equal part of the chances.
func (p Plan) Next(targets []Target) []Decision {
	part := p.Chances.among(len(targets) + 1)
	own := make([]Finding, len(targets))
	var all Finding
	for i, t := range targets {
		own[i] = Judge(t.Before, t.Now, part)
		all.ForBad += own[i].ForBad
		all.ForGood += own[i].ForGood
	}
	all.conclude()
	list := make([]Decision, len(targets))
	for i, t := range targets {
		list[i] = p.next(t, own[i], all)
	}
	return list
}

// next decides for one target.
func (p Plan) next(t Target, own, all Finding) Decision {
	d := Decision{Target: t.Name, Action: Wait, Finding: own}
	numbers := fmt.Sprintf("%d of %d first starts failed (%s %%); the release before: %s %% to %s %%",
		t.Now.Failed, t.Now.Total(), share(t.Now.Rate()), share(own.Low), share(own.High))
	step, more := p.step(t.Percent)
	switch {
	case own.Verdict == Bad:
		d.Action, d.Reason = Hold, "fails more often than the release before: "+numbers
	case all.Verdict == Bad && own.Verdict != Good:
		d.Action, d.Reason = Hold, "all targets together fail more often than the release before; here "+numbers
	case !more:
		d.Action, d.Reason = Done, "offered to all that it is meant for: "+numbers
	case own.Verdict != Good && own.ForBad <= 0 && all.ForBad <= 0 && p.Patience > 0 && t.At >= max(p.Patience, p.Stay):
		d.Action, d.Percent, d.Reason = Widen, step, fmt.Sprintf("nothing speaks against it after %v: %s", t.At.Round(time.Minute), numbers)
	case own.Verdict != Good && (all.Verdict != Good || own.ForBad > 0):
		d.Reason = fmt.Sprintf("not enough is known: %s; evidence for it %.0f %%, against it %.0f %%", numbers, percent(own.ForGood), percent(own.ForBad))
	case t.At < p.Stay:
		d.Reason = fmt.Sprintf("good so far, and stays at %d %% for %v more: %s", t.Percent, (p.Stay - t.At).Round(time.Minute), numbers)
	case own.Verdict == Good:
		d.Action, d.Percent, d.Reason = Widen, step, "fails no more often than the release before: "+numbers
	default:
		d.Action, d.Percent, d.Reason = Widen, step, "too few players to tell alone, and all targets together are good: "+numbers
	}
	return d
}

// share is a share in percent, for people: to a thousandth.
func share(of float64) string { return strconv.FormatFloat(math.Round(1e5*of)/1e3, 'f', -1, 64) }

// percent is a part of the evidence that is needed, for people.
func percent(part float64) float64 { return 100 * min(max(part, 0), 1) }

// step is the step after a percentage. more is false at the end of the rollout.
func (p Plan) step(now int) (next int, more bool) {
	i, _ := slices.BinarySearchFunc(p.Steps, now, func(step, now int) int { return cmp.Or(cmp.Compare(step, now), -1) })
	if i == len(p.Steps) {
		return now, false
	}
	return p.Steps[i], true
}
