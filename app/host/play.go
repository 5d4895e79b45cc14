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

// startRole starts this program again in a child's role and waits for the module's metadata.
func (h *host) startRole(ctx context.Context, role, path string) (abi.Metadata, error) {
	// The child outlives the window whose context this is; dropChild and watch are what ends it.
	child, err := supervise.Start(context.WithoutCancel(ctx), supervise.Options{
		Exe: h.exe, Args: h.childArgs(role, path), Log: h.log,
	})
	if err != nil {
		return abi.Metadata{}, err
	}
	h.child, h.live, h.module = child, path == h.library(), path
	meta, err := child.Metadata(ctx)
	if err != nil {
		return abi.Metadata{}, err
	}
	h.meta = meta
	h.log.Info().Str("role", role).Str("file", path).Str("runtime", meta.RuntimeName).Str("build", meta.BuildHash).
		Str("compat", meta.CompatibilityVersion).Uint32("abi", meta.ABIVersion).Msg("runtime loaded")
	return meta, nil
}

// childArgs is the command line of a child.
func (h *host) childArgs(role, path string) []string {
	args := []string{"--role=" + role, "--stop-within=" + h.stopWithin().String()}
	if path != "" {
		args = append(args, "--ClientLibPath="+path)
	}
	return args
}

// dropChild ends the child and waits until it is gone. A game that runs may save first.
func (h *host) dropChild() {
	if h.child == nil {
		return
	}
	h.child.End(h.stopWithin())
	h.child, h.running = nil, false
}

// stopWithin is how long a game that runs may take to end when this program is told to.
func (h *host) stopWithin() time.Duration {
	within, err := settings.ParseStopWithin(h.settings.Client.StopWithin)
	if err != nil { // settings that were loaded are right
		return settings.DefaultStopWithin
	}
	return within
}

// gameArgs is what the game gets: the host's name in the install folder, what is known of its package, the link that opened it,
// the player's arguments, and where its packs are.
func (h *host) gameArgs() []string {
	return slices.Concat([]string{filepath.Join(h.folder, h.base)}, packedArgs(h.packed, h.settings.Game), h.opt.linkArgs(),
		h.opt.Args, h.packArgs())
}

// run tells the child to run and waits until the game shows itself, or has had a second to, or is over already.
func (h *host) run(ctx context.Context) ended {
	h.starting()
	if err := h.child.Run(h.gameArgs()); err != nil {
		return runtimeFailed(err.Error())
	}
	h.running, h.shown, h.began = true, false, time.Now()
	late := time.NewTimer(readyWait)
	defer late.Stop()
	select {
	case <-h.child.Ready():
		h.ready()
	case <-late.C:
	case <-h.child.Done():
	case <-ctx.Done():
	}
	return ended{outcome: update.ResourcesReady}
}

// ready notes that the game shows itself, once.
func (h *host) ready() {
	if h.shown {
		return
	}
	h.shown = true
	h.log.Info().Dur("after", time.Since(h.began)).Msg("runtime ready")
	h.swapped = false
	h.confirm()
}

// gameEnd is what became of a game that ran.
type gameEnd struct {
	reload bool
	path   string // with reload: which module the game wants next; empty means the live one
	end    ended
}

// watch supervises a running game until it ends. A module that is ready, or runs for long, or ends cleanly has proven
// itself. When ctx ends the game is asked to end, and ended when it takes too long.
func (h *host) watch(ctx context.Context) gameEnd {
	ready := h.child.Ready()
	proof := time.NewTimer(supervise.ProvenAfter - time.Since(h.began))
	defer proof.Stop()
	for {
		select {
		case <-ready:
			ready = nil
			h.ready()
		case <-proof.C:
			h.confirm()
		case <-h.child.Done():
			return h.gameOver(ctx)
		case <-ctx.Done():
			return h.stopGame(ctx)
		}
	}
}

// stopGame ends a game because this program is told to end. One that shuts down in order has proven itself; whatever else becomes
// of it says nothing about its build.
func (h *host) stopGame(ctx context.Context) gameEnd {
	child := h.child
	h.log.Info().Stringer("within", h.stopWithin()).Msg("told to end; the game is asked to end")
	h.dropChild()
	exit := child.Exit()
	kind := supervise.Classify(exit, exit.Ready, exit.Ran)
	if kind != supervise.CleanShutdown {
		kind = supervise.Killed
	}
	h.log.Info().Stringer("end", kind).Str("exit", exit.String()).Dur("ran", exit.Ran).Msg("game ended")
	h.judge(ctx, kind, exit.String())
	if kind == supervise.CleanShutdown {
		h.confirm()
	}
	return gameEnd{end: ended{outcome: update.Cancelled}}
}

// gameOver turns the child's exit into what to do next.
func (h *host) gameOver(ctx context.Context) gameEnd {
	exit := h.child.Exit()
	kind := supervise.Classify(exit, exit.Ready, exit.Ran)
	h.child, h.running = nil, false
	words := h.endWords(exit)
	h.log.Info().Stringer("end", kind).Str("exit", words).Dur("ran", exit.Ran).Msg("game ended")
	back := h.judge(ctx, kind, words)
	switch kind {
	case supervise.CleanShutdown:
		h.confirm()
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
