package platform

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals are the signals with which the system, a terminal or a service manager asks this program to end. On Windows the runtime
// makes them of Ctrl-C, a closed console and the end of a session. SIGHUP is left out where it was ignored at the start, as nohup
// does.
func EndSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
