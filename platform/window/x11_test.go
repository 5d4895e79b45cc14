//go:build linux

package window_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"collet/platform/testlevel"
	"collet/platform/testwait"
	"collet/platform/window"
)

// server starts an X server without a screen and returns its environment.
func server(t *testing.T) func(string) string {
	t.Helper()
	testlevel.Slow(t)
	xvfb, err := exec.LookPath("Xvfb")
	if err != nil {
		t.Skip("needs Xvfb")
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(xvfb, "-displayfd", "3", "-screen", "0", "320x200x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{write}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); read.Close() })
	number, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	display := ":" + strings.TrimSpace(number)
	return func(name string) string {
		return map[string]string{"DISPLAY": display, "HOME": t.TempDir()}[name]
	}
}

// TestVisible: a window is found by its process, and only by that.
func TestVisible(t *testing.T) {
	getenv := server(t)
	xmessage, err := exec.LookPath("xmessage")
	if err != nil {
		t.Skip("needs xmessage")
	}
	f, err := window.Open(getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	client := exec.Command(xmessage, "hello")
	client.Env = append(os.Environ(), "DISPLAY="+getenv("DISPLAY"))
	if found, err := f.Visible([]int{os.Getpid()}); found || err != nil {
		t.Fatalf("before: %v, %v", found, err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { client.Process.Kill(); client.Wait() }()
	testwait.Until(t, func() bool {
		found, err := f.Visible([]int{1, client.Process.Pid})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}, "the window is found")
	if found, err := f.Visible([]int{os.Getpid(), 1}); found || err != nil {
		t.Errorf("of another process: %v, %v", found, err)
	}
	client.Process.Kill()
	client.Wait()
	testwait.Until(t, func() bool {
		found, err := f.Visible([]int{client.Process.Pid})
		if err != nil {
			t.Fatal(err)
		}
		return !found
	}, "the window is gone")
}

// TestNoDisplay: displays of other machines and missing ones are errors.
func TestNoDisplay(t *testing.T) {
	for _, display := range []string{"", "far.example:0", "localhost:10.0", ":", ":x", ":65000", "junk"} {
		if f, err := window.Open(func(name string) string { return map[string]string{"DISPLAY": display}[name] }); err == nil {
			f.Close()
			t.Errorf("%q: connected", display)
		}
	}
}
