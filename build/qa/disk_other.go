//go:build !linux

package qa

import (
	"context"
	"errors"
)

// errOnlyLinux is the reason why disk cases are skipped on other systems.
var errOnlyLinux = errors.New("file systems are made small, failing and powerless on Linux only")

func mountMemory(string, int64, int64) error                   { return errOnlyLinux }
func resizeMemory(string, int64, int64) error                  { return errOnlyLinux }
func protectMemory(string, bool) error                         { return errOnlyLinux }
func makeImage(context.Context, string, string, int64) error   { return errOnlyLinux }
func mountImage(context.Context, string, string, string) error { return errOnlyLinux }
func cutPower(string, bool) error                              { return errOnlyLinux }
func unmount(string) error                                     { return nil }
func freeBytes(string) (int64, error)                          { return 0, errOnlyLinux }
func usedInodes(string) (int64, error)                         { return 0, errOnlyLinux }
func copyImage(string, string) error                           { return errOnlyLinux }
func isFull(error) bool                                        { return false }
