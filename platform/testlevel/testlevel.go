// Package testlevel is the scope of a test run. It has three levels, one for each command:
//
//	make check      testing.Short()       unit tests in seconds; no program is built or started, nothing is drawn
//	make test       neither               everything that a change can break on this system; enumerations are sampled
//	make test-all   COLLET_TESTS=all      the lab, too: complete enumerations, all sizes, other systems
//
// The level is known when a test runs, but not while its package is initialised. A sampled enumeration tries the same cases in each
// run, so that Go's test cache applies. The race detector uses the same samples: complete enumerations run without it. Only tests
// import this package.
package testlevel

import (
	"os"
	"testing"
)

// Variable is the environment variable that asks for the lab's level with the value "all".
const Variable = "COLLET_TESTS"

// Full reports whether enumerations are complete.
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

// Stride is the step of an enumeration: 1 in make test-all, sampled in make test, short in make check.
func Stride(sampled, short int) int {
	switch {
	case Full():
		return 1
	case testing.Short():
		return short
	}
	return sampled
}
