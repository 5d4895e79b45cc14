package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"collet/build/pack"
)

// packCommand is `collet pack`.
type packCommand struct {
	Init  packInitCommand  `cmd:"" help:"Write a description of the packages, with everything explained."`
	Check packCheckCommand `cmd:"" help:"Tell what is wrong with a description, or what would be packed. Changes nothing."`

	All    packAllCommand    `cmd:"" help:"Make every package: for players, for operators, and the folder of a release."`
	Client packClientCommand `cmd:"" help:"Make the packages for players."`
	Server packServerCommand `cmd:"" help:"Make the packages for operators, and the folder of a release."`
	Verify packVerifyCommand `cmd:"" help:"Find the first difference of two packages, or of two folders of them, and its place."`
}

// Help is what --help adds to the list of commands.
func (packCommand) Help() string {
	return `Makes what players and operators download: archives and installers for each system, and the server with everything it
offers. All of it is told in collet.toml, at the top of the project's folder:

  collet pack init
  collet pack check
  collet pack all

docs/PACKAGING.md has every key of it.`
}

// descriptionFlag says which description. Embed it.
type descriptionFlag struct {
	File string `group:"what" short:"f" default:"collet.toml" placeholder:"FILE" help:"The description (default: ${default})."`
}

// load reads the description and tells its mistakes.
func (d descriptionFlag) load(c console) (*pack.Project, error) {
	p, err := pack.Load(d.File, os.Getenv)
	var list pack.Mistakes
	if errors.As(err, &list) {
		tellMistakes(c.err, d.File, list)
		return nil, told{err}
	}
	return p, err
}

// tellMistakes prints one a line, as compilers do.
func tellMistakes(out io.Writer, file string, list pack.Mistakes) {
	for _, m := range list {
		fmt.Fprintln(out, clean(m.String()))
	}
	noun := "mistakes"
	if len(list) == 1 {
		noun = "mistake"
	}
	fmt.Fprintf(out, "collet: %s has %d %s; nothing was packed\n", file, len(list), noun)
}
