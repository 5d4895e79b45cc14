package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"collet/build/cmd/collet/console"
	"collet/build/pack"
)

// packCommand is `collet pack`.
type packCommand struct {
	Init  packInitCommand  `cmd:"" help:"Write a commented description of the packages."`
	Check packCheckCommand `cmd:"" help:"Check the description, and list what would be packed. Changes nothing."`

	All    packAllCommand    `cmd:"" help:"Make all packages: for players, for operators, and the folder of a release."`
	Client packClientCommand `cmd:"" help:"Make the packages for players."`
	Server packServerCommand `cmd:"" help:"Make the packages for operators, and the folder of a release."`
	Verify packVerifyCommand `cmd:"" help:"Find the first difference between two packages, or two folders of packages."`
}

// Help is what --help adds to the list of commands.
func (packCommand) Help() string {
	return `Makes the downloads for players and operators: archives and installers for each system, and the server with all files that
it offers. The description is collet.toml, at the top of the project's folder:

  collet pack init
  collet pack check
  collet pack all

docs/PACKAGING.md describes all keys of it.`
}

// descriptionFlag says which description. Embed it.
type descriptionFlag struct {
	File string `group:"what" short:"f" default:"collet.toml" placeholder:"FILE" help:"The description (default: ${default})."`
}

// load reads the description and tells its mistakes.
func (d descriptionFlag) load(c console.Console) (*pack.Project, error) {
	return d.loadBy(pack.Load, c)
}

func (d descriptionFlag) loadBy(load func(string, func(string) string) (*pack.Project, error), c console.Console) (*pack.Project, error) {
	p, err := load(d.File, os.Getenv)
	var list pack.Mistakes
	if errors.As(err, &list) {
		printMistakes(c.Err, d.File, list)
		return nil, console.Printed(err)
	}
	if err == nil {
		for _, warning := range p.Warnings() {
			fmt.Fprintln(c.Err, "warning: "+console.Clean(warning))
		}
	}
	return p, err
}

// printMistakes prints one a line, as compilers do.
func printMistakes(out io.Writer, file string, list pack.Mistakes) {
	for _, m := range list {
		fmt.Fprintln(out, console.Clean(m.String()))
	}
	noun := "mistakes"
	if len(list) == 1 {
		noun = "mistake"
	}
	fmt.Fprintf(out, "collet: %s has %d %s; nothing was packed\n", file, len(list), noun)
}
