package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"collet/build/cmd/collet/console"
	"collet/build/qa/doctor"
	"collet/build/qa/report"
)

// doctorCommand is `collet doctor`.
type doctorCommand struct {
	Dir    string `arg:"" placeholder:"DIR" help:"The install folder, or the writable root of one."`
	Report string `group:"report" placeholder:"FILE" help:"Write a report for support: text with JSON at its end, or only JSON if the name ends in .json."`
	Hash   bool   `group:"work" help:"Read all files of the set, not only those that the next start reads."`
	Base   string `group:"where" placeholder:"DIR" help:"The install folder, if DIR is its writable root (default: the folder of the game that the selector names)."`
	Name   string `group:"where" placeholder:"NAME" help:"Base name of the host, if several share the folder (default: detected)."`
}

// Help is what --help adds to the flags.
func (doctorCommand) Help() string {
	return `Reads an install and prints its state and the cause, what the next start will do before it connects to a server, and all
problems. It changes nothing, not even in a damaged folder. To predict the next start it runs the real recovery and an
update, on a view of the folder that discards all changes and fails where the disk would.

A package that no start has compared with a release yet is not checked: what its files should be is not known before. The first
start that reaches the server does that; so does the client's --verify, at any time.

The report has the names of the files in the folder and the last lines of the client's log, but no content of files.

Exit codes: 0 the install is fine, or the next start repairs it; 1 it needs the server or an action of yours, or the folder
can't be read; 2 wrong usage.

  collet doctor ~/Games/Lathe
  collet doctor ~/Games/Lathe --hash --report report.txt`
}

// Run runs it.
func (d doctorCommand) Run(ctx context.Context, c console.Console) error {
	if err := report.Writable(d.Report); err != nil {
		return console.Usage(err)
	}
	found, err := doctor.Diagnose(ctx, doctor.Options{Dir: d.Dir, Name: d.Name, Base: d.Base, Hash: d.Hash})
	var which *doctor.WhichHostError
	if errors.As(err, &which) || errors.Is(err, fs.ErrNotExist) {
		return console.Usage(err)
	}
	if err != nil {
		return err
	}
	if err := found.Summary(c.Out); err != nil {
		return err
	}
	if d.Report != "" {
		if err := found.Save(d.Report); err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "  report      %s\n", d.Report)
	}
	if found.NeedsAttention() {
		return console.Printed(errors.New("the install needs attention"))
	}
	return nil
}
