package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/qa/report"
)

// qaCommand is `collet qa`: one line for each kit. A kit is a struct with qaFlags in it and a method
// Run(ctx context.Context, c console.Console) error that hands its work to qaFlags.run.
type qaCommand struct {
	Net       qaNetCommand       `cmd:"" help:"Disturb the network: cuts, resets, stalls, and lost, doubled or damaged bytes."`
	Crash     qaCrashCommand     `cmd:"" help:"Stop an update at every disk operation, in memory, or kill a real client (--real)."`
	Disk      qaDiskCommand      `cmd:"" help:"Test full disks, failing disks and power cuts."`
	Scenarios qaScenariosCommand `cmd:"" help:"Test updates, and faults in them, that are described as text."`
}

// Help is what --help adds to the list of kits.
func (qaCommand) Help() string {
	return `Each kit breaks something on purpose, many times. After each case it checks that the install is exactly the old or exactly
the new set, and that one more update makes it the new one. Only copies are changed. Without further flags each kit tests
the demo's game.

Exit codes: 0 no violation; 1 a violation, or the run was interrupted or failed; 2 wrong usage. The table goes to standard
output, progress to standard error.

  collet qa net --report net.html
  collet qa crash --real`
}

// qaFlags are the flags that all kits share. Embed it.
type qaFlags struct {
	Report string `group:"report" placeholder:"FILE.html" help:"Write an HTML page with a matrix of all cases."`
	JUnit  string `name:"junit" group:"report" placeholder:"FILE.xml" help:"Write JUnit XML, for continuous integration."`
	Jobs   int    `short:"j" group:"work" placeholder:"N" help:"Number of cases that run at once (default: chosen for the kit and this machine)."`
	Seed   uint64 `group:"work" default:"1" placeholder:"N" help:"Random seed; the same seed repeats the same cases (default: ${default})."`
}

// qaRun is one run of a kit, as its work sees it. All methods are safe for concurrent use.
type qaRun struct {
	mu     sync.Mutex
	report *report.Report
	shows  *console.Progress
}

// addCase takes one case. The order of calls is the order in the reports: report.Spread makes it that of the cases.
func (r *qaRun) addCase(c report.Case) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Cases = append(r.report.Cases, c)
}

// comment adds a sentence for the reader of the reports.
func (r *qaRun) comment(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Comments = append(r.report.Comments, fmt.Sprintf(format, values...))
}

// product says what is tried, for example a client's name and version.
func (r *qaRun) product(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Product = name
}

// columns chooses the parameters that make the columns of the matrix; without a call each suite chooses by itself.
func (r *qaRun) columns(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Columns = names
}

// progress shows that done of total cases are done (total 0: their number is unknown) and what is tried now.
func (r *qaRun) progress(done, total int, what string) {
	r.mu.Lock()
	broken := r.report.Count().Violations
	r.mu.Unlock()
	r.shows.ShowCount(done, total, broken, what)
}

// runKit does the work of a kit and reports it: progress while it lasts, the files that were asked for, the table at the
// end. What work returns besides the end of ctx is told and makes the exit code 1; a console.UsageError makes it 2 and leaves no
// report. When ctx ends, what was found up to then is reported, marked as interrupted.
func (f qaFlags) runKit(ctx context.Context, c console.Console, title string, work func(ctx context.Context, r *qaRun) error) error {
	if err := f.check(); err != nil {
		return err
	}
	started := time.Now()
	r := &qaRun{shows: console.NewProgress(c.Err), report: &report.Report{
		Title: title, Target: report.ThisTarget(), Command: commandLine(c.Args), Started: started,
	}}
	err := work(ctx, r)
	r.shows.ClearLine()
	var usage console.UsageError
	if errors.As(err, &usage) {
		return err
	}
	r.report.Took = time.Since(started)
	switch {
	case ctx.Err() != nil:
		err = errors.New("interrupted: the report holds only what was tried until then")
	case err == nil && len(r.report.Cases) == 0:
		err = errors.New("there was nothing to try")
	}
	if err != nil {
		r.comment("Not complete: %v.", err)
	}
	err = errors.Join(err, r.report.Table(c.Out), r.report.Save(f.Report, f.JUnit))
	if n := r.report.Count().Violations; err == nil && n > 0 {
		err = console.Printed(fmt.Errorf("violations: %d", n)) // by the table
	}
	return err
}

// check finds out before hours of work that a report can't be written.
func (f qaFlags) check() error {
	if f.Jobs < 0 {
		return console.Usage(fmt.Errorf("--jobs %d: want 1 or more", f.Jobs))
	}
	for _, path := range []string{f.Report, f.JUnit} {
		if err := report.Writable(path); err != nil {
			return console.Usage(err)
		}
	}
	return nil
}

// jobs is the number of cases at a time: what --jobs says, else the kit's own choice.
func (f qaFlags) jobs(own int) int {
	if f.Jobs > 0 {
		return f.Jobs
	}
	return max(own, 1)
}

// commandLine is what a person types to do it again.
func commandLine(args []string) string {
	quoted := []string{"collet"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted = append(quoted, a)
	}
	return strings.Join(quoted, " ")
}
