// Package device runs this program as a device of a remote launcher (collet remote). It receives the working copy of a developer's
// controller (the desk), runs the module in it on request of the controller or of the user at the device, and sends the controller
// the log.
//
// All files are in one folder of Options.Data: the working copy, which the controller manages, and beside it the description of the
// game and the files that the game writes (docs/REMOTE.md, "On the device"). The game runs in a child of this program, in the role
// runtime, so a crash of the module does not affect the device. Run shows the device in a window, or prints its status, until the
// window is closed or its context ends.
//
// A controller that reaches a device replaces and starts programs on it. The package does not restrict that: its caller has to make
// sure that this program was not built for players.
package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/app/splash"
	"collet/assets"
	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
	"collet/netproto/product"
	"collet/platform"
)

const (
	folder     = "Remote" // in Options.Data
	copyFolder = "copy"   // the working copy
	ownFolder  = "own"    // the description of the game, and the game's working folder
)

// Exit codes of a device that could not run. A device that ends on request has 0.
const (
	exitNoWindow = 2  // as for an invalid command line: --headless is needed
	exitDisk     = 28 // as update.DiskFault
	exitRunning  = 31 // as update.AlreadyRunning
)

// Options are the identity of the device and what runs on it.
type Options struct {
	Desk     string // address of the controller, HOST[:PORT]
	Name     string // name of this device at the controller; empty: the name of this machine
	Dialect  string // of a controller that is not ours: the name of a wire.Dialect
	Headless bool   // print the status instead of showing a window
	JSON     bool   // with Headless: one JSON object a line
	Data     string // absolute path of the folder for everything that is written

	Exe      string // absolute path of this program
	Module   string // the module to run: absolute, or a path in the working copy; empty: found by Runtime
	Runtime  string // base name of the module; empty: the only module of the working copy
	Target   product.Target
	Packs    string            // folder of the packs in the working copy
	Args     []string          // of the game, before those of profile and controller
	Profiles settings.Profiles // that the controller can choose from

	Texts assets.Texts
	Log   zerolog.Logger
}

// session is the state of one Run.
type session struct {
	*device.Device
	opt  Options
	copy string
	own  string
}

// Run runs a device until it ends, and returns the exit code. The reason for a code other than 0 is on stderr.
func Run(ctx context.Context, opt Options, stdout, stderr io.Writer) int {
	d, err := open(opt)
	if err != nil {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
		if errors.Is(err, device.ErrInUse) {
			return exitRunning
		}
		return exitDisk
	}
	code := d.serve(ctx, stdout, stderr)
	if err := d.Close(); err != nil {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
	}
	return code
}

// open opens the folders. The error for an unusable folder names the remedy.
func open(opt Options) (*session, error) {
	opt.Name = cmp.Or(opt.Name, hostName())
	d := &session{opt: opt, copy: filepath.Join(opt.Data, folder, copyFolder), own: filepath.Join(opt.Data, folder, ownFolder)}
	for _, made := range []string{d.copy, d.own} {
		if err := platform.MakeWritable(made); err != nil {
			return nil, fmt.Errorf("folder for the working copy: %w; name another one with --dir", err)
		}
	}
	dialect, err := wire.ParseDialect(opt.Dialect)
	if err != nil {
		return nil, err
	}
	d.Device, err = device.New(device.Options{
		Root: d.copy, Name: opt.Name, Dialect: dialect, Launcher: &games{opt: opt, copy: d.copy, own: d.own}, Log: opt.Log,
	})
	return d, err
}

// hostName is the default name of a device: that of the machine.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "device"
	}
	return name
}

// serve connects to the controller and shows the status until ctx ends or the window is closed.
func (d *session) serve(ctx context.Context, stdout, stderr io.Writer) int {
	d.opt.Log.Info().Str("desk", d.opt.Desk).Str("name", d.opt.Name).Str("folder", d.copy).Msg("device of a remote launcher")
	run := func(ctx context.Context) {
		if err := d.Run(ctx, device.DialDesk(d.opt.Desk, den.Options{Log: d.opt.Log})); err != nil && ctx.Err() == nil {
			d.opt.Log.Error().Err(err).Msg("the device ended")
		}
	}
	if d.opt.Headless {
		d.inTerminal(ctx, stdout, run)
		return 0
	}
	if err := d.inWindow(ctx, run); err != nil {
		fmt.Fprintf(stderr, "collet-client: open a window: %v\nStart it with --headless to be a device without one.\n", err)
		return exitNoWindow
	}
	return 0
}

// inWindow shows the device in a window until it is closed, or ctx ends.
func (d *session) inWindow(ctx context.Context, run func(context.Context)) error {
	opt := splash.RemoteOptions{
		Title: d.opt.Texts.Get("remote.title", "name", d.opt.Name), Texts: d.opt.Texts, Watcher: &watcher{device: d, now: time.Now},
		Actions: splash.RemoteActions{Start: d.startByHand, Stop: d.Stop, Force: d.Kill, Quit: func() {}},
	}
	return splash.RunRemote(opt, func(closed context.Context) {
		joined, cancel := context.WithCancel(closed)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)() // Ctrl-C works like closing the window
		run(joined)
	})
}

// startByHand starts the game with the request of its last start, or with the controller's last description. An error is in the log
// that the window shows.
func (d *session) startByHand() {
	r, known := d.LastStart()
	if !known {
		r.GameConfig = d.lastConfig()
	}
	if err := d.Device.Start(r); err != nil {
		d.opt.Log.Warn().Err(err).Msg("manual start failed")
	}
}

// lastConfig is the description from the last run of an earlier process; empty without one.
func (d *session) lastConfig() string {
	dir, err := platform.OpenDir(d.own)
	if err != nil {
		return ""
	}
	defer dir.Close()
	text, err := platform.ReadFile(dir, gameConfigFile, wire.MaxText)
	if err != nil {
		return "" // no run before this one
	}
	return string(text)
}
