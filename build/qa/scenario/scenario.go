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

// Standard are the scenarios that come with the kit, sorted by name.
func Standard() ([]*Scenario, error) { return readAll(standardFiles, "standard") }

// ReadFolder reads all scenarios of a folder, the files that end in .txtar. The errors of all files are returned together.
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
			s, failed = Parse(path.Base(file), text)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		found = append(found, s)
	}
	return found, err
}

// WriteExamples writes the standard scenarios into a folder, which is made if need be. Files that are there already
// are left alone, and are an error.
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

// Options say how scenarios are played.
type Options struct {
	Real    bool   // on the real disk, instead of in memory on each kind of volume
	Scratch string // folder for the real disk's copies; empty: that of temporary files
	Jobs    int    // at a time
	Seed    uint64 // of what survives a power cut
}

// Play plays scenarios forward and back, and hands each case to take in their order, with the number of all. It
// returns when ctx has ended or all are done.
func Play(ctx context.Context, scenarios []*Scenario, o Options, take func(done, total int, c report.Case)) error {
	var runs []*run
	for _, s := range scenarios {
		runs = append(runs, s.runsOf(o)...)
	}
	report.Spread(ctx, o.Jobs, len(runs), func(ctx context.Context, i int) report.Case { return runs[i].play(ctx) },
		func(i int, c report.Case) { take(i+1, len(runs), c) })
	return ctx.Err()
}
