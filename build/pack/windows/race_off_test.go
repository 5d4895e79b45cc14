//go:build !race

package windows

const raceEnabled = false
