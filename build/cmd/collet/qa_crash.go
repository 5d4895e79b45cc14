package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/qa"
	"collet/build/qa/report"
)

const (
	// crashPointsClient is what the client with crash points is called beside the other programs.
	crashPointsClient = "collet-client-crashpoints"
	// noPoints is what --points says where there shall be none.
	noPoints = "none"
)

// labFlags say how a client runs that is stopped. Embed it.
type labFlags struct {
	subjectFlags
	Run    bool          `name:"run" group:"work" help:"Let updating runs start the game, too: swap, start and confirmation then happen in one run."`
	Game   []string      `name:"game-arg" sep:"none" group:"work" placeholder:"ARG" help:"With --run: an argument of the game, which has to end by itself (default: the demo's game draws three frames)."`
	Points string        `group:"work" placeholder:"FILE" help:"The same client, built with the tag crashpoints, to stop it at every file operation (default: for the demo's game, collet-client-crashpoints from --programs if it exists; none: skip this)."`
	Limit  time.Duration `group:"work" default:"2m" placeholder:"TIME" help:"Time limit of one run of the client; a longer run is a violation (default: ${default})."`
	Depth  string        `group:"work" default:"2" enum:"1,2,full" placeholder:"1|2|full" help:"1: stop only the update; 2: also stop its recovery; full: also try every seed in recovery, in memory (default: ${default})."`
}

// depth is how often a story is stopped.
func (f *labFlags) depth() int {
	if f.Depth == "1" {
		return 1
	}
	return 2
}

// points is the client with crash points, empty for none.
func (f *labFlags) points() (string, error) {
	switch f.Points {
	case noPoints:
		return "", nil
	case "":
		found := filepath.Join(f.Programs, crashPointsClient+exeExt())
		if f.Client != "" {
			return "", nil
		}
		if _, err := os.Stat(found); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return filepath.Abs(found)
	}
	return filepath.Abs(f.Points)
}

// withLab does the work of a kit in a lab.
func (f *labFlags) withLab(ctx context.Context, r *qaRun, work func(l *qa.Lab, points string) error) (err error) {
	return f.subjectFlags.withLab(ctx, r, qa.LabOptions{Run: f.Run, Game: f.Game, Limit: f.Limit}, func(l *qa.Lab) error {
		points, err := f.points()
		if err != nil {
			return err
		}
		if points == "" {
			r.comment("Without a client that has crash points, moments are tried by chance only (see --points).")
		}
		return work(l, points)
	})
}

// qaCrashCommand is `collet qa crash`.
type qaCrashCommand struct {
	Real  bool `group:"work" help:"Kill a real client on a real disk, instead of the matrix in memory."`
	Kills int  `group:"work" default:"200" placeholder:"N" help:"With --real: number of kills at random moments (default: ${default})."`
	labFlags
	matrixFlags
	qaFlags
}

// Help is what --help adds to the flags.
func (qaCrashCommand) Help() string {
	return `Without --real: runs stories of an install (an update, a first install, a release that fails to start, repairs, ...) on a
disk in memory, and stops each one before, inside and after every operation. A stop is a killed process, or a power cut after
which 0, 50 or 100 % of the unsynced changes survive, names in order or in any order ("50u"). After each stop the next start
must find one of the sets that the story allows there, and one more run must lead to the end of the story. Recovering starts
are stopped in the same way. A violation prints the command line that repeats it alone.

With --real: runs an update in copies of an install and kills the client with all its children, at random moments, and, with
a client that has crash points, before and after every operation on the disk. After each kill it starts the client without a
server, and expects exactly the old or exactly the new set, by hash; then with the server, and expects the new one. Files of
the player must be unchanged. Flags under "What is tested" are for this form only, those under "The matrix in memory" for the
other.

  collet qa crash --depth full --report crash.html
  collet qa crash --real --kills 500`
}

// Run runs it.
func (q qaCrashCommand) Run(ctx context.Context, c console.Console) error {
	if q.Kills < 0 {
		return console.Usage(fmt.Errorf("--kills %d: want 0 or more", q.Kills))
	}
	if !q.Real {
		return q.runMatrix(ctx, c)
	}
	if err := q.matrixFlags.unused(); err != nil {
		return err
	}
	return q.qaFlags.runKit(ctx, c, "A client that is killed", func(ctx context.Context, r *qaRun) error {
		return q.labFlags.withLab(ctx, r, func(l *qa.Lab, points string) error {
			return qa.Real(ctx, l, qa.RealOptions{
				Kills: q.Kills, Points: points, Depth: q.depth(), Seed: q.Seed, Jobs: q.jobs(runtime.NumCPU()),
			}, r.addCaseOf)
		})
	})
}

// addCaseOf is add with progress.
func (r *qaRun) addCaseOf(done, total int, c report.Case) {
	r.addCase(c)
	r.progress(done, total, c.Title())
}
