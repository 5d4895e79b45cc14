package supervise_test

import (
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"collet/runtime/abi"
)

var _ = func() bool {
	fakes["unprotected"] = runs(func(_ []string, s abi.Services) (abi.Result, error) {
		// The system stores the setting with the main thread, which runs this code.
		var before int
		if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&before)), 0, 0, 0); err != nil {
			return abi.Result{}, err
		}
		if before != int(unix.SIGKILL) {
			return abi.Result{}, fmt.Errorf("signal %d at the parent's death", before)
		}
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
			return abi.Result{}, err
		}
		s.Ready()
		forever()
		return success, nil
	})
	return true
}()

// TestChildDiesWithItsHostWithoutHelpOfTheSystem disables the kill at the parent's death. The broken pipe must suffice, as
// on systems without such a kill.
func TestChildDiesWithItsHostWithoutHelpOfTheSystem(t *testing.T) { testHostKilled(t, "unprotected") }
