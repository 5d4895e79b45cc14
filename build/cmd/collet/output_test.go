package main

import (
	"bytes"
	"strings"
	"testing"

	"collet/build/cmd/collet/console"
)

// TestOutputIsHarmless gives the program texts that steer a terminal; its own error messages repeat them.
func TestOutputIsHarmless(t *testing.T) {
	for _, steering := range []string{"\x1b[2J", "\u009b2J", "\x9b2J", "\u202e", "\u2066"} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"--no-such-flag" + steering}, &stdout, &stderr); code != console.ExitUsage {
			t.Errorf("%q: exit code %d", steering, code)
		}
		if out := stdout.String() + stderr.String(); strings.Contains(out, steering) || !strings.Contains(out, "no-such-flag") {
			t.Errorf("%q: the output is %q", steering, out)
		}
	}
}
