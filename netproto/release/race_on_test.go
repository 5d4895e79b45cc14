//go:build race

package release_test

// With the race detector everything takes ten times as long. make test runs what is slow and has one goroutine without it, too.
const (
	raceEnabled = true
	raceSkips   = 1 // how many more of a long row are passed over than without it
)
