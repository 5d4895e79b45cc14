package chunk

import "testing"

// sized is a size for a test, or a smaller one under the race detector.
func sized(full, raced int) int {
	if raceEnabled {
		return raced
	}
	return full
}

// unraced skips a test that is about time, memory or size, which the race detector changes, and tells nothing of races.
func unraced(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("says nothing under the race detector")
	}
}
