// Package supervise runs a module in a process of its own and tells how that went. Start is the host's side, Serve the
// child's; both are in the same executable.
//
// Between them are two private pipes (platform.Process), never the standard streams: what a module prints goes to the log
// line by line and can't be taken for a message. A message is one line, a JSON object with exactly one member, whose name
// says what it is. A line is at most maxLine bytes. Text that is not UTF-8 travels as {"base64": "…"}.
//
//	host → child   hello        protocol                                first, and nothing is loaded before it came;
//	                                                                     this one keeps its form in every version
//	               run          args                                    once, after metadata
//	               leave                                                once, instead of run
//	               stop                                                 at most once, after run: the module is asked to end
//	child → host   metadata     abi, name, build, compatibility         the module is loaded
//	               load-failed  stage, text                             instead of metadata, then nothing more
//	               ready                                                at most once, after run
//	               log          level, text                             after run
//	               result       kind, success, path, compatibility,     after run, then nothing more
//	                            fault
//
// Anything else — no JSON, an unknown member, two messages in one line, a line too long, a message at the wrong time — is a
// *ControlError and ends the child. Both sides are the same program, so nothing is tolerated; the number in hello covers
// the one case in which they are not, a host whose executable was replaced while it ran.
//
//	           metadata           Run               result
//	loading ─────────────▶ waiting ─────▶ running ─────────▶ finished ──▶ ended
//	   └──────────────── load-failed ────────────────────────────▲         ▲
//	any ── the process ends · Kill · Leave · context · broken rule · time is over ──┘      ended is final
//
// A module that runs is not killed at once where it can be asked (Child.End): a game may have something to save. The child asks it
// by itself when the system tells its process to end.
//
// A child is never waited for without limit while it should be doing something: loading, ending after its result, ending
// after its control pipe broke and leaving all have a time after which it is killed. Only running has none. A module that
// closes handles which it does not own, the control pipe among them, is stopped closeGrace later and counts as crashed.
//
// The child dies with its host. Besides what the system does (platform.Process), Serve reads its pipe all the time, and
// when that breaks while the main goroutine is inside the module, in C, it calls the terminate function that main gave it.
package supervise

import "time"

// Limits in time. Each is far above what was ever seen and far below what a person waits.
const (
	// DefaultLoadTimeout is for mapping a module and its constructors; a virus scanner may read the whole file first.
	DefaultLoadTimeout = 30 * time.Second
	// endGrace is for unloading a module and ending the process after the result or the load failure was reported.
	endGrace = 5 * time.Second
	// closeGrace is for ending after the control pipe broke. An ending process closes it first and may take a while to
	// give back gigabytes.
	closeGrace = 3 * time.Second
	// leaveGrace is for ending after leave.
	leaveGrace = 2 * time.Second
	// drainGrace is for reading what an ended process left in the control pipe. Only something that holds a copy of the
	// pipe open makes it last that long.
	drainGrace = 500 * time.Millisecond
	// writeGrace is for handing one line to a child, which reads all the time.
	writeGrace = 5 * time.Second
)

// Exit codes of a child process. They are outside the host's own table (design 2, section 3.3), the codes of the Go
// runtime (2) and those of shells (126 and up), and not 0, so that a module that calls exit is not taken for a child that
// did its work.
const (
	ExitServed     = 100 // the result was reported, or leave was followed
	ExitLoadFailed = 101 // the load failure was reported
	ExitHostGone   = 102 // the control pipe broke
	ExitProtocol   = 103 // the host broke the control protocol
	ExitNoControl  = 104 // for main: started without usable control handles
	ExitCancelled  = 105 // the context of Serve ended
)
