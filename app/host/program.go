package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"path/filepath"
	"sync"
	"time"

	"collet/app/acquire"
	"collet/app/install"
	"collet/app/settings"
	"collet/app/splash"
	"collet/app/supervise"
	"collet/app/update"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/interrupt"
)

// This file is about games that are programs (docs/PROGRAMS.md). Such a game's module is a description, <Base>.program, of an executable
// among the resources. The child's role runtime runs it with package runtime/program in place of the loader. There is no built-in client.

// programWait is how long the window stays for a program that is not ready yet. Programs open their first window late.
const programWait = 30 * time.Second

// isProgram reports whether the game is a program.
func (s *setup) isProgram() bool {
	return cmp.Or(s.opt.Kind, s.settings.Client.Kind) == settings.KindProgram
}

// moduleExt is the extension of the module's file.
func (s *setup) moduleExt() string {
	if s.isProgram() {
		return product.DescriptionExt
	}
	return s.target.LibraryExt()
}

// errNoProgram says that no program of the game can be started: an update may deliver one.
var errNoProgram = errors.New("the game can't be started from what is installed")

// programRole are the arguments of the child's role that a description needs.
func (g *game) programRole(description string) []string {
	return []string{
		"--resources=" + filepath.Join(filepath.Dir(description), filepath.FromSlash(g.settings.Baking.ClientResources)),
		"--kept=" + filepath.Join(g.paths.data, install.StateDir, install.KeptFile),
	}
}

// supervision is how a running game is watched, which depends on its kind.
type supervision struct{ program bool }

// supervision is that of this game.
func (g *game) supervision() supervision { return supervision{g.isProgram()} }

// readyLimit is how long the window stays for a running game that does not report ready.
func (s supervision) readyLimit() time.Duration {
	if s.program {
		return programWait
	}
	return readyWait
}

// classify classifies the end of the child. A program reports by itself that it has run for long enough, so its time does not count. It
// shuts down without success only if it was asked to end: by a signal or by the end of the session.
func (s supervision) classify(exit supervise.Exit) supervise.End {
	if s.program {
		end := supervise.Classify(exit, exit.Ready, 0)
		if end == supervise.Unsuccessful {
			end = supervise.Killed
		}
		return end
	}
	return supervise.Classify(exit, exit.Ready, exit.Ran)
}

// proofTime is after how long a running game has proven itself without a report; 0 is never.
func (s supervision) proofTime() time.Duration {
	if s.program {
		return 0
	}
	return supervise.ProvenAfter
}

// seed copies the delivered set to the writable root, once, if they are two folders: a program runs in one folder only.
func seed(ctx context.Context, s *setup) (err error) {
	m := s.modules()
	if !s.isProgram() || s.paths.portable() || exists(m.own()) || !exists(m.delivered()) {
		return nil
	}
	s.log.Info().Str("from", s.paths.install).Str("to", s.paths.data).Msg("the delivered game is copied, so that it can be updated")
	from, err := platform.OpenDir(s.paths.install)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := platform.OpenDir(s.paths.data)
	if err != nil {
		return err
	}
	defer to.Close()
	resources := path.Clean(filepath.ToSlash(s.settings.Baking.ClientResources))
	if err := copyOnce(ctx, from, to, resources, m.name); err != nil {
		return fmt.Errorf("copy the delivered game: %w", err)
	}
	return nil
}

// copyOnce is copySet under the install's lock. It does nothing if the set is there by now, or if another start holds the lock: that one
// copies the set, or plays it.
func copyOnce(ctx context.Context, from, to platform.FS, resources, description string) error {
	lock, err := install.Lock(to)
	if errors.Is(err, platform.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := to.Stat(description); err == nil {
		return nil
	}
	return copySet(ctx, from, to, resources, description)
}

// copySet copies the resources and then the description, which makes them an install. Before that everything else is on the disk, so an
// interrupted copy begins anew.
func copySet(ctx context.Context, from, to platform.FS, resources, description string) error {
	_, err := from.Stat(resources)
	if err == nil {
		err = platform.CopyTree(ctx, from, resources, to, resources)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil // some packages have the description only
	}
	if err != nil {
		return err
	}
	for folder := resources; folder != "."; {
		folder = path.Dir(folder)
		if err := to.SyncDir(folder); err != nil {
			return err
		}
	}
	next := description + install.StagingSuffix
	if err := platform.CopyFile(from, description, to, next); err != nil {
		return err
	}
	if err := to.Rename(next, description); err != nil {
		return err
	}
	return to.SyncDir(".")
}

// prefetch fetches newer releases while a program runs, for the next start. It uses the install, so the game's goroutine leaves that
// alone until stop has returned.
type prefetch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// startPrefetch starts work; nil work does nothing.
func startPrefetch(ctx context.Context, work func(context.Context)) *prefetch {
	p := &prefetch{}
	inner, cancel := context.WithCancel(ctx)
	p.cancel = cancel
	if work != nil {
		p.done.Go(func() { work(inner) })
	}
	return p
}

// stop ends the work and waits for it. It is nil-safe.
func (p *prefetch) stop() {
	if p != nil {
		p.cancel()
		p.done.Wait()
	}
}

// whilePlaying looks for newer releases at the interval of Update.WhilePlaying until one is ready for the next start, and tells the game.
// Nothing that is in use is changed.
func (u *updates) whilePlaying(ctx context.Context) {
	every, err := settings.ParseWhilePlaying(u.settings.Update.WhilePlaying)
	if err != nil || every == 0 || !u.isProgram() || u.opt.Offline || u.dir == nil {
		return
	}
	u.canAsk, u.renewal.skipSelfUpdate = false, true
	u.dir.DeferSwap()
	for interrupt.Sleep(ctx, every+rand.N(every/10)) == nil {
		f := &silentView{}
		status, err := u.update(ctx, f, u.meta.CompatibilityVersion)
		if ctx.Err() != nil {
			return
		}
		u.log.Info().Err(err).Stringer("outcome", status.Outcome).Int("files", status.Files).Msg("looked for a newer release while the game runs")
		if u.dir.State() == install.Prepared {
			version := cmp.Or(f.version, "newer")
			u.log.Info().Str("release", version).Msg("a newer release is ready for the next start")
			if err := u.child.TellUpdate(version); err != nil {
				u.log.Debug().Err(err).Msg("game not told")
			}
			return
		}
	}
}

// silentView shows nothing, and remembers the version of the release.
type silentView struct{ version string }

func (v *silentView) Follow(context.Context, watcher) (wait func())   { return func() {} }
func (v *silentView) Note(string)                                     {}
func (v *silentView) ReleaseNotes(string)                             {}
func (v *silentView) Report(r acquire.Report)                         { v.version = r.Release.Version }
func (v *silentView) Toast(context.Context, splash.Toast) (more bool) { return false }
func (v *silentView) Ask(context.Context, outcome) update.Action      { return update.Quit }
