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
	Dir    string `arg:"" placeholder:"DIR" help:"Output folder: the modules are in DIR/release-1 and DIR/release-2."`
	Target string `placeholder:"TARGET" help:"System and processor to compile for, such as Windows-win64 (default: this one)."`
	Packs  bool   `help:"Also write the resource packs, so that each folder is a whole game, for example for collet remote."`
}

// Help is what --help adds to the flags.
func (modulesCommand) Help() string {
	return `Compiles both releases of the sample game's module with $CC or cc, and prints their paths. For another system it uses
Debian's cross compiler, such as x86_64-w64-mingw32-gcc. The demo uses modules in the folder modules beside the programs.

  collet modules bin/modules
  collet modules --target Windows-win64 bin/modules`
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
