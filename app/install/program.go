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

// This file is about self-update of the program, where it may replace its own file. The program is a module with its own
// journal, locks and recycler: see ProgramNames and ProgramView. Two rules differ from other installs. Open does not swap a
// prepared program, because the live name never holds a program that has not run on this machine. A swapped program has
// already proven itself, so it is never rolled back. Between the two states lies a trial: the host starts the waiting file,
// which verifies its own functions and then makes itself live with Prove.

// programDir holds the state of the program's own transactions; inside StateDir.
const programDir = "host"

// ProgramNames are the names for the install of a program called base+ext; ext is empty or ".exe". server is the base name
// on the server, for a program that was renamed here; empty means base.
func ProgramNames(base, server, ext string) Names {
	return Names{Runtime: base, Server: server, Ext: ext, Program: true, Resources: "Resources", Cache: "Cache"}
}

// ProgramView is the folder of a program as seen by its own install. The program's files keep their names; journal, locks,
// recycler and cache are moved into StateDir. Closing it closes fsys.
func ProgramView(fsys platform.FS) platform.FS { return programView{fsys} }

type programView struct{ platform.FS }

// at maps a name of the view to the underlying folder.
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

// SyncDir syncs a folder; for the root it also syncs StateDir, which holds the mapped folders.
func (v programView) SyncDir(name string) error {
	if name == "." {
		if err := v.FS.SyncDir(StateDir); err != nil && !IsAbsent(err) {
			return err
		}
	}
	return v.FS.SyncDir(v.at(name))
}

func (v programView) Lock(name string) (io.Closer, error) { return v.FS.Lock(v.at(name)) }

func (v programView) LockShared(name string) (io.Closer, error) { return v.FS.LockShared(v.at(name)) }

func (v programView) Path(name string) string { return v.FS.Path(v.at(name)) }

// resume is Dir.resume for a program: it finishes a started swap; a prepared program keeps waiting for its trial.
func (p *Program) resume(ctx context.Context) error {
	if p.journal.State == Swapped {
		return p.proven() // it was proven before the swap
	}
	seen, err := p.tx.examineNames(ctx)
	switch {
	case err != nil:
		return err
	case swapBegun(p.journal.lists.Files, seen):
		if err := p.tx.swap(ctx); err != nil {
			return err
		}
		return p.proven()
	default:
		return p.tx.prepareSwap(ctx)
	}
}

// Waiting is the absolute path of a complete program that waits for its trial; otherwise empty.
func (p *Program) Waiting() string {
	if p.journal.State != Prepared || !tryOf(p.journal.Tries, p.journal.Build).MayInstall() {
		return ""
	}
	i := slices.IndexFunc(p.journal.lists.Files, func(e entry) bool { return e.Kind == Module && !e.gone() })
	if i < 0 {
		return ""
	}
	staged := p.journal.lists.Files[i].staged()
	if there, err := exists(p.fs, staged); err != nil || !there {
		return ""
	}
	return p.fs.Path(staged)
}

// TrialBegins counts a trial of the waiting program, in case no result follows. It reports whether the trial is allowed:
// after five trials without a result it is not. The error is a *update.Fault.
func (p *Program) TrialBegins() (allowed bool, err error) {
	if p.Waiting() == "" {
		return false, nil
	}
	err = p.noteTrial(func(t *Try) {
		if allowed = t.Begun < maxSilent; allowed {
			t.Begun++
		} else {
			t.Blocked, t.Cause = true, "it never proved itself"
		}
	})
	return allowed && err == nil, p.fault(err)
}

// TrialFailed records a failed trial of the waiting program. After the second failure, or at once if sure, the program is
// blocked. The error is a *update.Fault.
func (p *Program) TrialFailed(cause string, sure bool) error {
	if p.journal.State != Prepared {
		return nil
	}
	return p.fault(p.noteTrial(func(t *Try) {
		t.Failed, t.Cause = t.Failed+1, shortened(cause)
		t.Blocked = t.Blocked || sure || t.failedTooOften()
	}))
}

// noteTrial changes the Try of the prepared set.
func (p *Program) noteTrial(change func(*Try)) error {
	return p.tx.record(record{State: Prepared, Tries: with(p.journal.Tries, p.journal.Build, change)})
}

// ErrReplaced reports that another installer replaced the program in the meantime: that program stays.
var ErrReplaced = errors.New("another process replaced this program")

// Prove makes the waiting program live, after it has shown that it works. The next Open removes the replaced file, because
// some systems can't remove the file of a running process. The error is a *update.Fault, or that of ctx; after ErrReplaced
// the live program is unchanged.
func (p *Program) Prove(ctx context.Context) error {
	if p.journal.State != Prepared {
		return p.fault(errors.New("install: internal error: no program waits"))
	}
	seen, err := p.tx.examineNames(ctx)
	if err != nil {
		return p.fault(err)
	}
	files := p.journal.lists.Files
	if i := slices.IndexFunc(files, func(e entry) bool { return e.Kind == Module }); !swapBegun(files, seen) && i >= 0 &&
		!files[i].Repair && !files[i].Old.IsZero() && seen[i].Live != Previous {
		return p.fault(errors.Join(ErrReplaced, p.tx.withdraw(ctx)))
	}
	if err := p.Promote(ctx); err != nil {
		return err
	}
	return p.fault(p.proven())
}

// proven records that the live program has proven itself.
func (p *Program) proven() error {
	if !p.Pending() {
		return nil
	}
	p.log.Info().Stringer("set", p.journal.lists.Is).Msg("program replaced")
	return p.tx.recordProven()
}

// Program is the install of the program itself. Its folder is a ProgramView, its names are ProgramNames.
type Program struct{ *Dir }

// OpenProgram is Open for a program.
func OpenProgram(ctx context.Context, cfg Config) (*Program, error) {
	d, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Program{d}, nil
}
