// Package crash proves that an update survives a crash at any operation.
//
// Run plays stories of an install on a disk in memory (platform/faultfs). It stops each story before, inside and after every file operation:
// as a killed process, and as a power cut after which some unsynced data survives. The next start must find exactly one of the sets that the
// story allows, every file of the player unchanged, and the way to the story's end. The starts that recover are stopped in the same way.
//
// The code under test is package app/install itself, driven by a small client. Mutants are builds with one deliberate fault each; Run must
// report violations for every one of them. Equal options give equal cases in equal order.
package crash

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"collet/app/install"
	"collet/build/qa/report"
	"collet/platform/faultfs"
)

const (
	crashSuite    = "crash"
	recoverySuite = "recovery" // stops in starts that recover from another stop
)

// Depths of Options.
const (
	Once  = 1 // the stories are stopped
	Twice = 2 // recoveries are stopped, too, where the seed selects them
	Fully = 3 // recoveries are stopped everywhere, too
)

// Options configure Run.
type Options struct {
	Names    install.Names // names of the install's files
	Old, New Set           // two releases
	Story    string        // pattern of path.Match for the stories; empty means all
	Only     string        // one point of one story, as in a violation; empty means all
	Mutant   string        // a broken build instead of the correct one; see Mutants
	Depth    int           // Once, Twice or Fully; 0 means Twice
	Seeds    int           // random draws for each share with an open outcome; 0 means 2
	Seed     uint64        // the first of them
	Sparse   int           // tries one of so many stops, selected by the seed; 0 means every stop
	Enough   int           // a story ends after so many violations; 0 means never
	Jobs     int           // concurrent stories; 0 means one for each processor
	Sets     string        // flags that name the releases in the command line that repeats a case
	// Progress is called from time to time with the number of tried and all stops, concurrently. May be nil.
	Progress func(done, total int, what string)
}

// ErrUsage says that Options select nothing.
var ErrUsage = errors.New("nothing to try")

// Count counts the work of Run.
type Count struct {
	Stories    int // each with and without an atomic exchange of two names
	Operations int // of all stories together
	Stops      int // combinations of operation, moment and survival
	Recoveries int // stops within recoveries
	States     int // distinct disks
}

// String formats the count for the report.
func (n Count) String() string {
	return fmt.Sprintf("Tried %d stops in %d operations of %d stories, and %d stops in the starts that recover from them; %d different disks",
		n.Stops, n.Operations, n.Stories, n.Recoveries, n.States)
}

func (n *Count) add(m Count) {
	n.Stories, n.Operations, n.Stops = n.Stories+m.Stories, n.Operations+m.Operations, n.Stops+m.Stops
	n.Recoveries, n.States = n.Recoveries+m.Recoveries, n.States+m.States
}

// Run plays stories of an install on a volume in memory and stops each one before, inside and after every operation. The process is
// killed, or the machine loses power and 0, 50 or 100 % of the unsynced data survives. After each stop it checks the promise of package
// install. The next start opens and finds exactly one of the sets that the story allows at this point, by every byte. One more run leads to
// the story's end. The player's files are unchanged, and no temporary files remain. Recovering starts are stopped in the same way.
//
// take receives the cases story by story, always in the same order, from one goroutine. Each stop is a case; stops within recoveries form
// one case for each operation and survival. When ctx ends, take receives the finished cases before Run returns its error.
func Run(ctx context.Context, o Options, take func(report.Case)) (Count, error) {
	o = o.withDefaults()
	runs, err := o.runs()
	if err != nil {
		return Count{}, err
	}
	if err := o.eachStory(ctx, runs, func(r *storyRun) error { return r.prepare() }); err != nil {
		return Count{}, err
	}
	p := &progress{report: o.Progress}
	for _, r := range runs {
		p.total += r.expected()
	}
	var count Count
	err = o.eachInOrder(ctx, runs, func(r *storyRun) error { return r.play(ctx, p) }, func(r *storyRun) {
		count.add(r.count)
		for _, c := range r.cases() {
			take(c)
		}
	})
	return count, err
}

func (o Options) withDefaults() Options {
	if o.Depth == 0 {
		o.Depth = Twice
	}
	if o.Seeds == 0 {
		o.Seeds = 2
	}
	if o.Jobs == 0 {
		o.Jobs = runtime.NumCPU()
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	return o
}

// Stories lists the stories with a description, one a line.
func Stories() []string {
	var lines []string
	for _, s := range allStories() {
		lines = append(lines, fmt.Sprintf("%-10s %s", s.name, s.about))
	}
	return lines
}

// movesSuffix marks a story on a system without an atomic exchange of two names.
const movesSuffix = ".moves"

// runs lists the selected stories that are possible with these sets, on each system.
func (o Options) runs() ([]*storyRun, error) {
	if _, err := path.Match(o.Story, ""); err != nil {
		return nil, fmt.Errorf("%w: story %q: %v", ErrUsage, o.Story, err)
	}
	mutant, err := findMutant(o.Mutant)
	if err != nil {
		return nil, err
	}
	only, err := parsePoints(o.Only)
	if err != nil {
		return nil, err
	}
	sets := o.sets()
	var runs []*storyRun
	for _, s := range allStories() {
		if s.needs != nil && !s.needs(sets) {
			continue
		}
		for _, suffix := range []string{"", movesSuffix} {
			id := s.name + suffix
			if wanted, _ := path.Match(o.Story, id); !wanted && o.Story != "" {
				continue
			}
			runs = append(runs, &storyRun{id: id, options: o, only: only, config: faultfs.Config{NoExchange: suffix != ""},
				judge: newJudge(s, o.Names, s.setsOf(sets), mutant)})
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%w: no story %q; there are\n  %s", ErrUsage, o.Story, strings.Join(Stories(), "\n  "))
	}
	if only != nil && len(runs) > 1 {
		return nil, fmt.Errorf("%w: one point of %d stories: name one story", ErrUsage, len(runs))
	}
	return runs, nil
}

// eachStory calls do for all runs, some at a time, and returns the first error.
func (o Options) eachStory(ctx context.Context, runs []*storyRun, do func(*storyRun) error) error {
	return o.eachInOrder(ctx, runs, do, func(*storyRun) {})
}

// eachInOrder is eachStory with a call of done after each run, in the order of the runs, also after an error.
func (o Options) eachInOrder(ctx context.Context, runs []*storyRun, do func(*storyRun) error, done func(*storyRun)) (first error) {
	report.InOrder(o.Jobs, len(runs), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return do(runs[i])
	}, func(i int, err error) {
		if first == nil {
			first = err
		}
		done(runs[i])
	})
	return first
}

// progress counts the stops of all runs.
type progress struct {
	report func(done, total int, what string)
	done   atomic.Int64
	total  int
}

// progressEvery is the number of stops between two calls of Progress.
const progressEvery = 64

func (p *progress) countOne(what string) {
	if n := int(p.done.Add(1)); n%progressEvery == 0 {
		p.report(n, p.total, what)
	}
}

// survival is what survives a stop.
type survival struct {
	kept string // "kill", or percent, with "u" appended if names survive in any order
	seed uint64 // 0 without random draws
}

// killed is a killed process: all its writes survive.
const killed = "kill"

// survivals lists the possible survivals of a stop.
func (o Options) survivals() []survival {
	list := []survival{{killed, 0}, {"0", 0}, {"100", 0}}
	for _, kept := range []string{"50", "50u"} {
		for i := range o.Seeds {
			list = append(list, survival{kept, o.Seed + uint64(i)})
		}
	}
	return list
}

// of returns the disk after a stop.
func (s survival) of(d *faultfs.Disk, p point) *faultfs.Disk {
	const prime = 1_000_003 // draws differ from one operation to the next
	if s.kept == killed {
		return d.Clone()
	}
	cut := faultfs.Keep(100, s.seed*prime+uint64(p.op))
	switch s.kept {
	case "0":
		cut.Names, cut.Data = 0, 0
	case "50", "50u":
		cut.Names, cut.Data, cut.Unordered = 50, 50, s.kept == "50u"
	}
	return d.Crash(cut)
}

// knownSurvival reports whether a word names a survival.
func knownSurvival(kept string) bool {
	return slices.Contains([]string{killed, "0", "50", "50u", "100"}, kept)
}
