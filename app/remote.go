package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"collet/app/splash"
	"collet/assets"
	"collet/netproto/den"
	"collet/netproto/launcher"
	"collet/platform"
)

// A device of a remote launcher keeps everything in one folder of the writable root: the working copy, which belongs to its
// desk, and beside it what is the device's and the game's own. docs/REMOTE.md, "On the device".
const (
	remoteFolder = "Remote"
	remoteCopy   = "copy" // the working copy
	remoteOwn    = "own"  // the description of the game, and the game's working folder
)

// Exit codes of a device. It ends with 0 when it is told to end.
const (
	exitRemoteDisk    = 28 // as update.DiskFault
	exitRemoteRunning = 31 // as update.AlreadyRunning
	exitRemoteRefused = exitUsage
)

// device is this program as a device of a remote launcher.
type device struct {
	*launcher.Device
	host    *host
	address string // of the desk
	name    string
	copy    string
	own     string
}

// remote is the whole client as a device. Its result is the exit code.
func (h *host) remote(ctx context.Context, stdout, stderr io.Writer) int {
	if why := h.noDevice(); why != "" {
		fmt.Fprintf(stderr, "collet-client: %s\n", why)
		return exitRemoteRefused
	}
	d, err := h.newDevice()
	if err != nil {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
		if errors.Is(err, launcher.ErrInUse) {
			return exitRemoteRunning
		}
		return exitRemoteDisk
	}
	code := d.serve(ctx, stdout, stderr)
	if err := d.Close(); err != nil {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
	}
	return code
}

// noDevice says why a player's program takes no working copies: whoever reaches a device replaces and starts programs on it.
func (h *host) noDevice() string {
	for _, folder := range []string{h.folder, filepath.Dir(h.exe)} {
		if isMarked(folder) {
			return h.texts.Get("remote.refused.installed", "path", folder)
		}
	}
	if h.packed.on() || len(assets.TrustedRoot()) > 0 {
		return h.texts.Get("remote.refused.packaged")
	}
	return ""
}

// newDevice opens the folder. What is in the way is an error that says what to do.
func (h *host) newDevice() (*device, error) {
	folder := filepath.Join(h.roots.data, remoteFolder)
	d := &device{
		host: h, address: h.flags.RemoteLauncher, name: cmp.Or(h.flags.DeviceName, hostName()),
		copy: filepath.Join(folder, remoteCopy), own: filepath.Join(folder, remoteOwn),
	}
	for _, made := range []string{d.copy, d.own} {
		if err := claim(made); err != nil {
			return nil, fmt.Errorf("folder for the working copy: %w; name another one with --dir", err)
		}
	}
	dialect, err := launcher.ParseDialect(h.flags.Dialect)
	if err != nil {
		return nil, err
	}
	games := &remoteGames{
		exe: h.exe, copy: d.copy, own: d.own, module: h.flags.ClientLibPath, base: h.flags.RuntimeName, target: h.target,
		packs: h.settings.Baking.ClientResources, args: h.flags.Args, profiles: h.settings.Remote, log: h.log,
	}
	d.Device, err = launcher.NewDevice(launcher.DeviceOptions{Root: d.copy, Name: d.name, Dialect: dialect, Launcher: games, Log: h.log})
	return d, err
}

// hostName is what a device is called that nobody named.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "device"
	}
	return name
}

// serve follows the desk until it is told to end, and shows what happens.
func (d *device) serve(ctx context.Context, stdout, stderr io.Writer) int {
	d.host.log.Info().Str("desk", d.address).Str("name", d.name).Str("folder", d.copy).Msg("device of a remote launcher")
	run := func(ctx context.Context) {
		if err := d.Run(ctx, launcher.DialDesk(d.address, den.Options{Log: d.host.log})); err != nil && ctx.Err() == nil {
			d.host.log.Error().Err(err).Msg("the device ended")
		}
	}
	if d.host.flags.Headless {
		d.onPaper(ctx, stdout, run)
		return 0
	}
	if err := d.inWindow(ctx, run); err != nil {
		fmt.Fprintf(stderr, "collet-client: open a window: %v\nStart it with --headless to be a device without one.\n", err)
		return exitUsage
	}
	return 0
}

// inWindow shows the device in a window until it is closed, or ctx ends.
func (d *device) inWindow(ctx context.Context, run func(context.Context)) error {
	d.host.adoptWindowLog()
	opt := splash.RemoteOptions{
		Title: d.host.texts.Get("remote.title", "name", d.name), Texts: d.host.texts, Watcher: &deviceWatcher{device: d, now: time.Now},
		Actions: splash.RemoteActions{Start: d.startByHand, Stop: d.Stop, Force: d.Kill, Quit: func() {}},
	}
	return splash.RunRemote(opt, func(closed context.Context) {
		joined, cancel := context.WithCancel(closed)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)() // Ctrl-C and a closed window are the same wish
		run(joined)
	})
}

// startByHand starts the game as it was started last, or with the description that the desk sent last. Why it can't be started is
// in the log that the window shows.
func (d *device) startByHand() {
	r, known := d.LastStart()
	if !known {
		r.GameConfig = d.lastConfig()
	}
	if err := d.Device.Start(r); err != nil {
		d.host.log.Warn().Err(err).Msg("not started by hand")
	}
}

// lastConfig is the description that was written for the last run of an earlier process.
func (d *device) lastConfig() string {
	dir, err := platform.OpenDir(d.own)
	if err != nil {
		return ""
	}
	defer dir.Close()
	text, err := platform.ReadFile(dir, gameConfigFile, launcher.MaxText)
	if err != nil {
		return "" // there was none
	}
	return string(text)
}
