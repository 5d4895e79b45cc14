package main

import (
	"context"
	"errors"
	"fmt"

	"collet/build/pack/verify"
)

// packVerifyCommand is `collet pack verify`.
type packVerifyCommand struct {
	A string `arg:"" placeholder:"A" help:"A package, or a folder of them."`
	B string `arg:"" placeholder:"B" help:"What to compare it with."`
}

// Help is what --help adds to the flags.
func (packVerifyCommand) Help() string {
	return `Prints the first difference of two packages, or of two folders of them, with its place: the file, the member of an archive or installer in
it, the section of a program, the byte, and what stands there in A and B. It looks into zip, tar, gzip, zstd, deb, rpm, PE and ELF,
as deep as they lie in each other.

It ends with 0 where there is no difference, and with 1 where there is one.`
}

// errDiffers is told by the line that was printed.
var errDiffers = told{errors.New("they differ")}

// Run compares.
func (p packVerifyCommand) Run(ctx context.Context, c console) error {
	d, err := verify.Compare(ctx, p.A, p.B)
	if err != nil {
		return err
	}
	if d == nil {
		_, err = fmt.Fprintln(c.out, "no difference")
		return err
	}
	fmt.Fprintln(c.out, clean(d.String()))
	return errDiffers
}
