package qa

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"collet/build/qa/report"
)

// labTry is one case before it was tried.
type labTry struct {
	name   string
	params []report.Param
	try    func(ctx context.Context) (report.State, string, error)
}

// LabTell is told each case in the order of the plan: how many are done with it, and of how many.
type LabTell func(done, total int, c report.Case)

// labTries tries cases, jobs at a time. One that could not be tried to its end because ctx ended is skipped, and the error
// is then that of ctx. Any other trouble is a violation: what could not be found out was not proven.
func labTries(ctx context.Context, suite string, tries []labTry, jobs int, tell LabTell) error {
	do := func(ctx context.Context, i int) report.Case { return labTryOne(ctx, suite, tries[i]) }
	report.Spread(ctx, jobs, len(tries), do, func(i int, c report.Case) { tell(i+1, len(tries), c) })
	return ctx.Err()
}

// labTryOne tries one case. A panic is turned into a violation, so that what other cases have mounted is unmounted.
func labTryOne(ctx context.Context, suite string, t labTry) (c report.Case) {
	began := time.Now()
	c = report.Case{Suite: suite, Name: t.name, Params: t.params}
	defer func() {
		if fault := recover(); fault != nil {
			c.State, c.Detail = report.Violation, fmt.Sprintf("internal error of this kit: %v\n%s", fault, debug.Stack())
		}
		c.Took = time.Since(began)
	}()
	state, detail, err := t.try(ctx)
	var skip *labSkip
	switch {
	case err == nil:
		c.State, c.Detail = state, detail
	case errors.As(err, &skip):
		c.State, c.Detail = report.Skipped, skip.reason
	default:
		c.State, c.Detail = report.Violation, "could not be tried: "+err.Error()
	}
	return c
}

// labSkip is why a case can't be tried on this machine.
type labSkip struct{ reason string }

func (e *labSkip) Error() string { return "skipped: " + e.reason }

// labVerdict is the state of a case whose problem is known, empty for none.
func labVerdict(problem, note string, err error) (report.State, string, error) {
	if err == nil && problem != "" {
		return report.Violation, labLines(note, problem), nil
	}
	return report.OK, note, err
}

// labMS is a duration as a parameter: whole milliseconds.
func labMS(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
