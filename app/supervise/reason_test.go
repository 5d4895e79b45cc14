package supervise

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/runtime/abi"
)

// TestReasonOfAFatalError checks that a failed end includes the module's last logged error as one clean line, and that
// other ends do not.
func TestReasonOfAFatalError(t *testing.T) {
	said := &transcript{log: zerolog.Nop()}
	said.module(abi.LogError, "an earlier one")
	said.module(abi.LogError, "no maps\x00\x1b[31m in \xff"+strings.Repeat("x", 2*maxSaid))
	said.module(abi.LogWarn, "and a warning")
	said.stderr("printed")
	e := Exit{Result: &abi.Result{Kind: abi.FatalError}}
	e.Code = ExitServed
	said.logFindings(&e)
	if got := e.String(); !strings.HasPrefix(got, "reported a fatal error: no maps\uFFFD\uFFFD[31m in \uFFFDx") || len(e.Said) > maxSaid {
		t.Errorf("%q", got)
	}
	e.Result = &abi.Result{Kind: abi.Shutdown, Success: true}
	if got := e.String(); got != "shut down" {
		t.Errorf("%q", got)
	}
	e.Result = &abi.Result{Kind: abi.Shutdown}
	if got := e.String(); !strings.HasPrefix(got, "shut down without success: no maps") {
		t.Errorf("%q", got)
	}
}
