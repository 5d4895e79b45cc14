// Package testwait waits in tests for what another process, a file or a counter shows, where no channel reports it. Only tests and
// their fixtures import it, on all layers.
package testwait

import "time"

// Limit is how long Until waits. Only a test that fails waits so long: a busy machine must not make it fail.
const Limit = 2 * time.Minute

// Until looks after firstPause, and doubles the pause up to lastPause: what comes soon is seen soon, and a long wait costs little.
const (
	firstPause = time.Millisecond
	lastPause  = 32 * time.Millisecond
)

// TB is the part of testing.TB that Until needs. A script (testscript.TestScript) has it, too.
type TB interface {
	Fatalf(format string, args ...any)
}

// Until returns when done returns true. The test fails if that takes longer than Limit; what says what should have happened, or what did not.
func Until(t TB, done func() bool, what string) {
	if helper, is := t.(interface{ Helper() }); is {
		helper.Helper()
	}
	late := time.NewTimer(Limit)
	defer late.Stop()
	for pause := firstPause; !done(); pause = min(2*pause, lastPause) {
		select {
		case <-late.C:
			t.Fatalf("waited for %v without success: %s", Limit, what)
			return
		case <-time.After(pause):
		}
	}
}
