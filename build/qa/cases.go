package qa

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"collet/build/qa/report"
)

// try is one planned case.
type try struct {
	name   string
	params []report.Param
	do     func(ctx context.Context) (report.State, string, error)
}

// Progress receives each case in the order of the plan, with the number of finished and of all cases.
type Progress func(done, total int, c report.Case)

// playCases plays cases, jobs at a time. A case that ctx interrupted is skipped; the error is then that of ctx. Any other error of a case is
// a violation, because an unknown result proves nothing.
func playCases(ctx context.Context, suite string, tries []try, jobs int, tell Progress) error {
	do := func(ctx context.Context, i int) report.Case { return playCase(ctx, suite, tries[i]) }
	report.Spread(ctx, jobs, len(tries), do, func(i int, c report.Case) { tell(i+1, len(tries), c) })
	return ctx.Err()
}

// playCase plays one case. A panic becomes a violation, so that the mounts of other cases are removed.
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

// skipError is the reason why a case can't run on this machine.
type skipError struct{ reason string }

func (e *skipError) Error() string { return "skipped: " + e.reason }

// verdict returns the result of a case; problem is empty if the promise was kept.
func verdict(problem, note string, err error) (report.State, string, error) {
	if err == nil && problem != "" {
		return report.Violation, joinLines(note, problem), nil
	}
	return report.OK, note, err
}

// milliseconds formats a duration as a parameter.
func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
