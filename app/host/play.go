package host

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"collet/app/settings"
	"collet/app/supervise"
	"collet/app/update"
	"collet/runtime/abi"
)

// readyWait is how long the window stays for a game that runs and does not say ready (design 2, section 2).
const readyWait = time.Second

// game is the process of the game's module, and which module that is.
type game struct {
	*setup
	*disk
	child   *supervise.Child // nil while none runs
	running bool             // the child was told to run
	shown   bool             // the game said that it shows itself
	began   time.Time        // when the child was told to run
	module  string           // the file that the last child has; empty: the built-in client
	live    bool             // the child has the live module, not the built-in client or a named one
	meta    abi.Metadata     // of the last child
}

// startRole starts this program again in a child's role and waits for the module's metadata.
func (g *game) startRole(ctx context.Context, role, path string) (abi.Metadata, error) {
	// The child outlives the window whose context this is; dropChild and watch are what ends it.
	child, err := supervise.Start(context.WithoutCancel(ctx), supervise.Options{
		Exe: g.exe, Args: g.childArgs(role, path), Log: g.log,
	})
	if err != nil {
		return abi.Metadata{}, err
	}
	g.child, g.live, g.module = child, path == g.modules().library(), path
	meta, err := child.Metadata(ctx)
	if err != nil {
		return abi.Metadata{}, err
	}
	g.meta = meta
	g.log.Info().Str("role", role).Str("file", path).Str("runtime", meta.RuntimeName).Str("build", meta.BuildHash).
		Str("compat", meta.CompatibilityVersion).Uint32("abi", meta.ABIVersion).Msg("runtime loaded")
	return meta, nil
}

// childArgs is the command line of a child.
func (g *game) childArgs(role, path string) []string {
	args := []string{"--role=" + role, "--stop-within=" + g.stopWithin().String()}
	if path != "" {
		args = append(args, "--ClientLibPath="+path)
	}
	return args
}

// dropChild ends the child and waits until it is gone. A game that runs may save first.
func (g *game) dropChild() {
	if g.child == nil {
		return
	}
	g.child.End(g.stopWithin())
	g.child, g.running = nil, false
}

// stopWithin is how long a game that runs may take to end when this program is told to.
func (s *setup) stopWithin() time.Duration {
	within, err := settings.ParseStopWithin(s.settings.Client.StopWithin)
	if err != nil { // settings that were loaded are right
		return settings.DefaultStopWithin
	}
	return within
}

// gameArgs is what the game gets: the host's name in the install folder, what is known of its package, the link that opened it,
// the player's arguments, and where its packs are.
func (g *game) gameArgs() []string {
	return slices.Concat([]string{filepath.Join(g.folder, g.base)}, packedArgs(g.packed, g.settings.Game), g.opt.linkArgs(),
		g.opt.Args, g.packArgs())
}

// run tells the child to run and waits until the game shows itself, or has had a second to, or is over already.
func (g *game) run(ctx context.Context) ended {
	g.starting()
	if err := g.child.Run(g.gameArgs()); err != nil {
		return runtimeFailed(err.Error())
	}
	g.running, g.shown, g.began = true, false, time.Now()
	late := time.NewTimer(readyWait)
	defer late.Stop()
	select {
	case <-g.child.Ready():
		g.ready()
	case <-late.C:
	case <-g.child.Done():
	case <-ctx.Done():
	}
	return ended{outcome: update.ResourcesReady}
}

// ready notes that the game shows itself, once.
func (g *game) ready() {
	if g.shown {
		return
	}
	g.shown = true
	g.log.Info().Dur("after", time.Since(g.began)).Msg("runtime ready")
	g.swapped = false
	g.confirm()
}

// gameEnd is what became of a game that ran.
type gameEnd struct {
	reload bool
	path   string // with reload: which module the game wants next; empty means the live one
	end    ended
}

// watch supervises a running game until it ends. A module that is ready, or runs for long, or ends cleanly has proven
// itself. When ctx ends the game is asked to end, and ended when it takes too long.
func (g *game) watch(ctx context.Context) gameEnd {
	ready := g.child.Ready()
	proof := time.NewTimer(supervise.ProvenAfter - time.Since(g.began))
	defer proof.Stop()
	for {
		select {
		case <-ready:
			ready = nil
			g.ready()
		case <-proof.C:
			g.confirm()
		case <-g.child.Done():
			return g.gameOver(ctx)
		case <-ctx.Done():
			return g.stopGame(ctx)
		}
	}
}

// stopGame ends a game because this program is told to end. One that shuts down in order has proven itself; whatever else becomes
// of it says nothing about its build.
func (g *game) stopGame(ctx context.Context) gameEnd {
	child := g.child
	g.log.Info().Stringer("within", g.stopWithin()).Msg("told to end; the game is asked to end")
	g.dropChild()
	exit := child.Exit()
	kind := supervise.Classify(exit, exit.Ready, exit.Ran)
	if kind != supervise.CleanShutdown {
		kind = supervise.Killed
	}
	g.log.Info().Stringer("end", kind).Str("exit", exit.String()).Dur("ran", exit.Ran).Msg("game ended")
	g.judge(ctx, kind, exit.String())
	if kind == supervise.CleanShutdown {
		g.confirm()
	}
	return gameEnd{end: ended{outcome: update.Cancelled}}
}

// gameOver turns the child's exit into what to do next.
func (g *game) gameOver(ctx context.Context) gameEnd {
	exit := g.child.Exit()
	kind := supervise.Classify(exit, exit.Ready, exit.Ran)
	g.child, g.running = nil, false
	words := g.endWords(exit)
	g.log.Info().Stringer("end", kind).Str("exit", words).Dur("ran", exit.Ran).Msg("game ended")
	back := g.judge(ctx, kind, words)
	switch kind {
	case supervise.CleanShutdown:
		g.confirm()
		return gameEnd{end: ended{outcome: update.ResourcesReady}}
	case supervise.Reload:
		return gameEnd{reload: true, path: exit.Result.RequestedRuntimePath}
	case supervise.Killed:
		return gameEnd{end: ended{outcome: update.Cancelled}}
	default:
		end := runtimeFailed(words)
		end.back = back
		return gameEnd{end: end}
	}
}
