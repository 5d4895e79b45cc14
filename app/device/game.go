package device

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/app/supervise"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
	"collet/platform"
)

// The environment variables of a game: docs/REMOTE.md, "What the game gets".
const (
	envCopy    = "COLLET_REMOTE_COPY"    // the folder of the working copy
	envConfig  = "COLLET_REMOTE_CONFIG"  // the file with the game's description, as sent by the controller
	envProfile = "COLLET_REMOTE_PROFILE" // the profile's name
	envOwn     = "COLLET_REMOTE_OWN"     // the folder for the files that the game writes
)

// gameConfigFile is the description's file name in the folder own.
const gameConfigFile = "game.degame"

// binariesFolder has the modules of a working copy for several systems, as on an update server: one folder per target.
const binariesFolder = "PlatformBinaries"

// games is device.Launcher: it runs the module of a working copy in a child of this program.
type games struct {
	opt  Options
	copy string // the folder of the working copy
	own  string // the folder of the description and of the files that the game writes
}

var _ device.Launcher = (*games)(nil)

// standardProfile is the profile that always exists.
const standardProfile = "standard"

// Profiles implements device.Launcher.
func (g *games) Profiles() (names []string, standard string) {
	names = slices.Sorted(maps.Keys(g.opt.Profiles.Profiles))
	if !slices.Contains(names, standardProfile) {
		names = slices.Insert(names, 0, standardProfile)
	}
	if g.opt.Profiles.Profile != "" {
		return names, g.opt.Profiles.Profile
	}
	return names, standardProfile
}

// profile finds a profile by its name; empty is the standard profile.
func (g *games) profile(name string) (string, settings.Profile, error) {
	names, standard := g.Profiles()
	if name == "" {
		name = standard
	}
	if !slices.Contains(names, name) {
		return "", settings.Profile{}, fmt.Errorf("profile %q is not known here; there are %s", name, strings.Join(names, ", "))
	}
	return name, g.opt.Profiles.Profiles[name], nil
}

// Start implements device.Launcher.
func (g *games) Start(ctx context.Context, r device.StartRequest, out func(device.Line)) (device.Application, error) {
	name, profile, err := g.profile(r.Profile)
	if err != nil {
		return nil, err
	}
	args, err := splitWords(r.Arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments %q: %w", r.Arguments, err)
	}
	module, err := g.find()
	if err != nil {
		return nil, err
	}
	config, err := g.writeConfig(r.GameConfig)
	if err != nil {
		return nil, err
	}
	started := &run{out: out, log: g.opt.Log, ended: make(chan struct{})}
	env := g.environment(profile, map[string]string{envCopy: g.copy, envConfig: config, envProfile: name, envOwn: g.own})
	started.child, err = supervise.Start(context.WithoutCancel(ctx), supervise.Options{
		Exe: g.opt.Exe, Args: []string{"--role=runtime", "--ClientLibPath=" + module}, Dir: g.own, Env: env, Log: g.opt.Log, Output: started.output,
	})
	if err != nil {
		return nil, err
	}
	if err := started.bring(ctx, g.arguments(module, profile, args)); err != nil {
		return nil, err
	}
	go started.watch()
	return started, nil
}

// arguments is the game's command line: the host's name, the arguments of the device, of the profile and of the controller, and the
// folder of the packs.
func (g *games) arguments(module string, profile settings.Profile, args []string) []string {
	base := strings.TrimSuffix(filepath.Base(module), g.opt.Target.LibraryExt())
	all := slices.Concat([]string{filepath.Join(g.copy, base)}, g.opt.Args, profile.Arguments, args)
	return append(all, "--ClientResources", filepath.Join(g.copy, g.opt.Packs))
}

// environment is this program's environment with the variables of the profile and of told. Later ones override earlier ones.
func (g *games) environment(profile settings.Profile, told map[string]string) []string {
	env := os.Environ()
	for _, more := range []map[string]string{profile.Environment, told} {
		for _, name := range slices.Sorted(maps.Keys(more)) {
			env = platform.SetVariable(env, name, more[name])
		}
	}
	return env
}

// find finds the module of the working copy: the configured file, or the one with the runtime's name, or the only one. It searches the
// root and the binaries of this target.
func (g *games) find() (string, error) {
	ext := g.opt.Target.LibraryExt()
	if g.opt.Module != "" {
		path := g.opt.Module
		if !strings.EqualFold(filepath.Ext(path), ext) {
			path += ext
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.copy, path)
		}
		return path, g.within(path)
	}
	folders := []string{g.copy, filepath.Join(g.copy, binariesFolder, string(g.opt.Target))}
	var found []string
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && strings.EqualFold(filepath.Ext(e.Name()), ext) && (g.opt.Runtime == "" || e.Name() == g.opt.Runtime+ext) {
				found = append(found, filepath.Join(folder, e.Name()))
			}
		}
	}
	return g.only(found)
}

// within checks that the configured module is an existing file.
func (g *games) within(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return fmt.Errorf("the module that --ClientLibPath names: %w; push a working copy that has it", err)
	}
	return nil
}

// only returns the module of found, or an error if it is not unique.
func (g *games) only(found []string) (string, error) {
	wanted := "*" + g.opt.Target.LibraryExt()
	if g.opt.Runtime != "" {
		wanted = g.opt.Runtime + g.opt.Target.LibraryExt()
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("the working copy has no module: no %s in its root or in %s/%s; build one for this system and push it", wanted, binariesFolder, g.opt.Target)
	case len(found) > 1 && g.opt.Runtime == "":
		names := make([]string, len(found))
		for i, path := range found {
			names[i] = filepath.Base(path)
		}
		return "", fmt.Errorf("the working copy has %d modules: %s; say which one with --runtime-name at the device", len(found), strings.Join(names, ", "))
	}
	return found[0], nil
}

// writeConfig writes the description to the folder own.
func (g *games) writeConfig(text string) (path string, err error) {
	dir, err := platform.OpenDir(g.own)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return filepath.Join(g.own, gameConfigFile), platform.WriteHint(dir, gameConfigFile, []byte(text))
}

// run is device.Application: one run of a game.
type run struct {
	child *supervise.Child
	out   func(device.Line)
	log   zerolog.Logger
	ended chan struct{}
	trace bool // the child's Go runtime prints its goroutines; used by output only

	mu  sync.Mutex
	end wire.RunEnd
}

var _ device.Application = (*run)(nil)

// traceBegins is the first line of the Go runtime's goroutine dump after a module's crash: hundreds of lines about the host, of no use
// to the module's author. They are in the host's own log.
var traceBegins = regexp.MustCompile(`^goroutine \d+ .*\[.+\]:$`)

// output handles a line of the module's output. Calls don't overlap.
func (r *run) output(stream string, level zerolog.Level, line string) {
	if stream == supervise.StreamErr {
		if r.trace = r.trace || traceBegins.MatchString(line); r.trace {
			return
		}
	}
	r.out(device.Line{Time: time.Now(), Level: levelOf(level), Source: device.SourceGame, Text: line})
}

// levelOf maps a level to the protocol's.
func levelOf(level zerolog.Level) wire.LogLevel {
	switch {
	case level >= zerolog.ErrorLevel:
		return wire.LevelError
	case level == zerolog.WarnLevel:
		return wire.LevelWarning
	}
	return wire.LevelInfo
}

// say sends a message of the host to the controller, the window and the log.
func (r *run) say(level zerolog.Level, text string) {
	r.log.WithLevel(level).Msg(text)
	r.out(device.Line{Time: time.Now(), Level: levelOf(level), Source: device.SourceDevice, Text: text})
}

// bring waits for the module and starts the game. After an error no child is left.
func (r *run) bring(ctx context.Context, args []string) error {
	meta, err := r.child.Metadata(ctx)
	if err == nil {
		r.say(zerolog.InfoLevel, fmt.Sprintf("module %s, build %s, compatibility %s", meta.RuntimeName, meta.BuildHash, meta.CompatibilityVersion))
		err = r.child.Run(args)
	}
	if err != nil {
		r.child.Kill()
		<-r.child.Done()
		return fmt.Errorf("the game's module: %w", err)
	}
	return nil
}

// watch waits for the end of the run and records it. The device reports the end itself; a crash also gets a line of level error.
func (r *run) watch() {
	defer close(r.ended)
	exit := r.child.Exit()
	end, crash := endOf(exit)
	if crash != "" {
		r.say(zerolog.ErrorLevel, crash)
	}
	r.mu.Lock()
	r.end = end
	r.mu.Unlock()
}

// Exit codes of a run if the system's exit code says nothing about the game.
const (
	runWell    = 0
	runBadly   = 1  // it reported failure, or crashed
	runUnknown = -1 // it was killed from outside
)

// endOf describes how a run ended. crash is the message for a fatal error or a crash, else empty.
func endOf(exit supervise.Exit) (end wire.RunEnd, crash string) {
	after := " after " + exit.Ran.Round(time.Millisecond).String()
	end = wire.RunEnd{Exit: runBadly, Text: exit.String() + after}
	switch supervise.Classify(exit, exit.Ready, exit.Ran) {
	case supervise.CleanShutdown, supervise.Reload:
		end.Exit = runWell
	case supervise.Killed, supervise.Left:
		end.Exit = runUnknown
	case supervise.Unsuccessful:
	case supervise.Fatal:
		return end, "the game " + exit.String()
	default:
		return wire.RunEnd{Exit: runBadly, Text: "crashed" + after}, "the game crashed: it " + exit.String()
	}
	return end, ""
}

// Done implements device.Application.
func (r *run) Done() <-chan struct{} { return r.ended }

// End implements device.Application.
func (r *run) End() wire.RunEnd {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// Ask implements device.Application.
func (r *run) Ask() error {
	err := r.child.Stop()
	if errors.As(err, new(*supervise.ExitError)) || errors.As(err, new(*supervise.OrderError)) {
		return nil // it is ending, or has ended
	}
	return err
}

// Kill implements device.Application.
func (r *run) Kill() error {
	r.child.Kill()
	return nil
}
