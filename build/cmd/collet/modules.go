package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"collet/build/demo"
	"collet/netproto/product"
)

// modulesCommand is `collet modules`.
type modulesCommand struct {
	Dir    string `arg:"" placeholder:"DIR" help:"Folder for them: DIR/release-1 and DIR/release-2."`
	Target string `placeholder:"TARGET" help:"System and processor that they are for, such as Windows-win64. Default: this one."`
	Packs  bool   `help:"Write the packs beside them, so that each folder is a whole game, for example for collet remote."`
}

// Help is what --help adds to the flags.
func (modulesCommand) Help() string {
	return `Compiles the sample game's module in both releases that the demo shows, with $CC or cc, and prints where they are.
For another system that is the compiler that Debian has for it, as x86_64-w64-mingw32-gcc.
Beside the programs, in the folder modules, the demo finds them.`
}

// Run compiles them.
func (c modulesCommand) Run(ctx context.Context, out io.Writer) error {
	paths, err := demo.BuildModules(ctx, c.Dir, cmp.Or(product.Target(c.Target), demo.OwnTarget()))
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
