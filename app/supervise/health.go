package supervise

import (
	"time"

	"collet/runtime/abi"
)

// ProvenAfter is how long a build has to run until it counts as good even if it never says ready (design 2, section 3.4).
const ProvenAfter = 30 * time.Second

// End is what the end of a child means. The numbers are fixed by hand.
type End uint8

const (
	CleanShutdown End = 1 // the module said that it is done
	Reload        End = 2 // the module asks to be started anew
	Fatal         End = 3 // a module that had proven itself reported an error
	Crash         End = 4 // a module that had proven itself ended without a valid result
	FailedStart   End = 5 // as Fatal or Crash, but it never proved itself
	LoadFailed    End = 6 // there never was a running module
	Killed        End = 7 // the host killed it, or somebody asked the process to end
	Left          End = 8 // it was told to leave before it ran
	Unsuccessful  End = 9 // it shut down in order and said itself that it had no success, which says nothing about the build
)

var endNames = [...]string{
	CleanShutdown: "clean shutdown", Reload: "reload", Fatal: "fatal error", Crash: "crash", FailedStart: "failed start",
	LoadFailed: "load failed", Killed: "killed", Left: "left", Unsuccessful: "unsuccessful shutdown",
}

func (e End) String() string {
	if int(e) < len(endNames) && e != 0 {
		return endNames[e]
	}
	return "unknown"
}

// Counts reports whether the end counts as a failed start of a build that is not confirmed.
func (e End) Counts() bool { return e == FailedStart || e == LoadFailed }

// Proven reports whether a build has proven itself by how it ran or ended, so that it may be confirmed. While it runs, end
// is 0.
func Proven(end End, ready bool, ran time.Duration) bool {
	return ready || ran >= ProvenAfter || end == CleanShutdown
}

// Classify judges how a child ended. ready is whether the module had said that it is on the screen, ran how long it had
// run. What the module reported outweighs how the process ended after that: a crash while unloading does not undo a
// shutdown or a reload.
func Classify(e Exit, ready bool, ran time.Duration) End {
	bad := Crash
	switch {
	case e.Result != nil && e.Result.Kind == abi.ReloadRequested:
		return Reload
	case e.Result != nil && e.Result.Kind == abi.Shutdown && e.Result.Success:
		return CleanShutdown
	case e.Result != nil && e.Result.Kind == abi.Shutdown:
		return Unsuccessful
	case e.Result != nil:
		bad = Fatal
	case e.Load != nil:
		return LoadFailed
	case e.Left:
		return Left
	case e.Fault == nil && e.ModuleFault == "" && (e.Killed || e.Asked):
		return Killed
	case !e.Loaded:
		return LoadFailed
	}
	if !Proven(bad, ready, ran) {
		return FailedStart
	}
	return bad
}
