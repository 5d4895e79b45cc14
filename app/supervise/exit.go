package supervise

import (
	"errors"
	"time"

	"collet/platform"
	"collet/runtime/abi"
)

// Exit describes how a child ended. It shares no memory with the Child.
type Exit struct {
	// ProcessEnd is the system's report: code, signal, whether it was killed. If the Go runtime of the child caught a
	// signal and exited with code 2, Signal names that signal.
	platform.ProcessEnd

	Result      *abi.Result // the module's report; nil without one
	ModuleFault string      // why the result of Run violates the ABI; otherwise empty
	Load        *LoadError  // why the module could not be loaded; nil otherwise
	Fault       error       // *ControlError or *OverdueError: why the host stopped the child; otherwise nil

	Loaded bool          // metadata was reported
	Left   bool          // leave was sent
	Ready  bool          // the module reported ready
	Ran    time.Duration // from run to the result, or to the end; 0 if it never ran
	Report string        // "panic: …" or "fatal error: …" of the child's Go runtime; otherwise empty
	Tail   []string      // the last printed lines
	Said   string        // the module's last logged error, without control characters, at most 300 bytes; untrusted text
}

// String completes a sentence about the module: "ended by signal SIGSEGV (segmentation fault)", "exited with code 3 without
// reporting a result", "shut down".
func (e Exit) String() string {
	var broken *ControlError
	switch {
	case e.Result != nil:
		return resultWords(*e.Result) + e.reason() + e.afterwards()
	case e.Load != nil:
		return "could not load the game: " + e.Load.Error() + e.afterwards()
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

// resultWords describes the module's report.
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

// reason is the module's last error if the report is a failure.
func (e Exit) reason() string {
	if e.Said == "" || e.Result.Kind == abi.ReloadRequested || e.Result.Kind != abi.FatalError && e.Result.Success {
		return ""
	}
	return ": " + e.Said
}

// afterwards describes an abnormal end after the last message.
func (e Exit) afterwards() string {
	switch {
	case e.Fault != nil:
		return ", then " + e.Fault.Error() + " and was stopped"
	case e.Code == ExitServed || e.Code == ExitLoadFailed:
		return ""
	}
	return ", then " + e.ProcessEnd.String()
}

// ended describes the end of a process without a last message.
func (e Exit) ended() string {
	text := e.ProcessEnd.String()
	switch {
	case e.Killed:
		return text
	case !e.Loaded && e.Signal != "":
		text += " while it loaded the game"
	case !e.Loaded:
		text += " without loading the game"
	case e.Signal == "" && e.Err == nil:
		text += " without reporting a result"
	}
	if e.Report != "" {
		text += " (" + e.Report + ")"
	}
	return text
}
