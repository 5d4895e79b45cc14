package window

import (
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// TestGoneWindow asks about a window that is gone: it is no program's. Consoles go while the windows of a program that ends are listed.
func TestGoneWindow(t *testing.T) {
	if gone := windows.HWND(0xFFF0); isProgram(gone) {
		t.Error("a window that is gone is a program's")
	}
	if shell := windows.GetShellWindow(); shell != 0 && !isProgram(shell) {
		t.Error("the shell's window is no program's")
	}
}

// TestNoWindow finds none for this process, which at most has a console.
func TestNoWindow(t *testing.T) {
	f, err := Open(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if shown, err := f.Visible([]int{os.Getpid()}); shown || err != nil {
		t.Errorf("a program without windows: %v, %v", shown, err)
	}
}
