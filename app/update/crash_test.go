package update_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// crashing names the environment variable that turns the test below into the child.
const crashing = "COLLET_TEST_PANIC_IN"

// TestPanicInAPortIsNotSwallowed checks that a bug ends the process with its own stack and is not reported as a failed
// update. The test starts itself once for each kind of port.
func TestPanicInAPortIsNotSwallowed(t *testing.T) {
	if method := os.Getenv(crashing); method != "" {
		w := newWorld(t, pack("A.zip", 5))
		w.hold = func(_ context.Context, called string) error {
			if called == method {
				panic("the port has a bug")
			}
			return nil
		}
		w.run(t.Context())
		return
	}
	for _, method := range []string{"Connect", "Write"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPanicInAPortIsNotSwallowed$")
		child.Env = append(os.Environ(), crashing+"="+method)
		out, err := child.CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), "panic: the port has a bug") || !strings.Contains(string(out), "crash_test.go") {
			t.Errorf("%s: %v\n%s", method, err, out)
		}
	}
}
