package splash

import "slices"

// hasDisplay reports whether a display may exist. Windows and macOS are assumed to have one; elsewhere the environment
// names it. Without this check the toolkit would write errors to the terminal.
func hasDisplay(goos string, getenv func(string) string) bool {
	if slices.Contains([]string{"windows", "darwin"}, goos) {
		return true
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}
