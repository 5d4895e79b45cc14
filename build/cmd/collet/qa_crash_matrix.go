package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/demo"
	"collet/build/qa/crash"
)

// matrixFlags are those of `collet qa crash` in memory. Embed it.
type matrixFlags struct {
	Old    string `group:"matrix" placeholder:"DIR" help:"A folder with the old release: a module, and packs in Resources (with --new; default: the demo's releases). It is only read."`
	New    string `group:"matrix" placeholder:"DIR" help:"The same for the new release."`
	Story  string `group:"matrix" placeholder:"NAME" help:"Play only this story, or those that match a pattern; list: print all names."`
	Only   string `group:"matrix" placeholder:"POINT" help:"Try only this point of the story, as a violation prints it: op:when:kept:seed; a stop during recovery follows after a slash."`
	Mutant string `group:"matrix" placeholder:"NAME" help:"Try a build that is broken on purpose, to prove that the matrix can fail; list: print all names."`
	Seeds  int    `group:"matrix" default:"2" placeholder:"N" help:"Number of random choices of surviving data for each stop (default: ${default})."`
}

// unused refuses flags that have no meaning for a real client.
func (f *matrixFlags) unused() error {
	for flag, value := range map[string]string{"--old": f.Old, "--new": f.New, "--story": f.Story, "--only": f.Only, "--mutant": f.Mutant} {
		if value != "" {
			return console.Usage(fmt.Errorf("%s is about the matrix in memory, and not about --real", flag))
		}
	}
	return nil
}

// listName asks for a list instead of a run.
const listName = "list"

// list prints what was asked for; done tells whether there was something.
func (f *matrixFlags) list(c console.Console) (done bool, err error) {
	var lines []string
	switch {
	case f.Story == listName:
		lines = crash.Stories()
	case f.Mutant == listName:
		for _, m := range crash.Mutants() {
			lines = append(lines, fmt.Sprintf("%-22s %s", m.Name, m.About))
		}
	default:
		return false, nil
	}
	_, err = fmt.Fprintln(c.Out, strings.Join(lines, "\n"))
	return true, err
}

// runMatrix plays stories in memory.
func (q qaCrashCommand) runMatrix(ctx context.Context, c console.Console) error {
	if done, err := q.list(c); done {
		return err
	}
	switch {
	case (q.Old == "") != (q.New == ""):
		return console.Usage(errors.New("--old and --new go together"))
	case len(q.given()) > 0 || q.Points != "":
		return console.Usage(errors.New("--client and what goes with it, and --points, need --real"))
	case q.Seeds < 1:
		return console.Usage(fmt.Errorf("--seeds %d: want 1 or more", q.Seeds))
	case q.Only != "" && q.Story == "":
		return console.Usage(errors.New("--only needs --story: a point is one of one story"))
	}
	return q.qaFlags.runKit(ctx, c, "An install that is stopped at every operation", func(ctx context.Context, r *qaRun) error {
		o, err := q.sets(ctx, r)
		if err != nil {
			return err
		}
		r.columns("when", "kept", "seed")
		return q.play(ctx, r, o)
	})
}

// sets reads the two releases.
func (q *qaCrashCommand) sets(ctx context.Context, r *qaRun) (o crash.Options, err error) {
	oldDir, newDir := q.Old, q.New
	r.product(filepath.Base(oldDir) + " and " + filepath.Base(newDir))
	if q.Old == "" {
		r.product("the demo's releases")
		var root string
		if root, err = os.MkdirTemp(q.Scratch, "collet-demo-"); err != nil {
			return o, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
		if oldDir, newDir, err = q.demoReleases(ctx, root); err != nil {
			return o, err
		}
	}
	o, comments, err := crash.ReadSets(oldDir, newDir)
	for _, text := range comments {
		r.comment("%s.", text)
	}
	return o, err
}

// demoReleases lays the demo's two releases out as installs.
func (q *qaCrashCommand) demoReleases(ctx context.Context, root string) (oldDir, newDir string, err error) {
	if err := q.labFlags.check(); err != nil {
		return "", "", err
	}
	programs, err := filepath.Abs(q.Programs)
	if err != nil {
		return "", "", err
	}
	layout, err := demo.Prepare(ctx, root, programs, 1)
	if err != nil {
		return "", "", err
	}
	newDir = filepath.Join(root, "new")
	if err := os.Mkdir(newDir, 0o755); err != nil {
		return "", "", err
	}
	if err := os.Rename(layout.New.Module, filepath.Join(newDir, layout.Library())); err != nil {
		return "", "", err
	}
	return layout.Client(), newDir, os.Rename(filepath.Join(layout.Server(), "Resources"), filepath.Join(newDir, "Resources"))
}

// play hands the work to the kit.
func (q *qaCrashCommand) play(ctx context.Context, r *qaRun, o crash.Options) error {
	o.Story, o.Only, o.Mutant, o.Seeds, o.Seed = q.Story, q.Only, q.Mutant, q.Seeds, q.Seed
	o.Depth = map[string]int{"1": crash.Once, "2": crash.Twice, "full": crash.Fully}[q.Depth]
	o.Jobs, o.Progress, o.Sets = q.jobs(runtime.NumCPU()), r.progress, q.setFlags()
	count, err := crash.Run(ctx, o, r.addCase)
	if errors.Is(err, crash.ErrUsage) {
		return console.Usage(err)
	}
	r.comment("%s.", count)
	if q.Mutant != "" {
		r.comment("This was a build that is broken on purpose; violations are what it is for.")
	}
	return err
}

// setFlags are the flags that a repetition needs to find the same releases.
func (q *qaCrashCommand) setFlags() string {
	if q.Old == "" {
		return ""
	}
	return " " + commandLine([]string{"--old", q.Old, "--new", q.New})[len("collet "):]
}
