//go:build race

package faultfs_test

// share is which part of a long row of cases is taken: the race detector makes each take six times as long. make test takes
// all of them without it, too.
const share = 6
