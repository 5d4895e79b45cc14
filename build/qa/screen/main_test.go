package screen_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"collet/build/qa/screen"
)

// leaveVariable makes the test program leave a screen behind, as a killed program does.
const leaveVariable = "COLLET_SCREEN_TEST_LEAVE"

// TestMain fails the run when a test left a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(leaveVariable) != "" {
		s, err := screen.Start(context.Background(), 64, 48)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.PID())
		select {} // until this process is killed
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector adds a second to each program under test
	goleak.VerifyTestMain(m)
}
