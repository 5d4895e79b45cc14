//go:build !static

package pkcs11

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// On Windows CK_ULONG has four bytes, and structures have no gaps. word is its size,
// first the place of the first function in CK_FUNCTION_LIST, after two bytes of version.
const (
	word  = 4
	first = 2
)

// open is LoadLibraryEx and GetProcAddress. Dependencies are searched beside the module and in the system's folders.
func open(path, symbol string) (uintptr, error) {
	handle, err := windows.LoadLibraryEx(path, 0, windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR|windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if err != nil {
		return 0, err
	}
	return windows.GetProcAddress(handle, symbol)
}

// call calls a C function.
//
//go:uintptrescapes
func call(function uintptr, args ...uintptr) uintptr {
	result, _, _ := syscall.SyscallN(function, args...)
	return result
}
