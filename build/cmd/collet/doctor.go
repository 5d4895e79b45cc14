package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"collet/build/qa/doctor"
	"collet/build/qa/report"
)

// doctorCommand is `collet doctor`.
type doctorCommand struct {
	Dir    string `arg:"" placeholder:"DIR" help:"The install folder, or the writable root of one."`
	Report string `group:"report" placeholder:"FILE" help:"Write one report to send: text with JSON at its end, or JSON alone if the name ends in .json."`
	Hash   bool   `group:"work" help:"Read every file of the set, and not only those that the next start reads."`
	Base   string `group:"where" placeholder:"DIR" help:"The install folder, if DIR is the writable root of one (default: that of the module that its selector names)."`
	Name   string `group:"where" placeholder:"NAME" help:"Base name of the host, where several share the folder (default: found out)."`
}

// Help is what --help adds to the flags.
func (doctorCommand) Help() string {
	return `Reads an install and prints what state it is in and why, what the next start will do before it asks a server, and what is
wrong. It changes nothing, also in a damaged folder. What the next start will do is no guess: the recovery itself runs,
and an update, on a view of the folder that keeps all changes to itself and refuses what the disk would.

The report names the files in the folder and holds the last lines of the client's log, and no content of files.

Exit codes: 0 all is well, or the next start mends it by itself; 1 somebody has to do something, or the server is needed,
or the folder can't be read; 2 wrong usage.`
}

// Run runs it.
func (d doctorCommand) Run(ctx context.Context, c console) error {
	if err := report.Writable(d.Report); err != nil {
		return usageError{err}
	}
	found, err := doctor.Diagnose(ctx, doctor.Options{Dir: d.Dir, Name: d.Name, Base: d.Base, Hash: d.Hash})
	var which *doctor.WhichHostError
	if errors.As(err, &which) || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if err := found.Summary(c.out); err != nil {
		return err
	}
	if d.Report != "" {
		if err := found.Save(d.Report); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "  report      %s\n", d.Report)
	}
	if found.NeedsAttention() {
		return told{errors.New("the install needs attention")}
	}
	return nil
}
