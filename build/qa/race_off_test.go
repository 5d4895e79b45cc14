//go:build !race

package qa

// Share is which part of the long matrices is played: here all of it.
const Share = 1
