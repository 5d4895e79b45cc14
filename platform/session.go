package platform

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals are the signals with which the system, a terminal or a service manager asks this program to end. On Windows the Go runtime
// sends them for Ctrl-C, a closed console and the end of a session. SIGHUP is left out if it was ignored at the start, as with nohup.
func EndSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
