package testwait

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// Alive reports whether a process runs. On Linux one that has ended and was not yet waited for (a zombie) does not. Windows does not tell: there
// it is false.
func Alive(pid int) bool {
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		name := strings.LastIndexByte(string(stat), ')') // a name can have any character
		return err == nil && name >= 0 && !strings.HasPrefix(string(stat[name:]), ") Z")
	}
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
