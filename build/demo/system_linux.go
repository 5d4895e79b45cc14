package demo

import (
	"bytes"
	"fmt"
	"os"
)

// hasDisplay reports whether a display is named in the environment.
func hasDisplay() bool { return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "" }

// parentOf reads the parent's process id from /proc/<pid>/stat.
func parentOf(pid int) (parent int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name stands in parentheses and may contain anything; state and parent follow its last one.
	var state string
	_, err = fmt.Sscan(string(data[bytes.LastIndexByte(data, ')')+1:]), &state, &parent)
	return parent, err
}
