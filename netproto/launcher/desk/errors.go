package desk

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNoDevice says that no device is connected, or none with the requested name.
	ErrNoDevice = errors.New("no such device is connected: start collet on it with --remote-launcher, or look at the list of devices")
	// ErrDeviceGone says that the connection ended before the operation did.
	ErrDeviceGone = errors.New("the device went away: check that it is switched on and in the same network")
	// ErrRunning says that a game already runs on the device.
	ErrRunning = errors.New("a game is running there: stop it first, or ask for a restart")
)

// DeviceError is the fault of a device: it broke the protocol, or reported a failure.
type DeviceError struct {
	Device string // id
	Op     string // "write", "delete", "finish", "layout", …
	Path   string // empty if it is about no file
	Reason string // ends in something to do
}

func (e *DeviceError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("device %q: %s: %s", e.Device, e.Op, e.Reason)
	}
	return fmt.Sprintf("device %q: %s %q: %s", e.Device, e.Op, e.Path, e.Reason)
}

// WaitError names the answer that a device owed for too long.
type WaitError struct {
	Device string // id
	For    string // "file layout", "block hashes", …
	Path   string // empty if it is about no file
	After  time.Duration
}

func (e *WaitError) Error() string {
	about := ""
	if e.Path != "" {
		about = fmt.Sprintf(" about %q", e.Path)
	}
	return fmt.Sprintf("device %q: no %s%s within %v: look at its window, and restart its launcher", e.Device, e.For, about, e.After)
}

// StartTimeoutError says that a device never reported the running state after a start. The log is the only channel for a
// launcher's reason, so the error carries the lines received meanwhile.
type StartTimeoutError struct {
	Device string // id
	After  time.Duration
	Lines  []LogLine // at most MaxLogTail, oldest first
}

func (e *StartTimeoutError) Error() string {
	text := fmt.Sprintf("device %q: the game did not start within %v", e.Device, e.After)
	if len(e.Lines) == 0 {
		return text + ", and the device said nothing: look at its window"
	}
	lines := make([]string, len(e.Lines))
	for i, line := range e.Lines {
		lines[i] = line.Text
	}
	return text + "; it said: " + strings.Join(lines, " | ")
}

// OptionError is a fault of the caller: an invalid option.
type OptionError struct {
	Option string
	Reason string
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %q: %s", e.Option, e.Reason) }

// FileError is about a file of the working copy that could not be sent as scanned.
type FileError struct {
	Path string
	Err  error // tree.ErrKeepsChanging, *fs.PathError, …
}

func (e *FileError) Error() string { return fmt.Sprintf("file %q: %v", e.Path, e.Err) }

// Unwrap gives the reason.
func (e *FileError) Unwrap() error { return e.Err }
