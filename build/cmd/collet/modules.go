package main

import (
	"context"
	"fmt"
	"io"

	"collet/build/demo"
)

// modulesCommand is `collet modules`.
type modulesCommand struct {
	Dir   string `arg:"" placeholder:"DIR" help:"Folder for them: DIR/release-1 and DIR/release-2."`
	Packs bool   `help:"Write the packs beside them, so that each folder is a whole game, for example for collet remote."`
}

// Help is what --help adds to the flags.
func (modulesCommand) Help() string {
	return `Compiles the sample game's module in both releases that the demo shows, with $CC or cc, and prints where they are.
Beside the programs, in the folder modules, the demo finds them.`
}

// Run compiles them.
func (c modulesCommand) Run(ctx context.Context, out io.Writer) error {
	paths, err := demo.BuildModules(ctx, c.Dir)
	for _, path := range paths {
		fmt.Fprintln(out, path)
	}
	if err != nil || !c.Packs {
		return err
	}
	paths, err = demo.BuildPacks(c.Dir)
	for _, path := range paths {
		fmt.Fprintln(out, path)
	}
	return err
}
