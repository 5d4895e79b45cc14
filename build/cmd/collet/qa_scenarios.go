package main

import (
	"context"
	"fmt"
	"runtime"

	"collet/build/cmd/collet/console"
	"collet/build/qa/scenario"
)

// qaScenariosCommand is `collet qa scenarios`.
type qaScenariosCommand struct {
	Dir      string `arg:"" optional:"" placeholder:"DIR" help:"Folder with scenarios, files that end in .txtar (default: the built-in scenarios)."`
	Real     bool   `group:"work" help:"Use the real disk, in a separate folder, instead of memory."`
	Scratch  string `group:"where" placeholder:"DIR" help:"Folder for --real, on the disk to test (default: the folder of temporary files)."`
	Examples string `name:"write-examples" group:"where" placeholder:"DIR" help:"Write the built-in scenarios to a folder, and end."`
	qaFlags
}

// Help is what --help adds to the flags.
func (qaScenariosCommand) Help() string {
	return `A scenario is a text: the files of a folder before and after an update, those of the player, and the faults. Each one runs
forward and back, in memory on three kinds of volume: one that can exchange two names, one that can't, and one that
ignores case. After the fault the next start must find exactly the old or the new set, and one more run must lead to the
result that the scenario expects, without loss of a player's file.

docs/QA.md describes the format; begin with --write-examples.

  collet qa scenarios --write-examples scenarios
  collet qa scenarios scenarios --real`
}

// Run runs it.
func (q qaScenariosCommand) Run(ctx context.Context, c console.Console) error {
	if q.Examples != "" {
		if err := scenario.WriteExamples(q.Examples); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.Out, "scenarios are in %s; play them with: collet qa scenarios %s\n", q.Examples, q.Examples)
		return err
	}
	read := scenario.Standard
	if q.Dir != "" {
		read = func() ([]*scenario.Scenario, error) { return scenario.ReadFolder(q.Dir) }
	}
	scenarios, err := read()
	if err != nil {
		return console.Usage(err)
	}
	return q.runKit(ctx, c, "Folders before and after an update", func(ctx context.Context, r *qaRun) error {
		r.columns("volume", "direction")
		o := scenario.Options{Real: q.Real, Scratch: q.Scratch, Jobs: q.jobs(runtime.NumCPU()), Seed: q.Seed}
		return scenario.Play(ctx, scenarios, o, r.addCaseOf)
	})
}
