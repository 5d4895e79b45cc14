package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"

	"collet/app/install"
	"collet/app/splash"
	"collet/app/update"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/runtime/abi"
)

// ended is how an attempt to bring up the game ended: one row of the table of ends, with what explains it.
type ended struct {
	outcome update.Outcome
	fault   *update.Fault
	status  update.Status
	detail  string // one sentence for a failed module
	back    bool   // the last proven set was put back

	tolerated bool // components differ, and the server lets us play all the same

	unloadable string   // the module that could not be loaded, where nothing ever ran
	astray     []string // of a SetIncomplete: the files that are not right
	holders    string   // of an AlreadyRunning: who holds the install
	playable   bool     // there is something to play without the server
}

func (e ended) end() update.End {
	if e.fault != nil {
		return update.EndOf(e.outcome, e.fault.Cause)
	}
	return update.EndOf(e.outcome, update.NoCause)
}

// reason is what the log and the terminal say beside the words for a player.
func (e ended) reason() string {
	if e.fault != nil {
		return e.fault.Error()
	}
	return e.detail
}

// failed is the end that an error makes.
func failed(err error) ended {
	var known *update.Fault
	var held *install.HeldError
	switch {
	case errors.Is(err, context.Canceled):
		return ended{outcome: update.Cancelled}
	case errors.As(err, &held) && errors.Is(err, platform.ErrLocked):
		return ended{outcome: update.AlreadyRunning, detail: held.Error(), holders: held.Names()}
	case errors.Is(err, platform.ErrLocked):
		return ended{outcome: update.AlreadyRunning}
	case errors.As(err, &known):
		return ended{outcome: update.Failed, fault: known}
	default:
		return ended{outcome: update.Failed, fault: &update.Fault{Cause: update.DiskFault, Err: err}}
	}
}

func runtimeFailed(detail string) ended {
	return ended{outcome: update.RuntimeFailed, detail: detail}
}

// maxRounds bounds how often modules are swapped without a pause: once for the module of a release, once more for a release
// that was published meanwhile. More is a server that contradicts itself.
const maxRounds = 3

// attempts opens the install and brings the game up, once for each attempt.
type attempts struct {
	*setup
	*origin
	*disk
	*game
	*updates
	renewal *renewal
	offline bool                        // do not ask the server
	anyway  bool                        // the player was told that the set is not whole, and wants it all the same
	bell    *bell                       // lets a second start bring this one forward; nil while none hangs
	raise   atomic.Pointer[func() bool] // brings the window forward; nil while there is none
	canPlay atomic.Bool                 // there is something to play without the update under way
	last    atomic.Pointer[ended]       // how the last attempt ended; the window reads it for the report
}

// bringUp opens the install, asks the server, fetches, swaps, and in the end has the game running: the outcome is then
// ResourcesReady and h.running is true. Whatever else it returns, no child is left.
func (a *attempts) bringUp(ctx context.Context, f front) ended {
	e := a.rounds(ctx, f)
	e.playable = a.loaded && a.hasPacks()
	if !a.running {
		a.dropChild()
	}
	a.last.Store(&e)
	if e.outcome == update.Cancelled && errors.Is(context.Cause(ctx), splash.ErrNoWindow) {
		return e // it goes on in another way, and windowed says so
	}
	a.log.Info().Stringer("outcome", e.outcome).Str("detail", e.detail).AnErr("fault", asError(e.fault)).Msg("start ended")
	return e
}

// asError keeps a nil fault a nil error.
func asError(f *update.Fault) error {
	if f == nil {
		return nil
	}
	return f
}

func (a *attempts) rounds(ctx context.Context, f front) ended {
	a.loaded = false
	a.canPlay.Store(false)
	a.comeBack()
	a.noteRoots(f)
	if !a.offline {
		a.warmUp(ctx)
	}
	if err := a.openInstall(ctx, f); err != nil && !a.goesOn(ctx, err) {
		return a.notOpened(ctx, f, err)
	}
	return a.patiently(ctx, f, func() ended { return a.round(ctx, f) })
}

// maxWaits is how often a server that contradicts itself is asked again: with the pauses between for 8 to 16 s, in which a
// catalogue is replaced.
const maxWaits = 5

// patiently does once, and does it again after a pause where the server seems to replace its catalogue just now.
func (a *attempts) patiently(ctx context.Context, f front, once func() ended) ended {
	for waits := 1; ; waits++ {
		e := once()
		if !a.metHalf(e) || waits > maxWaits {
			return e
		}
		a.dropChild()
		pause := update.DefaultRetry().Delay(waits, rand.Float64())
		a.log.Warn().Dur("pause", pause).Msg("the server contradicts itself, as it does while a release is published; it is asked again")
		f.Note(a.texts.Get("note.inconsistent"))
		if err := interrupt.Sleep(ctx, pause); err != nil {
			return failed(err)
		}
	}
}

// metHalf reports whether an end may come of a server that has replaced a part of its catalogue: it contradicts itself, or asks again
// for the module that this start has just fetched, or found installed, on its word. What an earlier start installed in vain had its time.
func (d *disk) metHalf(e ended) bool {
	return e.outcome == update.ContentMismatch || e.outcome == update.UpdateLoop && d.guarded
}

// round asks the server and swaps modules until the game can run or something ends it.
func (a *attempts) round(ctx context.Context, f front) ended {
	for range maxRounds {
		meta, err := a.startChild(ctx, f)
		bare := a.bare(err)
		if err != nil && !bare {
			return a.noModule(err)
		}
		a.loaded = !bare
		a.canPlay.Store(a.loaded && a.hasPacks())
		if a.offline {
			f.Note(a.texts.Get("note.offline"))
			return a.runWhole(ctx)
		}
		missing := err
		status, err := a.update(ctx, f, meta.CompatibilityVersion)
		switch {
		case err != nil:
			return failed(err)
		case a.renewal.due != "":
			return ended{outcome: update.ResourcesReady}
		case bare && (status.HeldBack || isReady(status.Outcome) && a.dir.State() != install.Prepared):
			return a.noModule(missing)
		case status.HeldBack:
			f.Note(a.texts.Get("note.heldback"))
			if !a.hasPacks() {
				return runtimeFailed(a.dir.HeldBack().Reason()) // there is no set before it
			}
			return a.runWhole(ctx)
		case status.Outcome == update.ResourcesReady && a.dir.State() != install.Prepared:
			a.renewal.proveTrial(ctx)
			return a.play(ctx, f)
		case a.offlineNow(status) && !bare:
			f.Note(a.texts.Get("note.unreachable"))
			return a.runWhole(ctx)
		case status.Outcome != update.BinariesStaged && status.Outcome != update.ResourcesReady:
			return ended{outcome: status.Outcome, fault: status.Fault, status: status}
		}
		// A module waits for its swap: a new one, or one that a verification found damaged.
		if e, ok := a.swap(ctx, status); !ok {
			return e
		}
	}
	a.log.Error().Msg("the server's modules never satisfy the server")
	return ended{outcome: update.ContentMismatch}
}

// updatePlain is update for what a server itself vouches for.
func (u *updates) updatePlain(ctx context.Context, f front, compatibility string) (update.Status, error) {
	s := newSource(u, compatibility)
	updater, err := u.newUpdater(s)
	if err != nil {
		return update.Status{}, err
	}
	status := u.follow(ctx, f, updater, s.progress)
	u.met = s.met
	u.hintGeneration(f, s, status)
	return u.settleContent(s.offered, u.consistent(s, status)), nil
}

// hintGeneration names a generation that was forced, where that may be why the server ended it.
func (u *updates) hintGeneration(f front, s *source, status update.Status) {
	refused := status.Outcome == update.UpdaterOutdated
	if status.Fault != nil && s.client == nil {
		refused = status.Fault.Cause == update.Interrupted || status.Fault.Cause == update.ServerFault
	}
	if s.options.Auto || !refused {
		return
	}
	u.log.Warn().Stringer("generation", s.options.Generation).Msg("the server may speak another generation than the one that was asked for with --generation")
	f.Note(u.texts.Get("note.generation", "generation", s.options.Generation.String()))
}

// swap ends the child, which may have the old module loaded, and makes the staged one live. A round that fetched nothing
// and changed nothing is not repeated: the running module already is what the server offers, and still the server calls
// it outdated.
func (g *game) swap(ctx context.Context, s update.Status) (ended, bool) {
	if s.Files == 0 && g.live && g.dir.State() != install.Prepared {
		g.log.Error().Msg("the server offers the module that is running, and calls it outdated")
		return ended{outcome: update.ContentMismatch, status: s}, false
	}
	g.dropChild()
	if err := g.dir.Promote(ctx); err != nil {
		return failed(err), false
	}
	g.swapped = true
	g.modules().reselect(true)
	g.log.Info().Str("file", g.modules().library()).Msg("module swapped")
	return ended{}, true
}

// choice is which module an attempt starts.
type choice struct {
	path     string // empty: the built-in client
	explicit bool   // the player named it
}

// choose follows the source: an explicit path wins, then a forced built-in client, then the module that a selector names,
// then the one in the writable root, then the one beside the host (fonline reference, sections 3.6 and 3.7). After a swap
// the live module is the one, whatever was named before.
func (g *game) choose() choice {
	explicit := g.opt.ClientLibPath
	switch {
	case explicit != "" && !g.swapped:
		return choice{g.withExt(explicit), true}
	case g.opt.ForceEmbeddedRuntime && !g.swapped:
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

// withExt appends the extension of modules where the player left it out, as the source's loader does.
func (g *game) withExt(name string) string {
	if !strings.EqualFold(filepath.Ext(name), g.target.LibraryExt()) {
		name += g.target.LibraryExt()
	}
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// startChild starts the chosen module in a process of its own and waits for its metadata. When it can't be loaded the
// built-in client stands in, loudly, unless another compatibility version was asked for, or the module was swapped in
// just now: then falling back would only swap again.
func (g *game) startChild(ctx context.Context, f front) (abi.Metadata, error) {
	var c choice
	var meta abi.Metadata
	var err error
	for loads := 1; ; loads++ {
		if c = g.choose(); c.path == "" {
			g.log.Info().Str("file", g.modules().library()).Msg("no module to load; the built-in client runs")
			return g.startEmbedded(ctx)
		}
		if meta, err = g.startRole(ctx, "runtime", c.path); err == nil {
			err = g.wrongVersion(meta)
		}
		if err == nil || ctx.Err() != nil {
			return meta, err
		}
		if loads == maxLoads || !g.unusable(ctx, f, err) {
			break
		}
	}
	if g.swapped {
		return meta, err
	}
	g.dropChild()
	meta, fallback := g.startEmbedded(ctx)
	if fallback != nil {
		return meta, fmt.Errorf("%w; and the built-in client: %w", err, fallback)
	}
	g.log.Warn().Err(err).Str("file", c.path).Msg("module not loaded; the built-in client stands in")
	f.Note(g.texts.Get("note.embedded", "file", filepath.Base(c.path)))
	return meta, nil
}

// errForeign says that this program was packaged for one game and has another one's client built in.
var errForeign = errors.New("the client that is built into this program is another game's")

// startEmbedded starts the client that is linked into this program, unless it is another game's than the one that the program
// was packaged for.
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

// isForeign reports whether a built-in client is no variant of what a program was packaged as; packaged is empty if it was not.
func isForeign(builtIn, packaged string) bool {
	_, ours := product.ParseVariant(builtIn, packaged)
	return packaged != "" && !ours
}

// bare reports whether there is nothing of this game to start, and a server may have it: then none is asked for a version, and
// the module comes as an update does.
func (a *attempts) bare(err error) bool {
	return errors.Is(err, errForeign) && !a.offline && !a.opt.ForceEmbeddedRuntime && a.opt.ClientLibPath == ""
}

// wrongVersion enforces --ClientLibCompatibilityVersion. Without it no module is measured by this host's own version: a
// host outlives many of them. After a swap the new module is the authority (seed 000, "Runtime ABI").
func (g *game) wrongVersion(meta abi.Metadata) error {
	want := g.opt.ClientLibCompatibilityVersion
	if want == "" || g.swapped || meta.CompatibilityVersion == want {
		return nil
	}
	return fmt.Errorf("%s has compatibility version %q, and %q was asked for", meta.RuntimeName, meta.CompatibilityVersion, want)
}

// noModule is the end of an attempt that found nothing to run.
func (g *game) noModule(err error) ended {
	if errors.Is(err, context.Canceled) {
		return failed(err)
	}
	e := runtimeFailed(err.Error())
	e.unloadable = g.choose().path
	return e
}
