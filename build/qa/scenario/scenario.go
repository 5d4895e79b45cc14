// Package scenario plays updates that text files describe.
//
// A scenario declares the files before and after an update, files of the player, faults, and the expected end. docs/QA.md describes the
// format; the folder standard has the scenarios that every release must pass. Play runs each one forward and back, on a disk in memory that
// exchanges names atomically, on one that cannot, and on one that ignores case, or on the real disk.
//
// After each run the folder must have the expected set, every file of the player must exist unchanged, in its place or in the recycler, and
// no temporary files may remain. The error of a wrong text names file and line.
package scenario

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"collet/build/qa/report"
)

//go:embed standard/*.txtar
var standardFiles embed.FS

// Standard returns the built-in scenarios, sorted by name.
func Standard() ([]*Scenario, error) { return readAll(standardFiles, "standard") }

// ReadFolder reads all files of a folder that end in .txtar. It returns the errors of all files together.
func ReadFolder(dir string) ([]*Scenario, error) {
	found, err := readAll(os.DirFS(dir), ".")
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("folder %s has no scenario (a file that ends in .txtar); --write-examples makes some", dir)
	}
	return found, err
}

func readAll(fsys fs.FS, dir string) (found []*Scenario, err error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.txtar"))
	if err == nil && len(files) == 0 {
		_, err = fs.Stat(fsys, dir)
	}
	for _, file := range files {
		text, failed := fs.ReadFile(fsys, file)
		var s *Scenario
		if failed == nil {
			s, failed = parse(path.Base(file), text)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		found = append(found, s)
	}
	return found, err
}

// WriteExamples writes the standard scenarios into a folder and creates it if necessary. An existing file is an error and stays as it is.
func WriteExamples(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := fs.Glob(standardFiles, "standard/*.txtar")
	for _, file := range files {
		var text []byte
		if text, err = fs.ReadFile(standardFiles, file); err == nil {
			err = writeNew(filepath.Join(dir, path.Base(file)), text)
		}
		if err != nil {
			return err
		}
	}
	return err
}

func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Options configure Play.
type Options struct {
	Real    bool   // on the real disk instead of the volumes in memory
	Scratch string // parent of the folders on the real disk; empty: the system's temporary folder
	Jobs    int    // concurrent runs
	Seed    uint64 // decides which unsynced data survives a power cut
}

// Play plays scenarios forward and back. take receives the cases in order, with the number of finished and of all cases. Play returns when
// all are done or ctx has ended.
func Play(ctx context.Context, scenarios []*Scenario, o Options, take func(done, total int, c report.Case)) error {
	var runs []*run
	for _, s := range scenarios {
		runs = append(runs, s.runsOf(o)...)
	}
	report.Spread(ctx, o.Jobs, len(runs), func(ctx context.Context, i int) report.Case { return runs[i].play(ctx) },
		func(i int, c report.Case) { take(i+1, len(runs), c) })
	return ctx.Err()
}
