package splash

import "slices"

// hasDisplay reports whether there may be a display. Windows and macOS always have one as far as can be told from
// outside; elsewhere the environment names it. Without this question the toolkit would complain on the terminal.
func hasDisplay(goos string, getenv func(string) string) bool {
	if slices.Contains([]string{"windows", "darwin"}, goos) {
		return true
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}
