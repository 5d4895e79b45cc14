//go:build unix && !linux && !darwin

package platform

// bootID is not asked for on the remaining systems.
func bootID() string { return "" }

// holders is not asked for on the remaining systems.
func holders(string) []Holder { return nil }

// volumeOf leaves the path.
func volumeOf(path string) string { return path }
