//go:build !(darwin || freebsd || linux || netbsd || windows)

package host

import (
	"errors"
	"os"
)

// On other systems modules can't be loaded: openLibrary fails, so the other functions are never called.

func openLibrary(string) (uintptr, error) { return 0, errors.ErrUnsupported }

func symbol(uintptr, string) (uintptr, error) { return 0, errors.ErrUnsupported }

func closeLibrary(uintptr) error { return errors.ErrUnsupported }

func hold(f *os.File) *os.File { return f }

func bind(any, uintptr) {}

func callback(any) uintptr { return 0 }
