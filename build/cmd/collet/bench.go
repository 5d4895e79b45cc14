package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/soak"
)

// benchCommand is `collet bench`.
type benchCommand struct {
	Soak benchSoakCommand `cmd:"" help:"Keep a real server under changing load for an hour, and check that its memory and other resources do not grow."`
}

// Help is what --help adds to the list of commands.
func (benchCommand) Help() string {
	return `Needs no release folder: it makes what it serves.

  collet bench soak --smoke`
}

const (
	// smokeTime is how long --smoke lasts.
	smokeTime = 10 * time.Second
	// seeds is how many there are to draw from: a number that can be read out over a telephone.
	seeds = 1_000_000
)

// benchSoakCommand is `collet bench soak`.
type benchSoakCommand struct {
	Time    time.Duration `group:"work" default:"1h" placeholder:"TIME" help:"Duration, such as 90s, 30m or 8h (default: ${default})."`
	Smoke   bool          `group:"work" help:"Run for ten seconds only, as a smoke test: too short for the server's time limits and for slow growth."`
	Seed    uint64        `group:"work" placeholder:"N" help:"Random seed (default: a new one each time, which is printed)."`
	Crowd   int           `group:"work" default:"200" placeholder:"N" help:"Number of idle connections, over all transports and protocol generations (default: ${default})."`
	Workers int           `group:"work" default:"8" placeholder:"N" help:"Number of active clients (default: ${default})."`
	Rest    time.Duration `group:"work" default:"10ms" placeholder:"TIME" help:"Average pause of an active client between two connections (default: ${default})."`
	Memory  bool          `group:"work" help:"The server keeps its files in memory instead of reading them from disk."`

	Programs string `group:"where" placeholder:"DIR" help:"Folder of collet-server (default: that of this program)."`
	Scratch  string `group:"where" placeholder:"DIR" help:"Folder for the server's files (default: the folder of temporary files)."`
}

// Help is what --help adds to the flags.
func (benchSoakCommand) Help() string {
	return `Starts collet-server on this machine. Clients of every protocol generation download over TCP, TLS and WebSocket, and check
every byte. Others disconnect in the middle, read slowly, send garbage or half a handshake, request files without reading
them, or answer no ping. Meanwhile files are published and the server reloads. Every few seconds the load pauses, only idle
connections stay, and goroutines, file descriptors, connections, heap and resident memory of the server are measured.

The test passes if the medians of the last third of these measurements exceed those of the first third by no more than the
bounds in the table, if every download was correct, and if the server closed the connections that break its limits.

Exit codes: 0 passed, 1 failed or could not run, 2 wrong usage. Ctrl-C ends it early, with a verdict on the measurements so
far. The table goes to standard output, progress to standard error.

  collet bench soak --time 10m --crowd 500
  collet bench soak --smoke`
}

// Run runs it.
func (s benchSoakCommand) Run(ctx context.Context, c console.Console) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "soak of %v, seed %d\n", o.Time, o.Seed)
	shows := console.NewProgress(c.Err)
	o.Tell = func(now soak.Status) {
		shows.ShowCount(int(now.Elapsed.Seconds()), int(now.Time.Seconds()), now.Faults, fmt.Sprintf("%d goroutines, %d files, heap %.1f MB",
			int(now.Latest.Goroutines), int(now.Latest.Descriptors), now.Latest.Heap/(1<<20)))
	}
	result, err := soak.Run(ctx, o)
	shows.ClearLine()
	if err != nil {
		return err
	}
	if err := result.Table(c.Out); err != nil {
		return err
	}
	if !result.Holds() {
		return console.Printed(errors.New("the soak does not hold"))
	}
	return nil
}

// options are those of the kit.
func (s benchSoakCommand) options() (soak.Options, error) {
	o := soak.Options{
		Time: s.Time, Seed: s.Seed, Idle: s.Crowd, Workers: s.Workers, Rest: s.Rest, Memory: s.Memory, Scratch: s.Scratch,
	}
	if s.Smoke {
		o.Time = smokeTime
	}
	if o.Seed == 0 {
		o.Seed = 1 + rand.Uint64N(seeds)
	}
	if s.Programs == "" {
		exe, err := os.Executable()
		if err != nil {
			return o, err
		}
		s.Programs = filepath.Dir(exe)
	}
	programs, err := filepath.Abs(s.Programs)
	o.Program = filepath.Join(programs, "collet-server"+exeExt())
	if err == nil {
		err = o.Check()
	}
	if err != nil {
		return o, console.Usage(err)
	}
	return o, nil
}
