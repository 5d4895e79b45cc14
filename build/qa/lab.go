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
	// defaultRunLimit is how long one run of the client may take unless the options say otherwise: far longer than an update
	// over the loopback interface needs, and than all retries of a client that finds no server.
	defaultRunLimit = 2 * time.Minute
	// maxRuns is how many runs an undisturbed update may take before the lab thinks that it never ends.
	maxRuns = 5
)

// LabOptions say what to try.
type LabOptions struct {
	Subject
	Run     bool          // an updating run also runs the game (--run), so that its set is swapped in and proves itself at once
	Game    []string      // the game's arguments; it has to end by itself
	Scratch string        // folder for the copies; empty is a temporary one
	Limit   time.Duration // how long one run may take; 0 is two minutes
}

// Lab runs a real client in copies of an install and judges what it leaves behind. OpenLab learns what an undisturbed
// update makes of the install; after that all methods are safe for concurrent use. Close removes the copies.
type Lab struct {
	options LabOptions
	env     []string
	folder  string // of everything that the lab makes
	own     fileset.OwnNames
	stages  []stage
	promise promise
}

// stage is one run of an undisturbed update.
type stage struct {
	before string        // a copy of the install as it was before the run
	took   time.Duration // how long the run took
	bytes  int64         // how much it fetched
}

// OpenLab copies the install, plants a player's files and plays the update through once. An error says that it can't be
// tried at all: the client does not run, the update changes nothing, or it does not end.
func OpenLab(ctx context.Context, o LabOptions) (*Lab, error) {
	l := &Lab{options: o}
	if l.options.Limit <= 0 {
		l.options.Limit = defaultRunLimit
	}
	l.env = append(append(os.Environ(), "LANG=C", "LC_ALL=C"), o.Env...)
	for _, file := range []*string{&l.options.Client, &l.options.Install} {
		absolute, err := filepath.Abs(*file)
		if err != nil {
			return nil, err
		}
		*file = absolute
	}
	var err error
	if l.own, err = l.options.ownNames(); err != nil {
		return nil, err
	}
	l.promise.own = l.own
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

// Close removes everything that the lab made.
func (l *Lab) Close() error { return os.RemoveAll(l.folder) }

// Duration is how long an undisturbed update takes, all its runs together.
func (l *Lab) Duration() (sum time.Duration) {
	for _, s := range l.stages {
		sum += s.took
	}
	return sum
}

// download is how many bytes the run fetches that fetches the most.
func (l *Lab) download() (most int64) {
	for _, s := range l.stages {
		most = max(most, s.bytes)
	}
	return most
}

// runs is how many runs an undisturbed update takes.
func (l *Lab) runs() int { return len(l.stages) }

// String tells what was learned.
func (l *Lab) String() string {
	text := fmt.Sprintf("An undisturbed update takes %v in %d runs and leads from %d files to %d",
		l.Duration().Round(time.Millisecond), l.runs(), len(l.promise.Old), len(l.promise.New))
	if l.own.Writable != "" {
		text += "; the client is installed, so its writable root is an empty folder of the lab's at first"
	}
	return text
}

// measure plays the update through. The client's program is not part of what is copied: it is only read, and large.
func (l *Lab) measure(ctx context.Context) error {
	first := filepath.Join(l.folder, "before-1")
	if err := fileset.CopyInstall(first, l.options.Install); err != nil {
		return err
	}
	if inside := l.program(); inside != "" {
		if err := os.Remove(filepath.Join(first, filepath.FromSlash(inside))); err != nil {
			return err
		}
	}
	var err error
	if l.promise.Old, err = l.own.ReadSet(first); err != nil {
		return err
	}
	if err := writePlayerFiles(l.root(first)); err != nil {
		return fmt.Errorf("plant a player's files: %w", err)
	}
	after, err := l.play(ctx, first)
	if err != nil {
		return err
	}
	return l.readNewSet(after)
}

// program is the client's program relative to the install, with slashes; empty where it lies elsewhere.
func (l *Lab) program() string {
	inside, err := filepath.Rel(l.options.Install, l.options.Client)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	return filepath.ToSlash(inside)
}

// root is the writable root of a copy of the install.
func (l *Lab) root(dir string) string { return filepath.Join(dir, l.own.Writable) }

// play runs the undisturbed update and keeps a copy of the install before each run.
func (l *Lab) play(ctx context.Context, before string) (string, error) {
	for n := 1; n <= maxRuns; n++ {
		after := filepath.Join(l.folder, fmt.Sprintf("before-%d", n+1))
		if err := fileset.CopyInstall(after, before); err != nil {
			return "", err
		}
		end, err := l.run(ctx, after, clientRun{})
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

// readNewSet takes what the update led to for the new set, after comparing it with what was asked for.
func (l *Lab) readNewSet(after string) error {
	files, err := l.own.ReadSet(after)
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
	if l.options.New == nil {
		return nil
	}
	want, has := maps.Clone(l.options.New), l.own.Effective(l.promise.New)
	delete(want, l.program())
	if l.own.Writable != "" { // what was delivered stays there, also when a release drops it
		maps.DeleteFunc(has, func(name, content string) bool { return want[name] == "" && l.promise.Old[name] == content })
	}
	if wrong := has.Diff(want); len(wrong) > 0 {
		return fmt.Errorf("an undisturbed update does not lead to the new set:\n%s", fileset.Difference(wrong))
	}
	return nil
}

// bytes is the size of the install before the first run and after the last, rounded up to pages.
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

// cloneOf copies any install. A copy that can't be removed is left to Close.
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

// judge lets the client recover a copy, checks the promise, lets it converge and checks that it has the new set. The
// recovering run is killed first, once for each of kills. A problem is a broken promise; an error is that nothing could
// be found out.
func (l *Lab) judge(ctx context.Context, dir string, kills []clientRun) (problem string, err error) {
	for _, kill := range kills {
		kill.offline = true
		if _, err := l.run(ctx, dir, kill); err != nil {
			return "", err
		}
	}
	end, err := l.run(ctx, dir, clientRun{offline: true})
	if err != nil {
		return "", err
	}
	if end.code != exitReady && end.code != exitUnreachable {
		return fmt.Sprintf("the run that only recovers: %v; it printed:\n%s", end, end.tail()), nil
	}
	which, problem, err := l.promise.check(dir)
	if err != nil {
		return "", err
	}
	_, later, err := l.judgeConverging(ctx, dir, which)
	return joinLines(after("after recovery", problem, end), later), err
}

// judgeConverging runs the client undisturbed, at most as often as an undisturbed update needs, until the install has the
// new set. The promise is looked at after each run.
func (l *Lab) judgeConverging(ctx context.Context, dir string, before string) (runs int, problem string, err error) {
	var end clientEnd
	for runs = 1; runs <= l.runs(); runs++ {
		if end, err = l.run(ctx, dir, clientRun{}); err != nil {
			return runs, "", err
		}
		if end.code != exitReady {
			break
		}
		which, problem, err := l.promise.check(dir)
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

// after says when a problem was found and how the run before it ended.
func after(when, problem string, end clientEnd) string {
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("%s (%v): %s", when, end, problem)
}
