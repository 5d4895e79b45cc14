package rollout_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collet/netproto/release/rollout"
	"collet/platform/testlevel"
)

// The players: ten million installs, on three targets, each of which looks for an update once a day on average.
const (
	installs = 10_000_000
	look     = 10 * time.Minute    // the counts are judged so often
	longest  = 10 * 24 * time.Hour // and so long, if nothing ends the rollout
	baseRate = 0.001               // of first starts that fail, of any release
	defect   = 0.005               // more, of a bad one
)

var shares = []float64{0.80, 0.15, 0.05}

// world is a kind of rollout.
type world struct {
	name   string
	more   []float64 // share of first starts that fail beside the usual, by target
	forged float64   // confirmed starts that are reported and never happened, as a share of the true ones
}

// outcome is the end of one rollout.
type outcome struct {
	harmed      int // players whose first start failed for the defect, over all targets
	wrong       int // targets without the defect that were held
	missed      int // targets with the defect that reached all players
	waiting     int // targets with the defect that were not held, and are still at a step
	unfinished  int // targets without the defect that neither reached all players nor were held
	mostPercent int // that a target with the defect was offered to
	took        time.Duration
}

// TestSimulation: a defect of 0.5 % against a usual share of 0.1 % is held before 2,000 players were harmed, in each of the seeds; fewer than
// 1 % of good releases are held.
func TestSimulation(t *testing.T) {
	seeds := 20
	if testlevel.Full() {
		seeds = 1000
	}
	plan := rollout.DefaultPlan()
	for _, w := range []world{
		{"good", []float64{0, 0, 0}, 0},
		{"bad everywhere", []float64{defect, defect, defect}, 0},
		{"bad for one target", []float64{0, defect, 0}, 0},
		{"bad for the smallest target", []float64{0, 0, defect}, 0},
		{"bad everywhere, a tenth of the reports forged", []float64{defect, defect, defect}, 0.1},
		{"one in ten crashes", []float64{0.1, 0.1, 0.1}, 0},
	} {
		var harmed []int
		var took time.Duration
		var wrong, missed, waiting, unfinished, widest int
		isGood := true
		for _, more := range w.more {
			isGood = isGood && more == 0
		}
		for seed := range seeds {
			o := play(plan, w, rand.New(rand.NewPCG(uint64(seed), 22)))
			harmed = append(harmed, o.harmed)
			took += o.took
			wrong += min(o.wrong, 1)
			missed += o.missed
			waiting += o.waiting
			unfinished += o.unfinished
			widest = max(widest, o.mostPercent)
		}
		slices.Sort(harmed)
		t.Logf("%s: %d seeds; harmed: median %d, most %d; bad targets offered to %d %% at most, to all %d, not decided %d; good targets held in %d, unfinished %d; ended after %v on average",
			w.name, seeds, harmed[seeds/2], harmed[seeds-1], widest, missed, waiting, wrong, unfinished, (took / time.Duration(seeds)).Round(time.Minute))
		if most := harmed[seeds-1]; most >= 2000 || missed > 0 || unfinished > 0 {
			t.Errorf("%s: %d players harmed, want fewer than 2000; %d bad targets reached all, %d good ones did not", w.name, most, missed, unfinished)
		}
		// What is held beside a bad target is no mistake about a good release.
		if isGood && wrong*100 >= seeds {
			t.Errorf("%s: held in %d of %d, want fewer than 1 %%", w.name, wrong, seeds)
		}
	}
}

// play plays one rollout. It ends when each target is held or has reached all players and has been judged for two more days.
func play(plan rollout.Plan, w world, rng *rand.Rand) (o outcome) {
	targets := make([]rollout.Target, len(shares))
	since := make([]time.Duration, len(shares)) // when the percentage was set
	held := make([]bool, len(shares))
	for i, share := range shares {
		before := poisson(rng, installs*share*0.9) // most players had the release before
		failed := poisson(rng, float64(before)*baseRate)
		targets[i] = rollout.Target{Percent: plan.Steps[0], Before: rollout.Starts{Confirmed: before - failed, Failed: failed}}
	}
	started := make([]float64, len(shares))
	truth := make([]rollout.Starts, len(shares))
	perLook := 1 - math.Exp(-look.Hours()/24)
	for now := look; now <= longest; now += look {
		for i, share := range shares {
			if held[i] {
				continue
			}
			waiting := max(0, installs*share*float64(targets[i].Percent)/100-started[i])
			starts := poisson(rng, waiting*perLook)
			started[i] += float64(starts)
			harmed := min(starts, poisson(rng, float64(starts)*w.more[i]))
			failed := min(starts, harmed+poisson(rng, float64(starts)*baseRate))
			truth[i].Failed += failed
			truth[i].Confirmed += starts - failed
			o.harmed += int(harmed)
			targets[i].Now = truth[i]
			targets[i].Now.Confirmed += uint64(float64(truth[i].Confirmed) * w.forged)
			targets[i].At = now - since[i]
		}
		done := 0
		for i, d := range plan.Next(targets) {
			switch {
			case held[i]:
				done++
			case d.Action == rollout.Hold:
				held[i] = true
				done++
			case d.Action == rollout.Widen:
				targets[i].Percent, since[i] = d.Percent, now
			case d.Action == rollout.Done && targets[i].At >= 48*time.Hour:
				done++
			}
		}
		if o.took = now; done == len(shares) {
			break
		}
	}
	for i := range targets {
		switch isBad := w.more[i] > 0; {
		case isBad && !held[i] && targets[i].Percent == 100:
			o.missed++
		case isBad && !held[i]:
			o.waiting++
		case !isBad && held[i]:
			o.wrong++
		case !isBad && targets[i].Percent < 100:
			o.unfinished++
		}
		if w.more[i] > 0 {
			o.mostPercent = max(o.mostPercent, targets[i].Percent)
		}
	}
	return o
}

// poisson draws how often something happens that happens mean times on average. Above 50 the normal distribution stands in for it.
func poisson(rng *rand.Rand, mean float64) uint64 {
	if mean > 50 {
		return uint64(max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64())))
	}
	limit, product := math.Exp(-mean), rng.Float64()
	var n uint64
	for ; product > limit; n++ {
		product *= rng.Float64()
	}
	return n
}
