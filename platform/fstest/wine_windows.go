package fstest

import "syscall"

// underWine asks for a function that only Wine's system library has.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
