//go:build !race

package transfer_test

// With the race detector everything takes ten times as long. make test runs the long stories without it, too.
const raceEnabled = false
