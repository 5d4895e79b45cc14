package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"collet/build/qa/report"
	"collet/platform/faultfs"
)

// storyRun is one story on one system. It is used by one goroutine.
type storyRun struct {
	id      string
	options Options
	only    []point
	config  faultfs.Config
	judge   *judge

	base       *faultfs.Disk  // the start of the story
	ops        []faultfs.Op   // of an undisturbed run
	recovered  map[string]int // states whose recovery was stopped, numbered
	count      Count
	violations int

	current  *client // the client that is stopped
	results  []stopResult
	recovery map[string]*recoveryCell
	order    []string // keys of recovery in order of insertion
}

// stopResult is the result of one stop.
type stopResult struct {
	point
	label   string
	trouble string
}

// recoveryCell collects the stops in recoveries at one operation.
type recoveryCell struct {
	label   string
	point   point
	stops   int
	trouble []string
}

// prepare brings the disk to the start of the story and counts the story's operations. It uses the correct build.
func (r *storyRun) prepare() error {
	r.recovered, r.recovery = map[string]int{}, map[string]*recoveryCell{}
	r.base = faultfs.New(r.config)
	if err := plant(r.base, r.judge.player); err != nil {
		return err
	}
	correct := &client{names: r.options.Names, sets: r.judge.sets, mode: 2, fsys: r.base.Open(faultfs.Options{})}
	if err := correct.play(r.judge.story.before); err != nil {
		return fmt.Errorf("story %s: what comes before it: %w", r.id, err)
	}
	r.base.Settle()
	if r.judge.story.damage != nil {
		if err := r.judge.story.damage(r.base, r.judge.sets); err != nil {
			return fmt.Errorf("story %s: %w", r.id, err)
		}
	}
	p := r.base.Clone().Open(faultfs.Options{})
	if err := r.judge.client(p).play(r.judge.story.act); err != nil && r.judge.mutant.Name == "" {
		return fmt.Errorf("story %s, undisturbed: %w", r.id, err)
	}
	r.ops = p.Ops()
	return nil
}

// expected returns the number of stops.
func (r *storyRun) expected() int {
	if r.only != nil {
		return 1
	}
	moments := 1
	for _, o := range r.ops {
		if moments += 2; o.Verb == faultfs.Write {
			moments++
		}
	}
	return moments * len(r.options.survivals())
}

// play stops the story everywhere.
func (r *storyRun) play(ctx context.Context, p *progress) error {
	r.count.Stories = 1
	w := walker{disk: r.base, run: r.act, look: func(point point, o faultfs.Op, d *faultfs.Disk) {
		may := r.current.allowed
		for _, s := range r.wanted(0) {
			if ctx.Err() == nil && !r.enough() && r.chance(r.options.Sparse, point.at(s)) {
				r.stopAt(ctx, point.at(s), o, d, may)
				p.countOne(r.id)
			}
		}
	}}
	if r.only != nil {
		w.only = &r.only[0]
	}
	ops, err := w.walk()
	if err != nil {
		r.results = append(r.results, stopResult{label: "nothing", trouble: "the story does not go well even if nothing is stopped: " + err.Error()})
	}
	r.count.Operations, r.count.States = len(ops), len(r.judge.verdicts)
	return ctx.Err()
}

// enough reports whether the limit of violations is reached.
func (r *storyRun) enough() bool { return r.options.Enough > 0 && r.violations >= r.options.Enough }

// act plays the story once.
func (r *storyRun) act(p *faultfs.FS) error {
	r.current = r.judge.client(p)
	err := r.current.play(r.judge.story.act)
	if err == nil {
		r.current.allowed = r.judge.story.act[len(r.judge.story.act)-1].allowed
	}
	return err
}

// wanted returns the survivals to try at a level: 0 is the story, 1 the recovery.
func (r *storyRun) wanted(level int) []survival {
	if r.only != nil {
		return []survival{r.only[level].survival}
	}
	return r.options.survivals()
}

// stopAt judges one stop, and then stops its recovery.
func (r *storyRun) stopAt(ctx context.Context, p point, o faultfs.Op, d *faultfs.Disk, may []string) {
	r.count.Stops++
	left := p.of(d, p)
	key := r.judge.key(left)
	if r.stopsRecoveries() {
		state := fmt.Sprint(key, may)
		if p.kept == killed { // not all of the data is durable
			state += fmt.Sprint(r.judge.key(left.Crash(faultfs.Keep(0, 0))))
		}
		r.stopRecovery(ctx, p, left, state, may)
	}
	if len(r.only) > 1 {
		return
	}
	f := stopResult{p, o.Label(), r.judge.broken(r.judge.of(left, key), may)}
	if p.when == momentEnd {
		f.label = "(behind the last)"
	}
	if f.trouble != "" {
		r.violations++
		f.trouble += "\nrepeat: " + r.repeat(p.String())
	}
	r.results = append(r.results, f)
}

// repeat returns the command line that repeats one stop.
func (r *storyRun) repeat(points string) string {
	line := fmt.Sprintf("collet qa crash%s --story %s --only %s", r.options.Sets, r.id, points)
	if r.judge.mutant.Name != "" {
		line += " --mutant " + r.judge.mutant.Name
	}
	return line
}

// stopsRecoveries reports whether recoveries are stopped.
func (r *storyRun) stopsRecoveries() bool {
	if r.only != nil {
		return len(r.only) > 1
	}
	return r.options.Depth >= Twice
}

// stopRecovery stops the start that recovers from a stop, unless that was done for an equal disk.
func (r *storyRun) stopRecovery(ctx context.Context, first point, left *faultfs.Disk, state string, may []string) {
	if r.recovered[state] != 0 {
		return
	}
	r.recovered[state] = len(r.recovered) + 1
	w := walker{disk: left, run: r.recover, look: func(p point, o faultfs.Op, d *faultfs.Disk) {
		expected := may
		if p.when == momentEnd { // the next start finds what this one left
			expected = r.judge.liveSets(d.Files())
		}
		for _, s := range r.wanted(1) {
			second := p.at(s)
			if ctx.Err() == nil && !r.enough() && r.draws(state, second) {
				r.count.Recoveries++
				again := second.of(d, second)
				r.addRecovery(first, second, o, r.judge.broken(r.judge.of(again, r.judge.key(again)), expected))
			}
		}
	}}
	if len(r.only) > 1 {
		w.only = &r.only[1]
	}
	w.walk() // a failure to open is reported by its own verdict
}

// oneIn is the number of stops in recoveries for each one that Twice tries.
const oneIn = 80

// draws decides whether a stop in the recovery of a state is tried.
func (r *storyRun) draws(state string, p point) bool {
	return r.options.Depth >= Fully || r.chance(oneIn, r.recovered[state], p)
}

// chance is true once in n times, decided by the seed; always true if one point is selected.
func (r *storyRun) chance(n int, what ...any) bool {
	if r.only != nil || n <= 1 {
		return true
	}
	h := fnv.New32a()
	fmt.Fprint(h, r.options.Seed, r.id, what)
	return int(h.Sum32()>>8)%n == 0
}

// recover is a start that only opens the install.
func (r *storyRun) recover(p *faultfs.FS) error {
	c := r.judge.client(p)
	c.verify = false
	return c.openInstall()
}

// maxReported is how many violations of one cell are reported in full.
const maxReported = 3

// addRecovery adds a stop within a recovery to its cell.
func (r *storyRun) addRecovery(first, second point, o faultfs.Op, trouble string) {
	label := o.Label()
	if second.when == momentEnd {
		label = "(behind the last)"
	}
	key := strings.Join([]string{label, second.when, second.kept}, "\x00")
	cell := r.recovery[key]
	if cell == nil {
		cell = &recoveryCell{label: label, point: second}
		r.recovery[key] = cell
		r.order = append(r.order, key)
	}
	cell.stops++
	if trouble != "" {
		r.violations++
		cell.trouble = append(cell.trouble, fmt.Sprintf("%s\nrepeat: %s", trouble, r.repeat(first.String()+"/"+second.String())))
	}
}

var errUnknownMoment = errors.New("no such operation, or nothing of the kind can be stopped in it")

// cases returns the rows of the report.
func (r *storyRun) cases() (cases []report.Case) {
	if r.only != nil && r.count.Stops+r.count.Recoveries == 0 {
		return []report.Case{{Suite: crashSuite, Name: r.id, State: report.Skipped, Detail: errUnknownMoment.Error()}}
	}
	rank := []string{momentBefore, momentInside, momentAfter, momentEnd}
	slices.SortStableFunc(r.results, func(a, b stopResult) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(slices.Index(rank, a.when), slices.Index(rank, b.when)))
	})
	for _, f := range r.results {
		cases = append(cases, report.Case{Suite: crashSuite, Name: r.id, State: stateOf(f.trouble), Detail: f.trouble, Params: []report.Param{
			{Name: "at", Value: fmt.Sprint(f.op)}, {Name: "op", Value: f.label}, {Name: "when", Value: f.when}, {Name: "kept", Value: f.kept}, {Name: "seed", Value: fmt.Sprint(f.seed)}}})
	}
	for _, key := range r.order {
		cases = append(cases, r.recovery[key].asCase(r.id))
	}
	return cases
}

func stateOf(trouble string) report.State {
	if trouble == "" {
		return report.OK
	}
	return report.Violation
}

// asCase converts a cell of the recovery matrix to a case.
func (c *recoveryCell) asCase(id string) report.Case {
	detail := fmt.Sprintf("%d stops", c.stops)
	if n := len(c.trouble); n > 0 {
		detail += fmt.Sprintf(", %d violations\n%s", n, strings.Join(c.trouble[:min(n, maxReported)], "\n"))
	}
	return report.Case{Suite: recoverySuite, Name: id, State: stateOf(strings.Join(c.trouble, "")), Detail: detail,
		Params: []report.Param{{Name: "op", Value: c.label}, {Name: "when", Value: c.point.when}, {Name: "kept", Value: c.point.kept}}}
}
