package qa

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"collet/build/qa/fileset"
)

const (
	// defaultRunLimit is the default time limit of one run. It exceeds by far an update over the loopback interface, and all retries of a
	// client without a server.
	defaultRunLimit = 2 * time.Minute
	// maxRuns is the maximum number of runs of an undisturbed update.
	maxRuns = 5
)

// LabOptions configure OpenLab.
type LabOptions struct {
	Subject
	Run     bool          // an updating run also runs the game (--run), so that its set is swapped in and proves itself at once
	Game    []string      // the game's arguments; the game must end by itself
	Scratch string        // parent of the folder for copies; empty: the system's temporary folder
	Limit   time.Duration // time limit of one run; 0 is two minutes
}

// Lab runs a real client on copies of an install and judges the copies. OpenLab plays one undisturbed update. Then all methods are safe for
// concurrent use. Close removes the copies.
type Lab struct {
	client  client
	folder  string // of all copies
	stages  []stage
	promise promise
}

// stage is one run of an undisturbed update.
type stage struct {
	before string        // a copy of the install as it was before the run
	took   time.Duration // how long the run took
	bytes  int64         // how much it fetched
}

// OpenLab copies the install, adds a player's files, and plays the update once. It returns an error if the client does not run, or if the
// update changes nothing or does not end.
func OpenLab(ctx context.Context, o LabOptions) (*Lab, error) {
	l := &Lab{client: client{options: o}}
	if l.client.options.Limit <= 0 {
		l.client.options.Limit = defaultRunLimit
	}
	l.client.env = append(append(os.Environ(), "LANG=C", "LC_ALL=C"), o.Env...)
	for _, file := range []*string{&l.client.options.Client, &l.client.options.Install} {
		absolute, err := filepath.Abs(*file)
		if err != nil {
			return nil, err
		}
		*file = absolute
	}
	var err error
	if l.client.own, err = l.client.options.ownNames(); err != nil {
		return nil, err
	}
	l.promise.own = l.client.own
	if l.folder, err = os.MkdirTemp(o.Scratch, "collet-lab-"); err != nil {
		return nil, err
	}
	if l.folder, err = filepath.Abs(l.folder); err == nil {
		err = l.measure(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close removes all copies.
func (l *Lab) Close() error { return os.RemoveAll(l.folder) }

// Duration returns the duration of an undisturbed update: the sum of its runs.
func (l *Lab) Duration() (sum time.Duration) {
	for _, s := range l.stages {
		sum += s.took
	}
	return sum
}

// download returns the largest download of a run in bytes.
func (l *Lab) download() (most int64) {
	for _, s := range l.stages {
		most = max(most, s.bytes)
	}
	return most
}

// runs returns the number of runs of an undisturbed update.
func (l *Lab) runs() int { return len(l.stages) }

// String describes the undisturbed update for the report.
func (l *Lab) String() string {
	text := fmt.Sprintf("An undisturbed update takes %v in %d runs and leads from %d files to %d",
		l.Duration().Round(time.Millisecond), l.runs(), len(l.promise.Old), len(l.promise.New))
	if l.client.own.Writable != "" {
		text += "; the client is installed, so its writable root is an empty folder of the lab's at first"
	}
	return text
}

// measure plays the undisturbed update. The client's program is not copied: it is large, and it is only read.
func (l *Lab) measure(ctx context.Context) error {
	first := filepath.Join(l.folder, "before-1")
	if err := fileset.CopyInstall(first, l.client.options.Install); err != nil {
		return err
	}
	if inside := l.client.program(); inside != "" {
		if err := os.Remove(filepath.Join(first, filepath.FromSlash(inside))); err != nil {
			return err
		}
	}
	var err error
	if l.promise.Old, err = l.client.own.ReadSet(first); err != nil {
		return err
	}
	if err := writePlayerFiles(l.client.root(first)); err != nil {
		return fmt.Errorf("plant a player's files: %w", err)
	}
	after, err := l.play(ctx, first)
	if err != nil {
		return err
	}
	return l.readNewSet(after)
}

// play plays the undisturbed update and keeps a copy of the install before each run.
func (l *Lab) play(ctx context.Context, before string) (string, error) {
	for n := 1; n <= maxRuns; n++ {
		after := filepath.Join(l.folder, fmt.Sprintf("before-%d", n+1))
		if err := fileset.CopyInstall(after, before); err != nil {
			return "", err
		}
		end, err := l.client.run(ctx, after, clientRun{})
		if err != nil {
			return "", err
		}
		if end.code != exitReady {
			return "", fmt.Errorf("an undisturbed update fails: %v; the client printed:\n%s", end, end.tail())
		}
		l.stages = append(l.stages, stage{before: before, took: end.took, bytes: end.bytes})
		if end.last.Outcome != outcomeStaged {
			return after, nil
		}
		before = after
	}
	return "", fmt.Errorf("after %d runs of the client the update is still not over", maxRuns)
}

// readNewSet reads the new set after the update and compares it with the expected one.
func (l *Lab) readNewSet(after string) error {
	files, err := l.client.own.ReadSet(after)
	if err != nil {
		return err
	}
	l.promise.New, l.promise.player = l.promise.split(files)
	if want := len(playerFiles()); len(l.promise.player) != want {
		return fmt.Errorf("of %d files of the player an undisturbed update leaves %d", want, len(l.promise.player))
	}
	if len(l.promise.Old.Diff(l.promise.New)) == 0 {
		return errors.New("the update changes no file: the server offers what the install already has, so nothing can be tried; give it an older install, or the server a newer release")
	}
	if l.client.options.New == nil {
		return nil
	}
	want, has := maps.Clone(l.client.options.New), l.client.own.Effective(l.promise.New)
	delete(want, l.client.program())
	if l.client.own.Writable != "" { // delivered files stay, even if a release drops them
		maps.DeleteFunc(has, func(name, content string) bool { return want[name] == "" && l.promise.Old[name] == content })
	}
	if wrong := has.Diff(want); len(wrong) > 0 {
		return fmt.Errorf("an undisturbed update does not lead to the new set:\n%s", fileset.Difference(wrong))
	}
	return nil
}

// bytes returns the size of the install before the first run and after the last one, rounded up to pages.
func (l *Lab) bytes() (before, after int64, err error) {
	before, err = diskUsage(l.stages[0].before)
	if err != nil {
		return 0, 0, err
	}
	after, err = diskUsage(filepath.Join(l.folder, fmt.Sprintf("before-%d", l.runs()+1)))
	return before, after, err
}

// clone copies the install as it was before a run of the undisturbed update, 0 for the first. remove removes the copy.
func (l *Lab) clone(run int) (dir string, remove func(), err error) {
	return l.cloneOf(l.stages[run].before)
}

// cloneOf copies any install. Close removes copies that remove could not.
func (l *Lab) cloneOf(install string) (dir string, remove func(), err error) {
	home, err := os.MkdirTemp(l.folder, "copy-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(home) }
	dir = filepath.Join(home, "install")
	if err := fileset.CopyInstall(dir, install); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// checkInstall runs the client offline on a copy, checks the promise, and then runs the client until the copy has the new set. Before that the
// recovering run is killed, once for each of kills. A problem is a broken promise. After an error the result is unknown.
func (l *Lab) checkInstall(ctx context.Context, dir string, kills []clientRun) (problem string, err error) {
	for _, kill := range kills {
		kill.offline = true
		if _, err := l.client.run(ctx, dir, kill); err != nil {
			return "", err
		}
	}
	end, err := l.client.run(ctx, dir, clientRun{offline: true})
	if err != nil {
		return "", err
	}
	if end.code != exitReady && end.code != exitUnreachable {
		return fmt.Sprintf("the run that only recovers: %v; it printed:\n%s", end, end.tail()), nil
	}
	which, problem, err := l.promise.checkFolder(dir)
	if err != nil {
		return "", err
	}
	_, later, err := l.judgeConverging(ctx, dir, which)
	return joinLines(after("after recovery", problem, end), later), err
}

// judgeConverging runs the client without disturbance until the install has the new set, at most as often as an undisturbed update needs. It
// checks the promise after each run.
func (l *Lab) judgeConverging(ctx context.Context, dir string, before string) (runs int, problem string, err error) {
	var end clientEnd
	for runs = 1; runs <= l.runs(); runs++ {
		if end, err = l.client.run(ctx, dir, clientRun{}); err != nil {
			return runs, "", err
		}
		if end.code != exitReady {
			break
		}
		which, problem, err := l.promise.checkFolder(dir)
		if err == nil && problem == "" {
			if end.last.Outcome == outcomeStaged {
				continue
			}
			if which != "new" {
				problem = "the " + which + " set is still there"
			}
		}
		return runs, after(fmt.Sprintf("after run %d of those that converge", runs), problem, end), err
	}
	return runs, fmt.Sprintf("after the %s set it does not converge: %v; it printed:\n%s", before, end, end.tail()), nil
}

// after adds the time of a problem and the end of the preceding run.
func after(when, problem string, end clientEnd) string {
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("%s (%v): %s", when, end, problem)
}
