package supervise

import (
	"time"

	"collet/runtime/abi"
)

// ProvenAfter is the time after which a running build counts as good even if it never reports ready.
const ProvenAfter = 30 * time.Second

// End is the meaning of a child's end. The numbers are fixed.
type End uint8

const (
	CleanShutdown End = 1 // the module reported a successful shutdown
	Reload        End = 2 // the module requested a restart
	Fatal         End = 3 // a proven module reported an error
	Crash         End = 4 // a proven module ended without a valid result
	FailedStart   End = 5 // like Fatal or Crash, but of an unproven module
	LoadFailed    End = 6 // the module never ran
	Killed        End = 7 // the host killed it, or the process received a request to end
	Left          End = 8 // it left before it ran
	Unsuccessful  End = 9 // an orderly shutdown that reported no success, which says nothing about the build
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

// Counts reports whether the end counts as a failed start of an unconfirmed build.
func (e End) Counts() bool { return e == FailedStart || e == LoadFailed }

// Proven reports whether a build has proven itself by its run or its end, so that it may be confirmed. During the run, end
// is 0.
func Proven(end End, ready bool, ran time.Duration) bool {
	return ready || ran >= ProvenAfter || end == CleanShutdown
}

// Classify determines the meaning of a child's end. ready is whether the module had reported ready, ran how long it ran.
// The module's report has priority over the end of the process after it: a crash during unloading does not change a
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
