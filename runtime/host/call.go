//go:build darwin || freebsd || linux || netbsd || windows

package host

import "github.com/ebitengine/purego"

// bind makes function, a pointer to a Go function variable, call the C function at address. The address must be valid: purego panics for
// a missing one.
func bind(function any, address uintptr) { purego.RegisterFunc(function, address) }

// callback makes a Go function callable from C, for the rest of the process.
func callback(function any) uintptr { return purego.NewCallback(function) }
