package supervise

import (
	"errors"
	"time"

	"collet/platform"
	"collet/runtime/abi"
)

// Exit is how a child ended. Everything in it was copied and belongs to the reader.
type Exit struct {
	// ProcessEnd is what the system says: code, signal, whether it was killed. Where the Go runtime of the child caught a
	// signal and exited with code 2, Signal names what it caught.
	platform.ProcessEnd

	Result      *abi.Result // what the module reported; nil if it reported nothing
	ModuleFault string      // Run ended, but its result broke the rules of the ABI; empty otherwise
	Load        *LoadError  // why the module could not be loaded; nil otherwise
	Fault       error       // *ControlError or *OverdueError: what the child was stopped for; nil otherwise

	Loaded bool          // metadata was reported
	Left   bool          // leave was sent
	Ready  bool          // the module said that it is on the screen
	Ran    time.Duration // from run to the result, or to the end; 0 if it was never run
	Report string        // "panic: …" or "fatal error: …" of the child's Go runtime; empty if there was none
	Tail   []string      // the last lines that were printed
	Said   string        // the last error that the module logged, without control characters, at most 300 bytes; foreign text
}

// String says how it ended, as the end of a sentence: "ended by signal SIGSEGV (segmentation fault)", "exited with code 3
// without reporting a result", "shut down".
func (e Exit) String() string {
	var broken *ControlError
	switch {
	case e.Result != nil:
		return resultWords(*e.Result) + e.reason() + e.afterwards()
	case e.Load != nil:
		return "could not load the module: " + e.Load.Error() + e.afterwards()
	case e.ModuleFault != "":
		return "ended with an invalid result: " + e.ModuleFault
	case e.Left && (e.Killed || e.Code == ExitServed):
		return "left before it was run"
	case errors.As(e.Fault, &broken):
		return "broke the control protocol and was stopped: " + broken.Error()
	case e.Fault != nil:
		return e.Fault.Error() + " and was stopped"
	}
	return e.ended()
}

// resultWords says what the module reported.
func resultWords(r abi.Result) string {
	switch {
	case r.Kind == abi.ReloadRequested:
		return "asked for a reload"
	case r.Kind == abi.FatalError:
		return "reported a fatal error"
	case !r.Success:
		return "shut down without success"
	}
	return "shut down"
}

// reason is what the module said before it reported that it can't go on.
func (e Exit) reason() string {
	if e.Said == "" || e.Result.Kind == abi.ReloadRequested || e.Result.Kind != abi.FatalError && e.Result.Success {
		return ""
	}
	return ": " + e.Said
}

// afterwards tells of a process that did not simply end after its last word.
func (e Exit) afterwards() string {
	switch {
	case e.Fault != nil:
		return ", then " + e.Fault.Error() + " and was stopped"
	case e.Code == ExitServed || e.Code == ExitLoadFailed:
		return ""
	}
	return ", then " + e.ProcessEnd.String()
}

// ended tells of a process that ended without a last word.
func (e Exit) ended() string {
	text := e.ProcessEnd.String()
	switch {
	case e.Killed:
		return text
	case !e.Loaded && e.Signal != "":
		text += " while it loaded the module"
	case !e.Loaded:
		text += " without loading the module"
	case e.Signal == "" && e.Err == nil:
		text += " without reporting a result"
	}
	if e.Report != "" {
		text += " (" + e.Report + ")"
	}
	return text
}
