package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"collet/build/remote"
	"collet/netproto/launcher/wire"
)

// Exit codes of collet remote beside those of every command.
const (
	exitNoDevice   = 3 // no device came in time
	exitNotStarted = 4 // everything is there, and the game did not start
	exitGame       = 5 // the game was followed, and crashed or said that it failed
)

// remoteCommand is `collet remote`.
type remoteCommand struct {
	Serve   remoteServeCommand   `cmd:"" help:"Serve a working copy to devices, and show them and their logs, until Ctrl-C."`
	Push    remotePushCommand    `cmd:"" help:"Make devices the same as the working copy; with --start, start the game there."`
	Watch   remoteWatchCommand   `cmd:"" help:"Push now and after every change, until Ctrl-C."`
	Start   remoteStartCommand   `cmd:"" help:"Start the game on devices and show its log."`
	Stop    remoteStopCommand    `cmd:"" help:"Stop the game: ask it to end, and end it by force if it does not."`
	Logs    remoteLogsCommand    `cmd:"" help:"Show what games on devices log."`
	Devices remoteDevicesCommand `cmd:"" help:"List the devices that are there, and those that may come."`
	Pair    remotePairCommand    `cmd:"" help:"Let a device in without being asked."`
	Unpair  remoteUnpairCommand  `cmd:"" help:"Let a device in no longer."`
}

// Help is what --help adds to the list of commands.
func (remoteCommand) Help() string {
	return `Puts a working copy of a game on test devices, starts it there and brings its log here. On a device:

  collet-client --remote-launcher DESK:3413 --name "Test box"      in a window; or with --headless

On the desk:

  collet remote push ./game --start        once: only what changed is sent
  collet remote watch ./game --restart     again after every change
  collet remote serve ./game               stay; push, start, stop, logs and devices then use it

Each device is asked about once, or paired before with collet remote pair. Without --network only devices on this machine can come.
docs/REMOTE.md is the five-minute walk-through.

Exit codes: 0 done, 1 something failed on a device or here, 2 wrong usage, 3 no device came in time, 4 everything is there and
the game did not start, 5 the game did not end well.`
}

// deskFlags say where the desk is. Embed it.
type deskFlags struct {
	Listen  string `group:"desk" env:"COLLET_REMOTE_LISTEN" default:"localhost:3413" placeholder:"ADDRESS" help:"Address that devices connect to: HOST[:PORT], or * for this machine's first address in the network (default: $$COLLET_REMOTE_LISTEN, or ${default})."`
	Network bool   `group:"desk" help:"Let --listen be an address that other machines reach."`
	State   string `group:"desk" env:"COLLET_REMOTE_STATE" placeholder:"DIR" help:"Folder of what the desk remembers: paired devices, hashes (default: $$COLLET_REMOTE_STATE, or one in the user's configuration)."`
	JSON    bool   `name:"json" group:"out" help:"Print one JSON object a line instead of text."`
	Verbose bool   `group:"out" help:"Print what the connections do to standard error."`
}

// copyFlags say what is served, where the command serves by itself. Embed it.
type copyFlags struct {
	Dialect      string   `group:"copy" default:"released" enum:"released,draft" placeholder:"DIALECT" help:"What devices speak that are not ours: released, or draft for programs from before the protocol's first release (default: ${default})."`
	Ignore       []string `group:"copy" sep:"none" placeholder:"PATTERN" help:"Leave out what fits this line in the form of .colletignore; may be given several times."`
	ReleasedOnly bool     `group:"copy" help:"Speak to our own devices as to those of others."`
}

// targetFlags say which devices are meant. Embed it.
type targetFlags struct {
	Device []string      `group:"target" sep:"none" placeholder:"NAME" help:"This device only; may be given several times (default: all that are there)."`
	Count  int           `group:"target" placeholder:"N" help:"Wait until there are so many devices."`
	Wait   time.Duration `group:"target" default:"30s" placeholder:"TIME" help:"How long to wait for devices (default: ${default})."`
}

// gameFlags say how the game is started. Embed it.
type gameFlags struct {
	Game    string `group:"game" type:"existingfile" placeholder:"FILE" help:"Description of the game, a .degame file (default: the one in the working copy, or one made for it)."`
	Profile string `group:"game" placeholder:"NAME" help:"Profile of the device to start it with (default: the device's own choice)."`
	Args    string `group:"game" placeholder:"TEXT" help:"Command line arguments of the game, behind those of the profile."`
}

// launch makes what a request carries of it.
func (f gameFlags) launch() (*remote.Launch, error) {
	l := &remote.Launch{Profile: f.Profile, Arguments: f.Args}
	if f.Game == "" {
		return l, nil
	}
	text, _, err := remote.GameConfig("", f.Game)
	if err != nil {
		return nil, usageError{err}
	}
	l.Config = text
	return l, nil
}

// request begins a request for the devices that are meant.
func (f targetFlags) request(do remote.Verb) remote.Request {
	return remote.Request{Do: do, Devices: f.Device, AtLeast: f.Count, Wait: f.Wait}
}

// remotePushCommand is `collet remote push`.
type remotePushCommand struct {
	Dir string `arg:"" optional:"" type:"existingdir" help:"The working copy (default: that of a running collet remote serve)."`
	targetFlags
	gameFlags
	Start         bool `group:"game" help:"Start the game afterwards and show its log until it has ended. Ctrl-C stops the game."`
	Detach        bool `group:"game" help:"With --start: return when the game runs, and leave it running."`
	LeaveRunning  bool `group:"game" help:"With --start: Ctrl-C ends only the showing of the log."`
	DeleteIgnored bool `group:"copy" help:"Remove from devices what is ignored here. Otherwise it stays: games keep saves there."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (remotePushCommand) Help() string {
	return `Compares the working copy with what each device has and sends the blocks that differ. Ctrl-C, a lost network and
a power cut leave each file on our devices old or new; other launchers write in place, and files that were under way there can be
broken until the next push, which goes on from there and writes them again. What stands in .colletignore is left out.

Ctrl-C after --start asks the game to end, and says whether it did; if so, the exit code is 0. A second Ctrl-C ends this command at once; the game then
goes on, and the device's window has a button for it.`
}

// Run pushes.
func (p remotePushCommand) Run(ctx context.Context, c console) error {
	if (p.Detach || p.LeaveRunning) && !p.Start {
		return usageError{errors.New("--detach and --leave-running go with --start")}
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
	return p.do(ctx, c, p.copyFlags, p.Dir, r)
}

// remoteWatchCommand is `collet remote watch`.
type remoteWatchCommand struct {
	Dir string `arg:"" optional:"" type:"existingdir" help:"The working copy (default: that of a running collet remote serve)."`
	targetFlags
	gameFlags
	Start         bool `group:"game" help:"Start the game after the first push."`
	Restart       bool `group:"game" help:"Start the game after every push; one that runs is stopped first."`
	LeaveRunning  bool `group:"game" help:"Ctrl-C leaves the game running."`
	DeleteIgnored bool `group:"copy" help:"Remove from devices what is ignored here."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (remoteWatchCommand) Help() string {
	return `Pushes at once, and again when nothing has changed for a quarter of a second after a change. A push that fails is told, and the
next change tries again. Ctrl-C is its orderly end: a game that it started is stopped, unless --leave-running is given.`
}

// Run watches.
func (w remoteWatchCommand) Run(ctx context.Context, c console) error {
	r := w.request(remote.VerbWatch)
	r.DeleteIgnored = w.DeleteIgnored
	if w.Start || w.Restart {
		launch, err := w.launch()
		if err != nil {
			return err
		}
		r.Launch, r.Restart, r.StopAtEnd = launch, w.Restart, !w.LeaveRunning
	}
	return w.do(ctx, c, w.copyFlags, w.Dir, r)
}

// remoteStartCommand is `collet remote start`.
type remoteStartCommand struct {
	Dir string `arg:"" optional:"" type:"existingdir" help:"The working copy, where no collet remote serve runs (default: this folder)."`
	targetFlags
	gameFlags
	Restart      bool `group:"game" help:"Stop a game that runs there first."`
	Detach       bool `group:"game" help:"Return when the game runs, and leave it running."`
	LeaveRunning bool `group:"game" help:"Ctrl-C ends only the showing of the log."`
	copyFlags
	deskFlags
}

// Run starts the game.
func (s remoteStartCommand) Run(ctx context.Context, c console) error {
	r := s.request(remote.VerbStart)
	launch, err := s.launch()
	if err != nil {
		return err
	}
	r.Launch, r.Restart, r.Follow, r.StopAtEnd = launch, s.Restart, !s.Detach, !s.Detach && !s.LeaveRunning
	return s.do(ctx, c, s.copyFlags, s.Dir, r)
}

// remoteStopCommand is `collet remote stop`.
type remoteStopCommand struct {
	targetFlags
	Force bool `group:"game" help:"End it at once, without asking it first."`
	copyFlags
	deskFlags
}

// Run stops the game.
func (s remoteStopCommand) Run(ctx context.Context, c console) error {
	r := s.request(remote.VerbStop)
	r.Force = s.Force
	return s.do(ctx, c, s.copyFlags, "", r)
}

// remoteLogsCommand is `collet remote logs`.
type remoteLogsCommand struct {
	targetFlags
	Follow bool `group:"out" short:"f" help:"Go on with what comes, until Ctrl-C."`
	Tail   int  `group:"out" default:"200" placeholder:"N" help:"So many lines of each device from before, where a collet remote serve runs (default: ${default})."`
	copyFlags
	deskFlags
}

// Run shows logs.
func (l remoteLogsCommand) Run(ctx context.Context, c console) error {
	r := l.request(remote.VerbLogs)
	r.Follow, r.Tail = l.Follow, l.Tail
	return l.do(ctx, c, l.copyFlags, "", r)
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
	if !isTerminal(os.Stdin) {
		return nil
	}
	in, errIn := os.Stdin.Stat()
	none, errNone := os.Stat(os.DevNull) // a character device as a terminal is, and nobody sits at it
	if errIn == nil && errNone == nil && os.SameFile(in, none) {
		return nil
	}
	return os.Stdin
}
