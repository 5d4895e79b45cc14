//go:build !race

package compat_test

// raced says that the race detector watches.
const raced = false
