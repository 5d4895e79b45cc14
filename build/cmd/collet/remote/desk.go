package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strings"

	"github.com/rs/zerolog"

	"collet/build/cmd/collet/console"
	"collet/build/remote"
)

// perform does a request with the desk that runs, or else with one of its own that serves dir, and shows what happens.
func (f deskFlags) perform(ctx context.Context, c console.Console, copy copyFlags, dir string, r remote.Request) error {
	home, err := remote.OpenHome(f.State)
	if err != nil {
		return err
	}
	if r.Root, err = absolute(dir); err != nil {
		return err
	}
	show := newShow(c, f.JSON)
	doer, closer, err := f.findDesk(c, home, copy, r, show)
	if err != nil {
		return show.finish(err)
	}
	err = doer.Do(ctx, r, show.event)
	if r.Do == remote.VerbWatch || r.Do == remote.VerbLogs {
		err = orderly(ctx, err)
	}
	show.rest()
	return show.finish(errors.Join(err, closer()))
}

// findDesk finds the desk that runs, or opens one.
func (f deskFlags) findDesk(c console.Console, home remote.Home, copy copyFlags, r remote.Request, show *show) (remote.Doer, func() error, error) {
	socket, err := home.Socket(f.Listen)
	if err != nil {
		return nil, nil, err
	}
	line, err := remote.Dial(socket, f.Listen)
	if err == nil {
		return line, func() error { return nil }, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	root := r.Root
	switch {
	case root == "" && (r.Do == remote.VerbPush || r.Do == remote.VerbWatch):
		return nil, nil, console.Usage(fmt.Errorf("no desk serves %s: name the working copy, or start collet remote serve DIR", f.Listen))
	case root == "":
		root = "."
	}
	station, err := f.openStation(c, home, copy, root, show, true)
	if err != nil {
		return nil, nil, err
	}
	return station, station.Close, nil
}

// openStation opens a desk in this process.
func (f deskFlags) openStation(c console.Console, home remote.Home, copy copyFlags, root string, show *show, own bool) (*remote.Station, error) {
	o := remote.Options{
		Root: root, Home: home, Address: f.Listen, Network: f.Network, Own: own, Dialect: copy.dialect(),
		ReleasedOnly: copy.ReleasedOnly, Ignore: copy.Ignore, Note: show.printNote, Log: zerolog.Nop(),
	}
	if f.Verbose {
		o.Log = zerolog.New(zerolog.ConsoleWriter{Out: c.Err, NoColor: true, TimeFormat: "15:04:05.000"}).With().Timestamp().Logger()
	}
	if in := terminalInput(); in != nil && !f.JSON {
		o.Ask = (&gatekeeper{in: in, show: show}).confirmDevice
	}
	return remote.Open(o)
}

// gatekeeper answers questions at the terminal. One goroutine, which ends with the process because nothing else ends a read of a
// terminal, reads lines; it begins with the first question.
type gatekeeper struct {
	in    io.Reader
	show  *show
	lines chan string // nil before the first question
}

// confirmDevice asks whether a device may come in. Only a clear yes is one. It is called for one device at a time.
func (p *gatekeeper) confirmDevice(ctx context.Context, name string, address netip.Addr) bool {
	if p.lines == nil {
		p.lines = make(chan string)
		go func() {
			defer close(p.lines)
			for lines := bufio.NewScanner(p.in); lines.Scan(); {
				p.lines <- lines.Text()
			}
		}()
	}
	p.show.printNote(fmt.Sprintf("A device that was never here wants in: %q at %s. It could read the whole working copy.", name, address))
	p.show.printNote("Is it yours? Type yes to let it in, now and from now on; anything else turns it away.")
	select {
	case line, open := <-p.lines:
		if !open {
			p.show.printNote("no more answers are read from this terminal")
		}
		return strings.EqualFold(strings.TrimSpace(line), "yes")
	case <-ctx.Done():
		p.show.printNote(fmt.Sprintf("%q waits no longer for an answer", name))
		return false
	}
}

// codeOf is the exit code of a failed request.
func codeOf(err error) int {
	var f *remote.Failure
	var usage console.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return console.ExitUsage
	case !errors.As(err, &f):
		return console.ExitFailed
	}
	switch f.Fault {
	case remote.FaultUsage:
		return console.ExitUsage
	case remote.FaultNoDevice:
		return exitNoDevice
	case remote.FaultNotStarted:
		return exitNotStarted
	case remote.FaultGame:
		return exitGame
	}
	return console.ExitFailed
}

// serveCommand is `collet remote serve`.
type serveCommand struct {
	Dir string `arg:"" type:"existingdir" help:"The working copy."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (serveCommand) Help() string {
	return `Devices stay connected. The commands push, watch, start, stop, logs and devices find this desk by --listen and --state and
use it: they need not wait for devices to connect, and hashes are cached. Events of devices and logs of games are printed here.

Ctrl-C ends the connections. Games keep running on the devices; use collet remote stop first to stop them.

  collet remote serve ./game --listen 192.168.1.20 --network`
}

// Run serves.
func (s serveCommand) Run(ctx context.Context, c console.Console) error {
	home, err := remote.OpenHome(s.State)
	if err != nil {
		return err
	}
	socket, err := home.Socket(s.Listen)
	if err != nil {
		return err
	}
	root, err := absolute(s.Dir)
	if err != nil {
		return err
	}
	show := newShow(c, s.JSON)
	station, err := s.openStation(c, home, s.copyFlags, root, show, false)
	if err != nil {
		return show.finish(err)
	}
	err = attend(ctx, station, socket, show)
	show.rest()
	return show.finish(errors.Join(orderly(ctx, err), station.Close()))
}

// attend serves the control socket and shows what happens, until ctx ends.
func attend(ctx context.Context, station *remote.Station, socket string, show *show) error {
	control, err := station.ListenControl(socket)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		defer cancel() // a desk that can't be reached is none
		served <- control.Serve(ctx)
	}()
	err = station.Do(ctx, remote.Request{Do: remote.VerbLogs, Follow: true}, show.event)
	cancel()
	return errors.Join(<-served, control.Close(), err)
}
