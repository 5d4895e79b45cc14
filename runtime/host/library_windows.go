package host

import (
	"os"

	"golang.org/x/sys/windows"
)

// openLibrary is LoadLibraryEx. Dependencies are searched beside the module and in the system's folders, never in the working folder.
// Go's runtime has disabled the system's message boxes about invalid files.
func openLibrary(path string) (uintptr, error) {
	handle, err := windows.LoadLibraryEx(path, 0, windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR|windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	return uintptr(handle), err
}

// symbol is GetProcAddress.
func symbol(handle uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), name)
}

// closeLibrary is FreeLibrary.
func closeLibrary(handle uintptr) error { return windows.FreeLibrary(windows.Handle(handle)) }

// hold closes the file: a loaded module is replaced on Windows by renaming it, and an open file could not be renamed.
func hold(f *os.File) *os.File {
	f.Close()
	return nil
}
