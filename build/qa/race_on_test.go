//go:build race

package qa

// Share is which part of the long matrices is played: the race detector makes each case take eight times as long. make test
// plays all of it without it, too.
const Share = 6
