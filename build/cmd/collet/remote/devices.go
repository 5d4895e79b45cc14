package remote

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/remote"
)

// devicesCommand is `collet remote devices`.
type devicesCommand struct {
	Wait   time.Duration `group:"target" default:"3s" placeholder:"TIME" help:"How long to wait for the first device if collet remote serve does not run (default: ${default})."`
	Follow bool          `group:"out" short:"f" help:"Continue with changes until Ctrl-C."`
	copyFlags
	deskFlags
}

// Help is what --help adds to the flags.
func (devicesCommand) Help() string {
	return `  collet remote devices --json`
}

// Run lists devices.
func (d devicesCommand) Run(ctx context.Context, c console.Console) error {
	home, err := remote.OpenHome(d.State)
	if err != nil {
		return err
	}
	show := newShow(c, d.JSON)
	r := remote.Request{Do: remote.VerbDevices, Follow: d.Follow}
	doer, closer, err := d.findDesk(c, home, d.copyFlags, r, show)
	if err != nil {
		return show.finish(err)
	}
	var there []remote.Device
	emit := show.event
	if !d.Follow {
		if _, own := doer.(*remote.Station); own {
			r.Wait = d.Wait
		}
		emit = func(e remote.Event) {
			if e.Info != nil {
				there = append(there, *e.Info)
			}
		}
	}
	err = orderly(ctx, doer.Do(ctx, r, emit))
	show.rest()
	if closed := closer(); err == nil {
		err = closed
	}
	if err != nil && codeOf(err) != exitNoDevice || d.Follow {
		return show.finish(err)
	}
	pairs, err := remote.OpenPairs(home.Pairs()).List()
	if err != nil {
		return err
	}
	return d.print(c, there, pairs)
}

// print prints both lists.
func (d devicesCommand) print(c console.Console, there []remote.Device, pairs []remote.Pair) error {
	if d.JSON {
		return console.PrintJSON(c.Out, struct {
			Devices []remote.Device `json:"devices"`
			Paired  []remote.Pair   `json:"paired"`
		}{append([]remote.Device{}, there...), append([]remote.Pair{}, pairs...)})
	}
	if len(there) == 0 {
		fmt.Fprintln(c.Out, "No device is there. On a device: collet-client --remote-launcher ADDRESS --name NAME")
	}
	table := console.NewTable(c.Out)
	if len(there) > 0 {
		fmt.Fprintln(table, "DEVICE\tSTATE\tGAME\tPROFILES")
	}
	for _, t := range there {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", console.Clean(t.ID), stateText(t), gameText(t), profilesText(t))
	}
	if len(pairs) > 0 {
		fmt.Fprintln(table, "PAIRED\tADDRESS\tSINCE\t")
	}
	for _, p := range pairs {
		fmt.Fprintf(table, "%s\t%s\t%s\t\n", console.Clean(p.Name), p.Address, p.Since.Local().Format(time.DateTime))
	}
	return table.Flush()
}

func stateText(d remote.Device) string {
	if !d.Connected {
		return "gone since " + d.Since.Local().Format(time.TimeOnly)
	}
	return "here since " + d.Since.Local().Format(time.TimeOnly)
}

func gameText(d remote.Device) string {
	switch {
	case !d.Running && d.End != "":
		return console.Clean(d.End) // "shut down after 3 s"
	case !d.Running:
		return "stopped"
	}
	return "runs since " + d.RunningSince.Local().Format(time.TimeOnly)
}

func profilesText(d remote.Device) string {
	names := make([]string, len(d.Profiles))
	for i, name := range d.Profiles {
		names[i] = console.Clean(name)
		if name == d.DefaultProfile {
			names[i] += "*"
		}
	}
	return strings.Join(names, ", ")
}

// pairCommand is `collet remote pair`.
type pairCommand struct {
	Name    string     `arg:"" help:"Name of the device, as its --name says."`
	Address netip.Addr `arg:"" help:"Its address, without a port."`
	State   string     `group:"desk" env:"COLLET_REMOTE_STATE" placeholder:"DIR" help:"Folder of what the desk remembers (default: $$COLLET_REMOTE_STATE, or one in the user's configuration)."`
}

// Help is what --help adds to the flags.
func (pairCommand) Help() string {
	return `  collet remote pair "Test box" 192.168.1.31`
}

// Run remembers a device.
func (p pairCommand) Run(c console.Console) error {
	home, err := remote.OpenHome(p.State)
	if err != nil {
		return err
	}
	if err := remote.OpenPairs(home.Pairs()).Add(p.Name, p.Address); err != nil {
		return console.Usage(err)
	}
	fmt.Fprintf(c.Out, "%q at %s may come.\n", console.Clean(p.Name), p.Address)
	return nil
}

// unpairCommand is `collet remote unpair`.
type unpairCommand struct {
	Name    string     `arg:"" help:"Name of the device."`
	Address netip.Addr `arg:"" optional:"" help:"Its address (default: all addresses of this name)."`
	State   string     `group:"desk" env:"COLLET_REMOTE_STATE" placeholder:"DIR" help:"Folder of what the desk remembers (default: $$COLLET_REMOTE_STATE, or one in the user's configuration)."`
}

// Help is what --help adds to the flags.
func (unpairCommand) Help() string {
	return `  collet remote unpair "Test box"`
}

// Run forgets a device.
func (u unpairCommand) Run(c console.Console) error {
	home, err := remote.OpenHome(u.State)
	if err != nil {
		return err
	}
	removed, err := remote.OpenPairs(home.Pairs()).Remove(u.Name, u.Address)
	if err != nil {
		return err
	}
	if removed == 0 {
		return fmt.Errorf("no device %q was paired; collet remote devices lists those that are", u.Name)
	}
	fmt.Fprintf(c.Out, "%q may come no longer. One that is connected stays until it goes.\n", console.Clean(u.Name))
	return nil
}
