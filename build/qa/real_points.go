package qa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"collet/build/qa/report"
)

const (
	// crashAtVariable tells a client with crash points where to crash: "12:before", "12:after".
	crashAtVariable = "COLLET_CRASH_AT"
	// crashListVariable names the file for the list of operations, one a line: "12 rename from to".
	crashListVariable = "COLLET_CRASH_LIST"
)

// operation is an operation of a run at which a client can crash.
type operation struct {
	run    int    // of the undisturbed update, from 0
	number string // of the operation
	text   string // of the operation
}

// points plans crashes before and after every operation of every run of the update.
func (l *Lab) points(ctx context.Context, o RealOptions) ([]try, error) {
	chance := rand.New(rand.NewPCG(o.Seed, 2))
	var tries []try
	for run := range l.stages {
		points, err := l.listPoints(ctx, run, o.Points)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			for _, when := range []string{"before", "after"} {
				seed := chance.Uint64()
				tries = append(tries, try{
					name:   "die at " + p.text,
					params: []report.Param{{Name: "run", Value: fmt.Sprint(p.run + 1)}, {Name: "operation", Value: p.number}, {Name: "when", Value: when}},
					do: func(ctx context.Context) (report.State, string, error) {
						return l.dieAt(ctx, p, when, o, seed)
					},
				})
			}
		}
	}
	return tries, nil
}

// listPoints runs the client with crash points undisturbed and returns its operations.
func (l *Lab) listPoints(ctx context.Context, run int, client string) ([]operation, error) {
	dir, remove, err := l.clone(run)
	if err != nil {
		return nil, err
	}
	defer remove()
	points, end, err := l.operations(ctx, dir, clientRun{program: client})
	if err != nil {
		return nil, err
	}
	if end.code != exitReady {
		return nil, fmt.Errorf("%s fails on an undisturbed update: %v; it printed:\n%s", filepath.Base(client), end, end.tail())
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s lists no operations: it was not built with the tag crashpoints", client)
	}
	for i := range points {
		points[i].run = run
	}
	return points, nil
}

// operations runs the client and returns its counted operations.
func (l *Lab) operations(ctx context.Context, dir string, r clientRun) ([]operation, clientEnd, error) {
	list, err := os.CreateTemp(l.folder, "operations-")
	if err != nil {
		return nil, clientEnd{}, err
	}
	defer os.Remove(list.Name())
	list.Close()
	r.env = []string{crashListVariable + "=" + list.Name()}
	end, err := l.client.run(ctx, dir, r)
	if err != nil {
		return nil, end, err
	}
	text, err := os.ReadFile(list.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var points []operation
	for line := range strings.Lines(string(text)) {
		if number, rest, two := strings.Cut(strings.TrimSpace(line), " "); two {
			points = append(points, operation{number: number, text: rest})
		}
	}
	return points, end, err
}

// dieAt crashes a client at one operation and judges the result. At depth 2 the recovering run crashes, too, at one of its own operations.
func (l *Lab) dieAt(ctx context.Context, p operation, when string, o RealOptions, seed uint64) (report.State, string, error) {
	dir, remove, err := l.clone(p.run)
	if err != nil {
		return "", "", err
	}
	defer remove()
	end, err := l.client.run(ctx, dir, clientRun{program: o.Points, env: []string{crashAtVariable + "=" + p.number + ":" + when}})
	if err != nil {
		return "", "", err
	}
	if end.code == exitReady {
		return report.Skipped, "this run did fewer operations than the undisturbed one and never came to this point", nil
	}
	if end.code > 0 || end.hung {
		return report.Violation, fmt.Sprintf("the client did not die at the point: %v; it printed:\n%s", end, end.tail()), nil
	}
	note, again, err := l.dieAgain(ctx, dir, o, seed)
	if err != nil {
		return "", "", err
	}
	problem, err := l.checkInstall(ctx, dir, again)
	return verdict(problem, note, err)
}

// dieAgain lists the operations of the recovery in a second copy, and chooses one for a crash.
func (l *Lab) dieAgain(ctx context.Context, dir string, o RealOptions, seed uint64) (note string, again []clientRun, err error) {
	if o.Depth < 2 {
		return "", nil, nil
	}
	twin, remove, err := l.cloneOf(dir)
	if err != nil {
		return "", nil, err
	}
	defer remove()
	points, _, err := l.operations(ctx, twin, clientRun{program: o.Points, offline: true})
	if err != nil || len(points) == 0 {
		return "recovery did nothing", nil, err
	}
	chance := rand.New(rand.NewPCG(seed, 3))
	p, when := points[chance.IntN(len(points))], []string{"before", "after"}[chance.IntN(2)]
	return fmt.Sprintf("recovery died %s its operation %s, %s", when, p.number, p.text),
		[]clientRun{{program: o.Points, env: []string{crashAtVariable + "=" + p.number + ":" + when}}}, nil
}
