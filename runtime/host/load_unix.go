//go:build unix

package host

import "github.com/ebitengine/purego"

// open is dlopen(3): all symbols are bound now, so that a missing one is found here, and none are lent to others.
func open(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol is dlsym(3).
func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

// closeLibrary is dlclose(3).
func closeLibrary(handle uintptr) error { return purego.Dlclose(handle) }
