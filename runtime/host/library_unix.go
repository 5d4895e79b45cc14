//go:build darwin || freebsd || linux || netbsd

package host

import (
	"os"

	"github.com/ebitengine/purego"
)

// openLibrary is dlopen(3). All symbols are bound now, so that a missing one is found here and not during the game. They are not visible
// to other libraries. The path has a slash, so no folders are searched.
func openLibrary(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol is dlsym(3).
func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

// closeLibrary is dlclose(3).
func closeLibrary(handle uintptr) error { return purego.Dlclose(handle) }

// hold keeps a loaded file open for the rest of the process. Otherwise, after its deletion, a new file could get its inode number and be
// taken for it.
func hold(f *os.File) *os.File { return f }
