package host

import (
	"os"

	"golang.org/x/sys/windows"
)

// openLibrary is LoadLibraryEx: libraries that the module needs are looked for beside it and in the system's folders,
// never in the working folder. Go's runtime has switched off the system's message boxes about broken files.
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

// hold closes the file: an open one could not be renamed, which is how a loaded module is replaced on Windows.
func hold(f *os.File) *os.File {
	f.Close()
	return nil
}
