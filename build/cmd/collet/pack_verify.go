package main

import (
	"context"
	"errors"
	"fmt"

	"collet/build/cmd/collet/console"
	"collet/build/pack/verify"
)

// packVerifyCommand is `collet pack verify`.
type packVerifyCommand struct {
	A string `arg:"" placeholder:"A" help:"A package, or a folder of them."`
	B string `arg:"" placeholder:"B" help:"What to compare it with."`
}

// Help is what --help adds to the flags.
func (packVerifyCommand) Help() string {
	return `Prints the first difference between two packages, or two folders of packages: the file, the member of an archive or installer,
the section of a program, the offset, and the bytes in A and B. It reads zip, tar, gzip, zstd, deb, rpm, PE and ELF, nested to
any depth.

The exit code is 0 without a difference, and 1 with one.

  collet pack verify packages /tmp/packages`
}

// errDiffers is told by the line that was printed.
var errDiffers = console.Printed(errors.New("they differ"))

// Run compares.
func (p packVerifyCommand) Run(ctx context.Context, c console.Console) error {
	d, err := verify.Compare(ctx, p.A, p.B)
	if err != nil {
		return err
	}
	if d == nil {
		_, err = fmt.Fprintln(c.Out, "no difference")
		return err
	}
	fmt.Fprintln(c.Out, console.Clean(d.String()))
	return errDiffers
}
