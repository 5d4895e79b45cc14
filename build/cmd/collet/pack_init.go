package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/pack"
)

// packInitCommand is `collet pack init`.
type packInitCommand struct {
	Dir string `arg:"" default:"." placeholder:"DIR" help:"The project's folder (default: ${default})."`

	Name          string `group:"what" placeholder:"NAME" help:"The game's name in files and folders (default: the folder's name)."`
	Compatibility string `group:"what" placeholder:"VERSION" help:"The game's compatibility version, for the server."`
}

// Help is what --help adds to the flags.
func (packInitCommand) Help() string {
	return `Writes collet.toml with a new upgrade code, by which Windows installers recognize other versions of this game, and with the
files that it finds in the folder: programs and modules, their symbols and libraries, resource packs, a square picture for
the icon, a splash, a root of signed releases, the server. It never replaces an existing collet.toml.

  collet pack init
  collet pack init ../lathe --name Lathe`
}

// Run writes the description.
func (p packInitCommand) Run(c console.Console) error {
	found, err := pack.Look(p.Dir)
	if err != nil {
		return err
	}
	if p.Name != "" {
		found.Name = p.Name
	}
	found.Compatibility = p.Compatibility
	text, err := found.Text(rand.Reader, time.Now())
	if err != nil {
		return err
	}
	file := filepath.Join(p.Dir, pack.DescriptionFile)
	if err := writeNew(file, text); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "wrote %s\n", file)
	printFound(c.Out, found)
	fmt.Fprintf(c.Out, "go through it, then: collet pack check%s\n", fileFlag(file))
	return nil
}

// fileFlag is what a command needs to find a description.
func fileFlag(file string) string {
	if file == pack.DescriptionFile {
		return ""
	}
	return " --file " + file
}

// writeNew writes a file that must not be there yet.
func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and its upgrade code must not change; move it away to begin anew", file)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// printFound says what the description names already.
func printFound(out io.Writer, s pack.Survey) {
	for _, t := range s.Targets {
		fmt.Fprintf(out, "  target %s: module %s%s\n", t.Name, t.Module, after(", host ", t.Host))
	}
	for _, k := range s.Packs {
		fmt.Fprintf(out, "  pack %s: %s\n", k.Name, k.From)
	}
	for _, p := range s.Programs {
		fmt.Fprintf(out, "  server %s: %s\n", p.Target, p.From)
	}
	for _, one := range []struct{ what, name string }{
		{"icon", s.Icon}, {"splash", s.Splash}, {"trusted root", s.TrustedRoot}, {"server's settings", s.ServerSettings},
	} {
		if one.name != "" {
			fmt.Fprintf(out, "  %s: %s\n", one.what, one.name)
		}
	}
	if len(s.Programs) > 0 && s.ServerSettings == "" && s.Compatibility == "" {
		fmt.Fprintln(out, "  server.compatibility is an example: put in what the game says of itself")
	}
	if len(s.Targets) == 0 {
		fmt.Fprintln(out, "  no programs that can be packed: the targets in it are examples")
	}
}

// after puts a text behind another one, unless it is empty.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
