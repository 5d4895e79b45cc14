//go:build unix

package platform

import "golang.org/x/sys/unix"

// askProcess is kill(2) with SIGTERM.
func askProcess(pid int) { _ = unix.Kill(pid, unix.SIGTERM) }

// killProcess is kill(2) with SIGKILL.
func killProcess(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }
