package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/app/install"
	"collet/app/supervise"
	"collet/app/update"
	"collet/netproto/product"
	"collet/platform/text"
	"collet/runtime/abi"
)

// readyWait is how long the window stays for a running game that does not report ready.
const readyWait = time.Second

// game is the process of the game's module.
type game struct {
	*setup
	*disk
	child   *supervise.Child // nil while no child runs
	running bool             // the child got the command to run
	shown   bool             // the game reported ready
	began   time.Time        // when the child got the command to run
	module  string           // the module of the last child; empty: the built-in client
	proven  bool             // the running game has proven itself, and the install knows it
	live    bool             // the child has the live module, not the built-in client or a module of the command line
	meta    abi.Metadata     // of the last child

	whilePlaying func(context.Context) // what a proven game's host does meanwhile; nil: nothing
}

// startRole starts this program again in a child's role and waits for the module's metadata.
func (g *game) startRole(ctx context.Context, role, path string) (abi.Metadata, error) {
	// The child outlives the window whose context this is; dropChild and watch end it.
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
	if g.isProgram() {
		args = append(args, g.programRole(path)...)
	}
	return args
}

// dropChild ends the child and waits until it has exited. A running game has time to save.
func (g *game) dropChild() {
	if g.child == nil {
		return
	}
	g.child.End(g.stopWithin())
	g.child, g.running = nil, false
}

// gameArgs are the game's arguments: the host's name in the install folder, the package and game settings, the deep link, the player's
// arguments, and the pack folders. A program gets neither what packaging says of itself nor pack folders: its description has its own arguments.
func (g *game) gameArgs() []string {
	if g.isProgram() {
		return slices.Concat([]string{filepath.Join(g.folder, g.base)}, packedArgs(packed{}, g.settings.Game), g.opt.linkArgs(), g.opt.Args)
	}
	return slices.Concat([]string{filepath.Join(g.folder, g.base)}, packedArgs(g.packed, g.settings.Game), g.opt.linkArgs(),
		g.opt.Args, g.packArgs())
}

// run starts the game in the child and waits until it reports ready or ends, at most supervision.readyLimit. Meanwhile f shows what the game
// says of its progress.
func (g *game) run(ctx context.Context, f view) outcome {
	g.countStart()
	if err := g.child.Run(g.gameArgs()); err != nil {
		return runtimeFailed(err.Error())
	}
	g.running, g.shown, g.proven, g.began = true, false, false, time.Now()
	late := time.NewTimer(g.supervision().readyLimit())
	defer late.Stop()
	for {
		select {
		case said := <-g.child.Progress():
			f.Note(text.Line(said))
			continue
		case <-g.child.Ready():
			g.handleReady()
		case <-late.C:
		case <-g.child.Done():
		case <-ctx.Done():
		}
		return outcome{outcome: update.ResourcesReady}
	}
}

// handleReady handles the game's first ready report: the module has proven itself.
func (g *game) handleReady() {
	if g.shown {
		return
	}
	g.shown = true
	g.log.Info().Dur("after", time.Since(g.began)).Msg("runtime ready")
	g.swapped = false
	g.prove()
}

// prove records that the running game has proven itself. What could not be recorded before is tried again.
func (g *game) prove() {
	if !g.proven {
		g.proven = true
		if g.live {
			g.beacon.Started(g.dir != nil && g.dir.Pending(), time.Since(g.began))
		}
	}
	g.confirm()
}

// gameEnd is how a game ended.
type gameEnd struct {
	reload bool
	path   string // with reload: the module that the game requested; empty: the live one
	end    outcome
}

// watch supervises a running game until it ends. A module that reports ready, runs for supervise.ProvenAfter or ends cleanly has
// proven itself. After that, whilePlaying uses the install. When ctx ends, the game is asked to end, and killed if it takes too long.
func (g *game) watch(ctx context.Context) gameEnd {
	ready := g.child.Ready()
	var proof <-chan time.Time
	if after := g.supervision().proofTime(); after > 0 {
		timer := time.NewTimer(after - time.Since(g.began))
		defer timer.Stop()
		proof = timer.C
	}
	var meanwhile *prefetch
	for {
		if g.proven && meanwhile == nil {
			meanwhile = startPrefetch(ctx, g.whilePlaying)
		}
		select {
		case <-ready:
			ready = nil
			g.handleReady()
		case <-proof:
			g.prove()
		case <-g.child.Done():
			meanwhile.stop()
			return g.classifyEnd(ctx)
		case <-ctx.Done():
			meanwhile.stop()
			return g.stopGame(ctx)
		}
	}
}

// stopGame ends a game because this program has to end. A clean shutdown proves the module; any other end says nothing about it.
func (g *game) stopGame(ctx context.Context) gameEnd {
	child := g.child
	g.log.Info().Stringer("within", g.stopWithin()).Msg("told to end; the game is asked to end")
	g.dropChild()
	exit := child.Exit()
	kind := g.supervision().classify(exit)
	if kind != supervise.CleanShutdown {
		kind = supervise.Killed
	}
	g.log.Info().Stringer("end", kind).Str("exit", exit.String()).Dur("ran", exit.Ran).Msg("game ended")
	g.recordEnd(ctx, kind, exit.String())
	if kind == supervise.CleanShutdown {
		g.prove()
	}
	return gameEnd{end: outcome{outcome: update.Cancelled}}
}

// classifyEnd classifies the child's exit.
func (g *game) classifyEnd(ctx context.Context) gameEnd {
	exit := g.child.Exit()
	kind := g.supervision().classify(exit)
	g.child, g.running = nil, false
	words := g.endWords(exit)
	g.log.Info().Stringer("end", kind).Str("exit", words).Dur("ran", exit.Ran).Msg("game ended")
	back := g.recordEnd(ctx, kind, words)
	switch kind {
	case supervise.CleanShutdown:
		g.prove()
		return gameEnd{end: outcome{outcome: update.ResourcesReady}}
	case supervise.Reload:
		return gameEnd{reload: true, path: exit.Result.RequestedRuntimePath}
	case supervise.Killed:
		return gameEnd{end: outcome{outcome: update.Cancelled}}
	default:
		end := runtimeFailed(words)
		end.info.RolledBack = back
		return gameEnd{end: end}
	}
}

// choice is the module that an attempt starts.
type choice struct {
	path     string // empty: the built-in client
	explicit bool   // from the command line
}

// choose selects the module in the engine's order: an explicit path, a forced built-in client, the selector's module, the module in the
// writable root, the module beside the host. After a swap, path and built-in client of the command line no longer count.
func (g *game) choose() choice {
	explicit := g.opt.ClientLibPath
	switch {
	case explicit != "" && !g.swapped:
		return choice{g.withExt(explicit), true}
	case g.opt.ForceEmbeddedRuntime && !g.swapped && !g.isProgram():
		return choice{}
	}
	if name := g.modules().selected(); name != "" {
		return choice{path: name}
	}
	if !exists(g.modules().library()) {
		return choice{}
	}
	return choice{path: g.modules().library()}
}

// withExt makes a module's path absolute and appends the extension of modules if it is missing, as the engine's loader does.
func (g *game) withExt(name string) string {
	if ext := g.moduleExt(); !strings.EqualFold(filepath.Ext(name), ext) {
		name += ext
	}
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// startChild starts the chosen module in a child process and waits for its metadata. If the module can't be loaded, the built-in
// client replaces it, with a note to the player. It does not after a swap, where it would only cause another swap, or if its version
// is not the one of --ClientLibCompatibilityVersion.
func (g *game) startChild(ctx context.Context, f view) (abi.Metadata, error) {
	var c choice
	var meta abi.Metadata
	var err error
	for loads := 1; ; loads++ {
		if c = g.choose(); c.path == "" && g.isProgram() {
			return meta, fmt.Errorf("%w: %s is missing", errNoProgram, filepath.Base(g.modules().library()))
		}
		if c.path == "" {
			g.log.Info().Str("file", g.modules().library()).Msg("no module to load; the built-in client runs")
			return g.startEmbedded(ctx)
		}
		if meta, err = g.startRole(ctx, "runtime", c.path); err == nil {
			err = g.wrongVersion(meta)
		}
		if err == nil || ctx.Err() != nil {
			return meta, err
		}
		if loads == maxLoads || !g.handleUnusable(ctx, f, err) {
			break
		}
	}
	if g.swapped {
		return meta, err
	}
	g.dropChild()
	if g.isProgram() {
		return meta, fmt.Errorf("%w: %w", errNoProgram, err)
	}
	meta, fallback := g.startEmbedded(ctx)
	if fallback != nil {
		return meta, fmt.Errorf("%w; and the built-in client: %w", err, fallback)
	}
	g.log.Warn().Err(err).Str("file", c.path).Msg("module not loaded; the built-in client stands in")
	f.Note(g.texts.Get("note.embedded", "file", filepath.Base(c.path)))
	return meta, nil
}

// errForeign says that this program was packaged for one game and has the client of another one built in.
var errForeign = errors.New("the client that is built into this program is another game's")

// startEmbedded starts the built-in client. It fails with errForeign if the program was packaged for another game.
func (g *game) startEmbedded(ctx context.Context) (abi.Metadata, error) {
	meta, err := g.startRole(ctx, "embedded", "")
	if err == nil && isForeign(meta.RuntimeName, g.packed.Name) {
		g.dropChild()
		g.meta = abi.Metadata{}
		return g.meta, fmt.Errorf("%w: it is %s, and this is %s", errForeign, meta.RuntimeName, g.packed.Name)
	}
	if err == nil {
		err = g.wrongVersion(meta)
	}
	return meta, err
}

// isForeign reports whether a built-in client is not a variant of the packaged game; packaged is empty for a program without a package.
func isForeign(builtIn, packaged string) bool {
	_, ours := product.ParseVariant(builtIn, packaged)
	return packaged != "" && !ours
}

// wrongVersion enforces --ClientLibCompatibilityVersion. Without the flag a module of any version is accepted: a host outlives many
// modules. After a swap the new module's version counts.
func (g *game) wrongVersion(meta abi.Metadata) error {
	want := g.opt.ClientLibCompatibilityVersion
	if want == "" || g.swapped || meta.CompatibilityVersion == want {
		return nil
	}
	return fmt.Errorf("%s has compatibility version %q, and %q was asked for", meta.RuntimeName, meta.CompatibilityVersion, want)
}

// noModule is the end of an attempt without a module that can be run.
func (g *game) noModule(err error) outcome {
	if errors.Is(err, context.Canceled) {
		return outcomeOf(err)
	}
	e := runtimeFailed(err.Error())
	e.info.Unloadable = g.choose().path
	return e
}

// swap ends the child, which may have the old module loaded, and makes the staged module live. If nothing was fetched or staged, the
// live module is already the offered one and the server still calls it outdated: ContentMismatch.
func (g *game) swap(ctx context.Context, s update.Status) (outcome, bool) {
	if s.Files == 0 && g.live && g.dir.State() != install.Prepared {
		g.log.Error().Msg("the server offers the module that is running, and calls it outdated")
		return outcome{outcome: update.ContentMismatch, status: s}, false
	}
	g.dropChild()
	if err := g.dir.Promote(ctx); err != nil {
		return outcomeOf(err), false
	}
	g.swapped = true
	g.modules().reselect(true)
	g.log.Info().Str("file", g.modules().library()).Msg("module swapped")
	return outcome{}, true
}
