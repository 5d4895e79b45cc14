// Package supervise runs a module in a process of its own and reports the result. Start is the host's side, Serve the
// child's side; both are in the same executable.
//
// The two processes communicate over two private pipes (platform.Process), not over the standard streams: the module's
// output goes to the log line by line and can't be confused with a message. A message is one line, a JSON object with
// exactly one member, whose name is its type. A line has at most maxLine bytes. Text that is not UTF-8 is encoded as
// {"base64": "…"}.
//
//	host → child   hello        protocol                                first; the child loads nothing before it.
//	                                                                     Its form is the same in every version
//	               run          args                                    once, after metadata
//	               leave                                                once, instead of run
//	               stop                                                 at most once, after run: asks the module to end
//	               update       version                                 after run: a newer release waits for the next start
//	child → host   metadata     abi, name, build, compatibility         the module is loaded
//	               load-failed  stage, text                             instead of metadata; the last message
//	               progress     text                                    after run: what the module does before it is ready
//	               ready                                                at most once, after run
//	               log          level, text                             after run
//	               result       kind, success, path, compatibility,     after run; the last message
//	                            fault
//
// Anything else is a *ControlError and ends the child: invalid JSON, an unknown member, two messages in one line, a line
// that is too long, a message at the wrong time. Both sides are normally the same program, so the parser tolerates nothing.
// The version in hello covers the exception: a host whose executable was replaced while it ran.
//
//	           metadata           Run               result
//	loading ─────────────▶ waiting ─────▶ running ─────────▶ finished ──▶ ended
//	   └──────────────── load-failed ────────────────────────────▲         ▲
//	any ─ process ends · Kill · Leave · context · bad message · timeout ───┘      ended is final
//
// A running module that supports it is asked to stop before it is killed (Child.End), because a game may have data to save.
// The child also asks its module when the system tells the process to end.
//
// Every phase except running has a time limit after which the child is killed: loading, ending after the result, ending
// after the control pipe broke, and leaving. A module that closes handles it does not own, such as the control pipe, is
// killed closeGrace later and counts as crashed.
//
// The child ends with its host. In addition to the system's mechanism (platform.Process), Serve always reads its pipe. If
// the pipe breaks while the main goroutine is inside the module, in C code, Serve calls the terminate function.
package supervise

import "time"

// Time limits. Each is far above all measured values and well below the patience of a player.
const (
	// DefaultLoadTimeout covers mapping a module and running its constructors; a virus scanner may read the whole file
	// first.
	DefaultLoadTimeout = 30 * time.Second
	// endGrace covers unloading a module and ending the process after the result or the load failure was reported.
	endGrace = 5 * time.Second
	// closeGrace covers ending after the control pipe broke. An ending process closes it first and may need time to release
	// gigabytes.
	closeGrace = 3 * time.Second
	// leaveGrace covers ending after leave.
	leaveGrace = 2 * time.Second
	// drainGrace covers reading the rest of the control pipe of an ended process. It only expires if another process holds
	// a copy of the pipe.
	drainGrace = 500 * time.Millisecond
	// writeGrace covers writing one line to a child, which reads continuously.
	writeGrace = 5 * time.Second
)

// Exit codes of a child process. They differ from the host's own exit codes, from the code of the Go runtime (2), and from
// those of shells (126 and up). They are not 0, so that a module that calls exit is not mistaken for a child that finished
// its work.
const (
	ExitServed     = 100 // the result was reported, or leave was received
	ExitLoadFailed = 101 // the load failure was reported
	ExitHostGone   = 102 // the control pipe broke
	ExitProtocol   = 103 // the host broke the control protocol
	ExitNoControl  = 104 // for main: started without usable control handles
	ExitCancelled  = 105 // the context of Serve ended
)
