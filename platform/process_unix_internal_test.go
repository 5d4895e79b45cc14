//go:build unix

package platform

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestAKillThatCameTooLateIsNone: the process lived when it was killed, but something else ended it.
func TestAKillThatCameTooLateIsNone(t *testing.T) {
	tests := []struct {
		script string
		killed bool
		want   string
	}{
		{"exit 3", false, "exited with code 3"},
		{"kill -SEGV $$", false, "ended by signal SIGSEGV (segmentation fault)"},
		{"kill -KILL $$", true, "was stopped"},
	}
	for _, test := range tests {
		cmd := exec.Command("/bin/sh", "-c", test.script)
		end := endOfWait(cmd.Run(), cmd.ProcessState, true)
		if end.Killed != test.killed || !strings.HasPrefix(end.String(), test.want) {
			t.Errorf("%s: %+v: %s", test.script, end, end)
		}
	}
	if end := endOfWait(errors.New("no child"), nil, true); end.String() != "ended in an unknown way (no child)" || end.Killed {
		t.Errorf("got %+v", end)
	}
}
