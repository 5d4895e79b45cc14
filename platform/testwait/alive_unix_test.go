//go:build unix

package testwait_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"collet/platform/testwait"
)

func TestAlive(t *testing.T) {
	if !testwait.Alive(os.Getpid()) {
		t.Error("this process does not run")
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !testwait.Alive(cmd.Process.Pid) {
		t.Error("the child does not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		testwait.Until(t, func() bool { return !testwait.Alive(cmd.Process.Pid) }, "the child, not waited for, counts as alive")
	}
	cmd.Wait()
	if testwait.Alive(cmd.Process.Pid) {
		t.Error("the child lives on")
	}
}
