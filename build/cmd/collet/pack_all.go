package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/pack"
	"collet/platform/text"
)

// packMakeFlags say what to make of a description, and where.
type packMakeFlags struct {
	descriptionFlag
	Out  string   `group:"what" default:"packages" placeholder:"DIR" help:"Output folder (default: ${default})."`
	Only []string `group:"what" placeholder:"TARGET/FORMAT" help:"Make only these, such as Linux-x64/deb, 'Windows-*' or '*/zip'. May be repeated."`
	Jobs int      `group:"work" default:"0" placeholder:"N" help:"Number of packages made at once (default: one for each processor)."`

	TestSigning bool `group:"what" help:"Accept test certificates and keys; package names show it."`
}

// packAllCommand is `collet pack all`.
type packAllCommand struct{ packMakeFlags }

// Help is what --help adds to the flags.
func (packAllCommand) Help() string {
	return `Fills in and signs every program once, writes the resource packs, and makes every package that the description lists. A package
appears in the output folder when it is complete; after an interruption the complete ones stay. SHA256SUMS has all digests.

The same project gives the same bytes on every machine, with the time in the description or in SOURCE_DATE_EPOCH. Only
signatures with a timestamp differ.

  collet pack all
  collet pack all --only 'Linux-*' --out /tmp/packages
  collet pack verify packages /tmp/packages`
}

// Run makes everything.
func (p packAllCommand) Run(ctx context.Context, c console.Console) error {
	return p.makePackages(ctx, c, true, true)
}

// packClientCommand is `collet pack client`.
type packClientCommand struct{ packMakeFlags }

// Help is what --help adds to the flags.
func (packClientCommand) Help() string {
	return `Makes only the packages for players: archives and installers of every build that has a host. See collet pack all.

  collet pack client --only 'Windows-*'`
}

// Run makes the packages for players.
func (p packClientCommand) Run(ctx context.Context, c console.Console) error {
	return p.makePackages(ctx, c, true, false)
}

// packServerCommand is `collet pack server`.
type packServerCommand struct{ packMakeFlags }

// Help is what --help adds to the flags.
func (packServerCommand) Help() string {
	return `Makes the packages for operators, and <game>-Release-<version>, the input folder of collet release publish. A client that was
packed from the same project is up to date with both. See collet pack all.

  collet pack server --only release
  collet release publish packages/Lathe-Release-1.4.2`
}

// Run makes the packages for operators.
func (p packServerCommand) Run(ctx context.Context, c console.Console) error {
	return p.makePackages(ctx, c, false, true)
}

func (p packMakeFlags) makePackages(ctx context.Context, c console.Console, clients, servers bool) error {
	if p.Jobs < 0 {
		return console.Usage(fmt.Errorf("--jobs %d: want 1 or more", p.Jobs))
	}
	jobs := p.Jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	project, err := p.load(c)
	if err != nil {
		return err
	}
	begun := time.Now()
	made, err := project.Make(ctx, pack.MakeOptions{
		Out: p.Out, Clients: clients, Servers: servers, Only: p.Only, Jobs: jobs, TestSigning: p.TestSigning,
		Report: func(a pack.Artefact) { printArtefact(c.Out, a) },
		Note:   func(text string) { fmt.Fprintf(c.Err, "note: %s\n", console.Clean(text)) },
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%d artefacts in %s; digests in %s; done in %v\n",
		len(made), p.Out, filepath.Join(p.Out, pack.SumsFile), time.Since(begun).Round(10*time.Millisecond))
	return err
}

// printArtefact tells of one that is done.
func printArtefact(out io.Writer, a pack.Artefact) {
	fmt.Fprintf(out, "%-60s %10s  %6.1f s\n", console.Clean(a.Name), text.Bytes(a.Size), a.Took.Seconds())
}
