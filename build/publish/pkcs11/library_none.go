//go:build static || !(darwin || freebsd || linux || netbsd || windows)

package pkcs11

import "errors"

// In programs that load no libraries, open fails, so call is never called.

const (
	word  = pointer
	first = pointer
)

func open(string, string) (uintptr, error) {
	return 0, errors.New("this collet was built to load no libraries; take another one, or add the key with --public and a command")
}

func call(uintptr, ...uintptr) uintptr { return 0 }
