// Package remote is `collet remote`: the commands that copy a working copy of a game to test devices, start it there, and print its log. Each
// serves a desk or speaks to one that runs, and prints its events as lines or JSON. What a desk does is in build/remote.
package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/remote"
	"collet/netproto/launcher/wire"
	"collet/platform"
)

// Exit codes of collet remote beside those of every command.
const (
	exitNoDevice   = 3 // no device came in time
	exitNotStarted = 4 // everything is there, and the game did not start
	exitGame       = 5 // the game was followed, and crashed or said that it failed
)

// Command is `collet remote`.
type Command struct {
	Serve   serveCommand   `cmd:"" help:"Keep devices connected to a working copy, and print their events and logs, until Ctrl-C."`
	Push    pushCommand    `cmd:"" help:"Copy the working copy to devices; with --start, start the game there."`
	Watch   watchCommand   `cmd:"" help:"Push now and after every change, until Ctrl-C."`
	Start   startCommand   `cmd:"" help:"Start the game on devices and show its log."`
	Stop    stopCommand    `cmd:"" help:"Ask the game to end; kill it if it does not."`
	Logs    logsCommand    `cmd:"" help:"Print the logs of games on devices."`
	Devices devicesCommand `cmd:"" help:"List connected and paired devices."`
	Pair    pairCommand    `cmd:"" help:"Admit a device in advance, without a question."`
	Unpair  unpairCommand  `cmd:"" help:"Remove a device from the paired devices."`
}

// Help is what --help adds to the list of commands.
func (Command) Help() string {
	return `Copies a working copy of a game to test devices, starts it there, and prints its log here. On a device:

  collet-client --remote-launcher DESK:3413 --name "Test box"      in a window; or with --headless

On the desk:

  collet remote push ./game --start        push once: sends only changes
  collet remote watch ./game --restart     push again after every change
  collet remote serve ./game               keep devices connected; push, start, stop, logs and devices then use it

The first connection of each device has to be confirmed here, unless it was paired with collet remote pair. Without --network
only devices on this machine can connect. docs/REMOTE.md is a walk-through of five minutes.

Exit codes: 0 done, 1 something failed on a device or here, 2 wrong usage, 3 no device connected in time, 4 the files were
pushed but the game did not start, 5 the game failed.`
}

// deskFlags say where the desk is. Embed it.
type deskFlags struct {
	Listen  string `group:"desk" env:"COLLET_REMOTE_LISTEN" default:"localhost:3413" placeholder:"ADDRESS" help:"Address that devices connect to: HOST[:PORT], or * for this machine's first address in the network (default: $$COLLET_REMOTE_LISTEN, or ${default})."`
	Network bool   `group:"desk" help:"Allow --listen to be an address that other machines can reach."`
	State   string `group:"desk" env:"COLLET_REMOTE_STATE" placeholder:"DIR" help:"Folder of what the desk remembers: paired devices, hashes (default: $$COLLET_REMOTE_STATE, or one in the user's configuration)."`
	JSON    bool   `name:"json" group:"out" help:"Print one JSON object a line instead of text."`
	Verbose bool   `group:"out" help:"Log connections to standard error."`
}

// copyFlags say what is served, where the command serves by itself. Embed it.
type copyFlags struct {
	Dialect      string   `group:"copy" default:"released" enum:"released,draft" placeholder:"DIALECT" help:"Protocol of other vendors' launchers: released, or draft for programs older than the protocol's first release (default: ${default})."`
	Ignore       []string `group:"copy" sep:"none" placeholder:"PATTERN" help:"Ignore files that match this pattern, as in .colletignore; may be repeated."`
	ReleasedOnly bool     `group:"copy" help:"Use the released protocol with Collet's own devices, too."`
}

// targetFlags say which devices are meant. Embed it.
type targetFlags struct {
	Device []string      `group:"target" sep:"none" placeholder:"NAME" help:"Only this device; may be repeated (default: all connected devices)."`
	Count  int           `group:"target" placeholder:"N" help:"Wait until this many devices are connected."`
	Wait   time.Duration `group:"target" default:"30s" placeholder:"TIME" help:"How long to wait for devices (default: ${default})."`
}

// gameFlags say how the game is started. Embed it.
type gameFlags struct {
	Game    string `group:"game" type:"existingfile" placeholder:"FILE" help:"Description of the game, a .degame file (default: the one in the working copy, or a generated one)."`
	Profile string `group:"game" placeholder:"NAME" help:"Launch profile (default: the device chooses)."`
	Args    string `group:"game" placeholder:"TEXT" help:"Command line arguments of the game, after those of the profile."`
}

// launch makes what a request carries of it.
func (f gameFlags) launch() (*remote.Launch, error) {
	l := &remote.Launch{Profile: f.Profile, Arguments: f.Args}
	if f.Game == "" {
		return l, nil
	}
	text, _, err := remote.GameConfig("", f.Game)
	if err != nil {
		return nil, console.Usage(err)
	}
	l.Config = text
	return l, nil
}

// request begins a request for the devices that are meant.
func (f targetFlags) request(do remote.Verb) remote.Request {
	return remote.Request{Do: do, Devices: f.Device, AtLeast: f.Count, Wait: f.Wait}
}

// pushCommand is `collet remote push`.
type pushCommand struct {
	Dir string `arg:"" optional:"" type:"existingdir" help:"The working copy (default: that of a running collet remote serve)."`
	targetFlags
	gameFlags
	Start         bool `group:"game" help:"Then start the game and print its log until it ends. Ctrl-C stops the game."`
	Detach        bool `group:"game" help:"With --start: return as soon as the game runs, and leave it running."`
	LeaveRunning  bool `group:"game" help:"With --start: Ctrl-C stops only the log, not the game."`
	DeleteIgnored bool `group:"copy" help:"Delete ignored files on devices, too. By default they stay, because they may be saved games."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (pushCommand) Help() string {
	return `Compares the working copy with each device and sends the blocks that differ. Files that .colletignore matches are not sent.
After Ctrl-C, a lost network or a power cut each file on Collet's own devices is old or new. Other launchers write in place:
a file that was being written can be broken until the next push, which repairs it.

With --start, Ctrl-C asks the game to end and prints whether it did; if it did, the exit code is 0. A second Ctrl-C ends this
command at once. The game then keeps running, and the device's window has a button to stop it.

  collet remote push ./game --start
  collet remote push ./game --device "Test box"`
}

// Run pushes.
func (p pushCommand) Run(ctx context.Context, c console.Console) error {
	if (p.Detach || p.LeaveRunning) && !p.Start {
		return console.Usage(errors.New("--detach and --leave-running go with --start"))
	}
	r := p.request(remote.VerbPush)
	r.DeleteIgnored = p.DeleteIgnored
	if p.Start {
		launch, err := p.launch()
		if err != nil {
			return err
		}
		r.Launch, r.Restart, r.Follow, r.StopAtEnd = launch, true, !p.Detach, !p.Detach && !p.LeaveRunning
	}
	return p.perform(ctx, c, p.copyFlags, p.Dir, r)
}

// watchCommand is `collet remote watch`.
type watchCommand struct {
	Dir string `arg:"" optional:"" type:"existingdir" help:"The working copy (default: that of a running collet remote serve)."`
	targetFlags
	gameFlags
	Start         bool `group:"game" help:"Start the game after the first push."`
	Restart       bool `group:"game" help:"Start the game after every push; a running game is stopped first."`
	LeaveRunning  bool `group:"game" help:"Ctrl-C leaves the game running."`
	DeleteIgnored bool `group:"copy" help:"Delete ignored files on devices, too."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (watchCommand) Help() string {
	return `Pushes at once, and then a quarter of a second after the last of several changes. A failed push is printed, and the next
change tries again. Ctrl-C ends the command; a game that it started is stopped, unless --leave-running is given.

  collet remote watch ./game --restart`
}

// Run watches.
func (w watchCommand) Run(ctx context.Context, c console.Console) error {
	r := w.request(remote.VerbWatch)
	r.DeleteIgnored = w.DeleteIgnored
	if w.Start || w.Restart {
		launch, err := w.launch()
		if err != nil {
			return err
		}
		r.Launch, r.Restart, r.StopAtEnd = launch, w.Restart, !w.LeaveRunning
	}
	return w.perform(ctx, c, w.copyFlags, w.Dir, r)
}

// startCommand is `collet remote start`.
type startCommand struct {
	Dir string `arg:"" optional:"" type:"existingdir" help:"The working copy, if collet remote serve does not run (default: this folder)."`
	targetFlags
	gameFlags
	Restart      bool `group:"game" help:"Stop a running game first."`
	Detach       bool `group:"game" help:"Return as soon as the game runs, and leave it running."`
	LeaveRunning bool `group:"game" help:"Ctrl-C stops only the log, not the game."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (startCommand) Help() string {
	return `  collet remote start --device "Test box"
  collet remote start ./game --args="--windowed --mute"`
}

// Run starts the game.
func (s startCommand) Run(ctx context.Context, c console.Console) error {
	r := s.request(remote.VerbStart)
	launch, err := s.launch()
	if err != nil {
		return err
	}
	r.Launch, r.Restart, r.Follow, r.StopAtEnd = launch, s.Restart, !s.Detach, !s.Detach && !s.LeaveRunning
	return s.perform(ctx, c, s.copyFlags, s.Dir, r)
}

// stopCommand is `collet remote stop`.
type stopCommand struct {
	targetFlags
	Force bool `group:"game" help:"Kill the game at once."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (stopCommand) Help() string {
	return `  collet remote stop
  collet remote stop --device "Test box"`
}

// Run stops the game.
func (s stopCommand) Run(ctx context.Context, c console.Console) error {
	r := s.request(remote.VerbStop)
	r.Force = s.Force
	return s.perform(ctx, c, s.copyFlags, "", r)
}

// logsCommand is `collet remote logs`.
type logsCommand struct {
	targetFlags
	Follow bool `group:"out" short:"f" help:"Continue with new lines until Ctrl-C."`
	Tail   int  `group:"out" default:"200" placeholder:"N" help:"Number of earlier lines of each device, if collet remote serve runs (default: ${default})."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (logsCommand) Help() string {
	return `  collet remote logs --tail 50`
}

// Run shows logs.
func (l logsCommand) Run(ctx context.Context, c console.Console) error {
	r := l.request(remote.VerbLogs)
	r.Follow, r.Tail = l.Follow, l.Tail
	return l.perform(ctx, c, l.copyFlags, "", r)
}

// orderly is the end of what goes on until Ctrl-C: being interrupted is no failure.
func orderly(ctx context.Context, err error) error {
	var f *remote.Failure
	if ctx.Err() != nil && errors.As(err, &f) && f.Fault == remote.FaultCancelled {
		return nil
	}
	return err
}

// dialect is --dialect, which the parser has checked.
func (f copyFlags) dialect() wire.Dialect {
	d, err := wire.ParseDialect(f.Dialect)
	if err != nil {
		return wire.Released
	}
	return d
}

// absolute makes a folder that was named absolute; an empty one stays.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return "", fmt.Errorf("working copy: %w", err)
	}
	return full, nil
}

// terminalInput is standard input where a person sits at it, else nil.
func terminalInput() *os.File {
	if !platform.IsTerminal(os.Stdin) {
		return nil
	}
	return os.Stdin
}
