package qa

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"collet/build/qa/report"
)

const (
	// realSuite is the suite of the cases that Real tries.
	realSuite = "crash real"
	// realSlack is the time of the last kills as a multiple of the fastest update: with concurrent copies every run takes longer.
	realSlack = 1.25
)

// RealOptions configure the kills of a real client.
type RealOptions struct {
	Kills  int    // at random moments of an update
	Points string // a client built with the tag crashpoints, for a crash at every operation of an update; may be empty
	Depth  int    // 2: the recovery is killed, too, at its own moment or operation; 1: it is not
	Seed   uint64
	Jobs   int // concurrent copies; less than 1 is one
}

// Real kills a lab's client in copies of its install and judges each one. After a recovering run the install must have exactly the old or
// the new set; after as many runs as an undisturbed update takes, the new one. The player's files must be unchanged. The error is that of
// ctx, or says that there is nothing to try.
func Real(ctx context.Context, l *Lab, o RealOptions, tell Progress) error {
	tries := l.randomKills(o)
	if o.Points != "" {
		points, err := l.points(ctx, o)
		if err != nil {
			return err
		}
		tries = append(tries, points...)
	}
	return playCases(ctx, realSuite, tries, o.Jobs, tell)
}

// randomKills plans kills at random moments, evenly spread over an update and slightly beyond it.
func (l *Lab) randomKills(o RealOptions) []try {
	chance := rand.New(rand.NewPCG(o.Seed, 1))
	span := time.Duration(float64(l.Duration()) * realSlack)
	moments := make([]time.Duration, o.Kills)
	for i := range moments {
		moments[i] = 1 + time.Duration(chance.Int64N(int64(span)))
	}
	slices.Sort(moments)
	tries := make([]try, o.Kills)
	for i, at := range moments {
		again := l.recoveryKills(chance, o.Depth)
		tries[i] = try{
			name:   fmt.Sprintf("kill after %d %%", at*10/l.Duration()*10),
			params: []report.Param{{Name: "kill", Value: fmt.Sprint(i + 1)}, {Name: "at", Value: milliseconds(at)}},
			do: func(ctx context.Context) (report.State, string, error) {
				return l.killAt(ctx, at, again)
			},
		}
	}
	return tries
}

// recoveryKills plans the kills of one case's recovery: none at depth 1, otherwise one within the time of the fastest undisturbed run.
func (l *Lab) recoveryKills(chance *rand.Rand, depth int) []clientRun {
	if depth < 2 {
		return nil
	}
	span := l.stages[0].took
	for _, s := range l.stages {
		span = min(span, s.took)
	}
	return []clientRun{{kill: 1 + time.Duration(chance.Int64N(int64(span)))}}
}

// killAt plays the update in a copy, kills it after a time, and judges the result.
func (l *Lab) killAt(ctx context.Context, at time.Duration, again []clientRun) (report.State, string, error) {
	dir, remove, err := l.clone(0)
	if err != nil {
		return "", "", err
	}
	defer remove()
	note, problem, err := l.playUntil(ctx, dir, at, clientRun{})
	if err == nil && problem == "" {
		problem, err = l.checkInstall(ctx, dir, again)
	}
	return verdict(problem, note, err)
}

// playUntil plays the update in a folder, run by run, and kills it after a time. The note describes the kill.
func (l *Lab) playUntil(ctx context.Context, dir string, at time.Duration, r clientRun) (note, problem string, err error) {
	for n, left := 1, at; ; n++ {
		r.kill = left
		end, err := l.client.run(ctx, dir, r)
		switch {
		case err != nil:
			return "", "", err
		case end.killed:
			return fmt.Sprintf("stopped in run %d after %v%s", n, end.took.Round(time.Millisecond), lastPhase(end)), "", nil
		case end.code != exitReady:
			return "", fmt.Sprintf("run %d, undisturbed so far: %v; it printed:\n%s", n, end, end.tail()), nil
		case end.last.Outcome != outcomeStaged:
			return fmt.Sprintf("run %d ended by itself before the kill: %v", n, end), "", nil
		case n == maxRuns:
			return "", fmt.Sprintf("the update is not over after %d runs", n), nil
		}
		left = max(left-end.took, 1)
	}
}

// lastPhase names the phase in which a client was killed.
func lastPhase(e clientEnd) string {
	if len(e.phases) == 0 {
		return ", before it printed anything"
	}
	return ", last phase " + e.phases[len(e.phases)-1]
}
