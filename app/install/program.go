package install

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"collet/platform"
)

// This file is about the program itself, where it may replace its own file. It is a module like any other with a journal, locks
// and a recycler of its own: see ProgramNames and ProgramView. Two things are different. What is prepared is not swapped by
// whoever opens the install: the live name never holds a program that has not run on this machine. And what was swapped has
// proven itself before, so that nothing is ever taken back. Between the two lies a trial: somebody starts the waiting file as it
// lies there, and it makes itself live with Prove once it knows that it does all that it is for.

// programDir holds all of the program's own transactions but its file; inside StateDir.
const programDir = "host"

// ProgramNames is how the install of a program called base+ext is laid out; ext is empty or ".exe". server is the base name under
// which a server keeps it, which a program that was renamed here has from its package; empty means the same.
func ProgramNames(base, server, ext string) Names {
	return Names{Runtime: base, Server: server, Ext: ext, Program: true, Resources: "Resources", Cache: "Cache"}
}

// ProgramView is the folder of a program as its own install sees it: the files of the program are where they are, and journal,
// locks, recycler and cache have a place of their own in StateDir. Closing it closes fsys.
func ProgramView(fsys platform.FS) platform.FS { return programView{fsys} }

type programView struct{ platform.FS }

// at is where a name of the view lies.
func (v programView) at(name string) string {
	switch first, rest, _ := strings.Cut(name, "/"); first {
	case StateDir:
		return path.Join(StateDir, programDir, rest)
	case Recycler, "Cache", "Resources":
		return path.Join(StateDir, programDir, name)
	}
	return name
}

func (v programView) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	return v.FS.OpenFile(v.at(name), flag, perm)
}

func (v programView) Rename(from, to string) error { return v.FS.Rename(v.at(from), v.at(to)) }

func (v programView) Link(from, to string) error { return v.FS.Link(v.at(from), v.at(to)) }

func (v programView) Exchange(a, b string) error { return v.FS.Exchange(v.at(a), v.at(b)) }

func (v programView) Remove(name string) error { return v.FS.Remove(v.at(name)) }

func (v programView) MkdirAll(name string, perm fs.FileMode) error {
	return v.FS.MkdirAll(v.at(name), perm)
}

func (v programView) ReadDir(name string) ([]fs.DirEntry, error) { return v.FS.ReadDir(v.at(name)) }

func (v programView) Stat(name string) (fs.FileInfo, error) { return v.FS.Stat(v.at(name)) }

func (v programView) Lstat(name string) (fs.FileInfo, error) { return v.FS.Lstat(v.at(name)) }

func (v programView) Chmod(name string, mode fs.FileMode) error { return v.FS.Chmod(v.at(name), mode) }

// SyncDir syncs the folder of our state with the one it seems to lie in.
func (v programView) SyncDir(name string) error {
	if name == "." {
		if err := v.FS.SyncDir(StateDir); err != nil && !isAbsent(err) {
			return err
		}
	}
	return v.FS.SyncDir(v.at(name))
}

func (v programView) Lock(name string) (io.Closer, error) { return v.FS.Lock(v.at(name)) }

func (v programView) LockShared(name string) (io.Closer, error) { return v.FS.LockShared(v.at(name)) }

func (v programView) Path(name string) string { return v.FS.Path(v.at(name)) }

// programMode is the permission of a new program: that of the one it replaces, which its owner may always start and replace.
func (d *Dir) programMode() fs.FileMode {
	mode := fs.FileMode(0o755)
	if info, err := d.fs.Lstat(d.cfg.Names.Library()); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm() | 0o700
	}
	return mode
}

// goOnProgram is goOn for a program: a swap that has begun is finished, and what waits for its trial goes on waiting.
func (d *Dir) goOnProgram(ctx context.Context) error {
	if d.journal.State == Swapped {
		return d.proven() // it had proven itself before it was swapped
	}
	seen, err := d.look(ctx)
	switch {
	case err != nil:
		return err
	case touched(d.journal.lists.Files, seen):
		if err := d.swap(ctx); err != nil {
			return err
		}
		return d.proven()
	default:
		return d.stage(ctx)
	}
}

// Waiting is the absolute path of a program that is complete and waits for its trial; empty where none does.
func (d *Dir) Waiting() string {
	if !d.cfg.Names.Program || d.journal.State != Prepared || tryOf(d.journal.Tries, d.journal.Build).refused() {
		return ""
	}
	i := slices.IndexFunc(d.journal.lists.Files, func(e entry) bool { return e.Kind == module && !e.gone() })
	if i < 0 {
		return ""
	}
	staged := d.journal.lists.Files[i].staged()
	if there, err := d.exists(staged); err != nil || !there {
		return ""
	}
	return d.fs.Path(staged)
}

// TrialBegins counts a trial of the waiting program, of which nothing may ever be heard. It reports whether there is to be one:
// after five of them without a word there is not. The error is a *update.Fault.
func (d *Dir) TrialBegins() (allowed bool, err error) {
	if d.Waiting() == "" {
		return false, nil
	}
	err = d.noteTrial(func(t *Try) {
		if allowed = t.Begun < maxSilent; allowed {
			t.Begun++
		} else {
			t.Blocked, t.Cause = true, "it never proved itself"
		}
	})
	return allowed && err == nil, d.fault(err)
}

// TrialFailed says that the waiting program is no good. It is not taken again after the second time, or at once if sure. The
// error is a *update.Fault.
func (d *Dir) TrialFailed(cause string, sure bool) error {
	if d.journal.State != Prepared {
		return nil
	}
	return d.fault(d.noteTrial(func(t *Try) {
		t.Failed, t.Cause = t.Failed+1, shortened(cause)
		t.Blocked = t.Blocked || sure || t.hopeless()
	}))
}

// noteTrial changes what is known about the set that is prepared.
func (d *Dir) noteTrial(change func(*Try)) error {
	return d.record(record{State: Prepared, Tries: with(d.journal.Tries, d.journal.Build, change)})
}

// ErrReplaced says that somebody else replaced the program meanwhile: theirs stays.
var ErrReplaced = errors.New("somebody else replaced this program")

// Prove makes the waiting program live, because it has just shown that it works. What it replaces is removed by the next Open:
// as long as a process runs from it, not every system can. The error is a *update.Fault, or that of ctx; with ErrReplaced in it
// nothing has changed.
func (d *Dir) Prove(ctx context.Context) error {
	if d.journal.State != Prepared {
		return d.fault(errors.New("install: internal error: no program waits"))
	}
	seen, err := d.look(ctx)
	if err != nil {
		return d.fault(err)
	}
	files := d.journal.lists.Files
	if i := slices.IndexFunc(files, func(e entry) bool { return e.Kind == module }); !touched(files, seen) && i >= 0 &&
		!files[i].Repair && !files[i].Old.IsZero() && seen[i].Live != Previous {
		return d.fault(errors.Join(ErrReplaced, d.withdraw(ctx)))
	}
	if err := d.Promote(ctx); err != nil {
		return err
	}
	return d.fault(d.proven())
}

// proven records that what is live has proven itself.
func (d *Dir) proven() error {
	if !d.Pending() {
		return nil
	}
	set := d.journal.lists.Is
	d.log.Info().Stringer("set", set).Msg("program replaced")
	return d.record(record{State: d.ended(Confirmed), Proven: d.cfg.Names.Library(), Tries: without(d.journal.Tries, set)})
}
