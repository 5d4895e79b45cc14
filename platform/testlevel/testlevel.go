// Package testlevel says how much of the tests runs. There are three levels, one for each command:
//
//	make check      testing.Short()       unit tests in seconds; no program is built or started, nothing is drawn
//	make test       neither               everything that a change could break here; enumerations are sampled
//	make test-all   COLLET_TESTS=all      the lab, too: enumerations are whole, laps of all numbers, sizes, other systems
//
// The level is known when a test runs, not yet when its package is initialised. A sampled enumeration tries the same cases at each run, so that Go's test cache holds. Under the race detector the
// samples are the same: the whole enumerations run without it. Only tests import this package.
package testlevel

import (
	"os"
	"testing"
)

// Variable is the environment variable that asks for the lab's level with the value "all".
const Variable = "COLLET_TESTS"

// Full reports whether enumerations are to be whole.
func Full() bool { return os.Getenv(Variable) == "all" }

// Lab skips a test that only `make test-all` runs.
func Lab(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("runs in make test-all")
	}
}

// Slow skips a test that `make check` leaves out: it builds or starts programs, or takes seconds.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs in make test")
	}
}

// Stride returns 1 where enumerations are whole, sampled in make test, and short in make check: try every so-manyth case.
func Stride(sampled, short int) int {
	switch {
	case Full():
		return 1
	case testing.Short():
		return short
	}
	return sampled
}
