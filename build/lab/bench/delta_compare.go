package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"collet/build/qa/fileset"
)

// sameTree wants two folders to have the same files, byte for byte.
func sameTree(got, want string) error {
	mine, err := filesBelow(got)
	if err != nil {
		return err
	}
	theirs, err := filesBelow(want)
	if err != nil {
		return err
	}
	if !slices.Equal(mine, theirs) {
		return fmt.Errorf("%d files came out, %d are expected, or their names differ", len(mine), len(theirs))
	}
	for _, name := range theirs {
		if err := fileset.SameFile(filepath.Join(got, name), filepath.Join(want, name)); err != nil {
			return err
		}
	}
	return nil
}
