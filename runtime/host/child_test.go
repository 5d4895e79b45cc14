package host_test

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestChild runs what takes its process with it, or does not end, in a process of its own.
func TestChild(t *testing.T) {
	tests := []struct {
		name  string
		limit time.Duration
		want  end // its text is what has to be in what the child said, in this order, separated by |
	}{
		{"echo", patience, end{said: "loaded|ready|ran: shutdown <nil>|fault: runtime error: invalid memory address"}},
		{"crash_in_constructor", patience, end{"SIGSEGV", 2, false}},
		{"crash_in_run", patience, end{"loaded|SIGSEGV", 2, false}},
		{"calls_exit", patience, end{"loaded", 42, false}},
		{"replaces_handlers", patience, end{"loaded|ran: shutdown <nil>", 43, false}},
		{"hang", 3 * time.Second, end{"loaded", -1, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(test.want.said, "SIGSEGV") {
				t.Skip("what it says and its code are those of Unix")
			}
			t.Parallel()
			module := fixture(t, test.name)
			got := start(t, module, test.limit)
			for limit := 2 * test.limit; test.want.killed && !strings.Contains(got.said, "loaded") && limit <= patience; limit *= 2 {
				got = start(t, module, limit) // the machine was too slow to come so far
			}
			if got.code != test.want.code || got.killed != test.want.killed {
				t.Errorf("ended with code %d, killed %t; want %d, %t", got.code, got.killed, test.want.code, test.want.killed)
			}
			rest := got.said
			for part := range strings.SplitSeq(test.want.said, "|") {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("does not say %q in its place:\n%s", part, got.said)
				}
				rest = after
			}
			if !strings.Contains(test.want.said, "ran:") && strings.Contains(got.said, "ran:") {
				t.Errorf("came back from Run:\n%s", got.said)
			}
		})
	}
}
