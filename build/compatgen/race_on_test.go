//go:build race

package main

// How many components and histories are drawn: the race detector makes each take ten times as long, and finds nothing in a
// program without goroutines. make test draws all of them without it, too.
const (
	drawnComponents = 20
	drawnHistories  = 1
)
