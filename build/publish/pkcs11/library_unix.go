//go:build (darwin || freebsd || linux || netbsd) && !static

package pkcs11

import "github.com/ebitengine/purego"

// On these systems CK_ULONG is as long as a pointer, and structures are aligned as the C compiler does by itself. word is its size,
// first the place of the first function in CK_FUNCTION_LIST, after two bytes of version.
const (
	word  = pointer
	first = pointer
)

// open is dlopen(3) and dlsym(3). The path is absolute, so no folders are searched.
func open(path, symbol string) (uintptr, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	return purego.Dlsym(handle, symbol)
}

// call calls a C function.
//
//go:uintptrescapes
func call(function uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, args...)
	return result
}
