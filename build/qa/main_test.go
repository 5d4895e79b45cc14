package qa_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes the test program play a client under test instead of running tests.
const roleVariable = "COLLET_QA_TEST_ROLE"

// TestMain fails the run when a test left a goroutine behind.
func TestMain(m *testing.M) {
	if role, playing := os.LookupEnv(roleVariable); playing {
		os.Exit(playClient(role, os.Args[1:]))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector adds a second to each program under test
	goleak.VerifyTestMain(m)
}
