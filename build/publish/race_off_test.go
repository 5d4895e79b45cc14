//go:build !race

package publish_test

// With the race detector everything takes ten times as long. make test runs the long enumerations without it, too.
const (
	raceEnabled = false
	raceSkips   = 0 // how many more of a long row are passed over than without it
)
