//go:build !race

package netproto_test

// stepOver is how many bytes lie between two cuts of a recording.
const stepOver = 1
