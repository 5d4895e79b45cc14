//go:build unix && !linux && !darwin

package platform

// bootID is not implemented on the remaining systems.
func bootID() string { return "" }

// holders is not implemented on the remaining systems.
func holders(string) []Holder { return nil }

// volumeOf returns the path.
func volumeOf(path string) string { return path }
