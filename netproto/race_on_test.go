//go:build race

package netproto_test

// stepOver is how many bytes lie between two cuts of a recording: the race detector makes each take six times as long. make
// test makes all cuts without it, too.
const stepOver = 7
