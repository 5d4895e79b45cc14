package qa

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"collet/build/qa/report"
)

// try is one case before it was tried.
type try struct {
	name   string
	params []report.Param
	do     func(ctx context.Context) (report.State, string, error)
}

// Progress is told each case in the order of the plan: how many are done with it, and of how many.
type Progress func(done, total int, c report.Case)

// playCases tries cases, jobs at a time. One that could not be tried to its end because ctx ended is skipped, and the error
// is then that of ctx. Any other trouble is a violation: what could not be found out was not proven.
func playCases(ctx context.Context, suite string, tries []try, jobs int, tell Progress) error {
	do := func(ctx context.Context, i int) report.Case { return playCase(ctx, suite, tries[i]) }
	report.Spread(ctx, jobs, len(tries), do, func(i int, c report.Case) { tell(i+1, len(tries), c) })
	return ctx.Err()
}

// playCase tries one case. A panic is turned into a violation, so that what other cases have mounted is unmounted.
func playCase(ctx context.Context, suite string, t try) (c report.Case) {
	began := time.Now()
	c = report.Case{Suite: suite, Name: t.name, Params: t.params}
	defer func() {
		if fault := recover(); fault != nil {
			c.State, c.Detail = report.Violation, fmt.Sprintf("internal error of this kit: %v\n%s", fault, debug.Stack())
		}
		c.Took = time.Since(began)
	}()
	state, detail, err := t.do(ctx)
	var skip *skipError
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

// skipError is why a case can't be tried on this machine.
type skipError struct{ reason string }

func (e *skipError) Error() string { return "skipped: " + e.reason }

// verdict is the state of a case whose problem is known, empty for none.
func verdict(problem, note string, err error) (report.State, string, error) {
	if err == nil && problem != "" {
		return report.Violation, joinLines(note, problem), nil
	}
	return report.OK, note, err
}

// milliseconds is a duration as a parameter: whole milliseconds.
func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
