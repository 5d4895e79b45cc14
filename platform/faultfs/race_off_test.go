//go:build !race

package faultfs_test

// share is which part of a long row of cases is taken: here all of it.
const share = 1
