package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/qa"
)

// casesPerCPU is how many cases of the network run at a time on one processor: they mostly wait for pauses and limits.
const casesPerCPU = 3

// qaNetCommand is `collet qa net`.
type qaNetCommand struct {
	subjectFlags
	Scenarios []string `group:"work" placeholder:"DIR" type:"path" help:"Folder with more scenario files (*.net). May be repeated."`
	Only      string   `group:"work" placeholder:"TEXT" help:"Only scenarios whose name contains this text."`
	Slow      bool     `group:"work" help:"Also run slow scenarios, which wait for the client's time limits: some minutes."`
	qaFlags
}

// Help is what --help adds to the flags.
func (qaNetCommand) Help() string {
	return `Puts a proxy between the real client and a real server, disturbs the connection as each scenario describes, and checks: the
client ends with a code that the scenario allows; the install is exactly the old or exactly the new set, by hash; the
player's files are unchanged; an undisturbed run then leads to the new set.

docs/QA.md describes scenario files.

  collet qa net --only cut --junit net.xml`
}

// Run runs it.
func (q qaNetCommand) Run(ctx context.Context, c console.Console) error {
	return q.qaFlags.runKit(ctx, c, "Faults of the network", q.play)
}

// play tries every case.
func (q *qaNetCommand) play(ctx context.Context, r *qaRun) error {
	scenarios, err := q.scenarios()
	if err != nil {
		return err
	}
	return q.subjectFlags.withLab(ctx, r, qa.LabOptions{}, func(l *qa.Lab) error {
		net, err := qa.NewNet(ctx, l, scenarios, q.Slow)
		if err != nil {
			return err
		}
		r.comment("%s", net.About())
		if n := countSlow(scenarios); n > 0 && !q.Slow {
			r.comment("Scenarios that take minutes were left out: %d (--slow tries them).", n)
		}
		return net.Play(ctx, q.jobs(casesPerCPU*runtime.NumCPU()), r.addCaseOf)
	})
}

func countSlow(scenarios []qa.Scenario) (n int) {
	for _, s := range scenarios {
		if s.Slow {
			n++
		}
	}
	return n
}

// scenarios reads the standard ones and those of the person's folders.
func (q *qaNetCommand) scenarios() ([]qa.Scenario, error) {
	all, err := qa.StandardScenarios()
	if err != nil {
		return nil, err
	}
	for _, dir := range q.Scenarios {
		own, err := qa.ReadScenarios(os.DirFS(dir))
		if err != nil {
			return nil, console.Usage(fmt.Errorf("scenarios in %s:\n%w", dir, err))
		}
		all = append(all, own...)
	}
	all = slices.DeleteFunc(all, func(s qa.Scenario) bool { return !strings.Contains(s.Name, q.Only) })
	if len(all) == 0 {
		return nil, console.Usage(fmt.Errorf("no scenario has %q in its name", q.Only))
	}
	return all, nil
}
