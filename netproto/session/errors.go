package session

import (
	"errors"
	"fmt"

	"collet/netproto"
)

// RefusedError says that a C1 server ended the connection with a reason.
type RefusedError struct {
	Reason  netproto.RefuseReason
	Request uint32 // the request concerned, 0 if none
	Text    string // the server's text, for the log; not translated and not trusted
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refused: %v: %q", e.Reason, e.Text)
}

// UnreachableError says that the connection failed. Err is the dialer's error: a *net.DNSError, a refused or timed out connection.
type UnreachableError struct {
	Addr string // as configured
	Err  error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("reach %s: %v", e.Addr, e.Err) }

// Unwrap returns the dialer's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// ClosedError says that an established connection ended early: the peer closed it, the network failed, or the peer was
// silent for too long. A retry may succeed.
type ClosedError struct {
	Answered bool  // the hello was answered; otherwise the server may speak another generation
	Err      error // io.EOF for an orderly close, os.ErrDeadlineExceeded for silence, or the network's error
}

func (e *ClosedError) Error() string {
	when := "before the server's answer"
	if e.Answered {
		when = "after the server's answer"
	}
	return fmt.Sprintf("connection ended %s: %v", when, e.Err)
}

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Err }

// MissingObjectError says that the server does not have the requested file. The session continues.
type MissingObjectError struct{ Name string }

func (e *MissingObjectError) Error() string { return fmt.Sprintf("the server has no %q", e.Name) }

// ObjectEndError says that a file of the server's release folder ends before the requested range. The existing part was
// delivered, and the session continues.
type ObjectEndError struct {
	Name string
	At   int64 // where the range ended, in bytes from the file's start; the file ends there or before
	Want int64 // where it should have ended
}

func (e *ObjectEndError) Error() string {
	return fmt.Sprintf("%q ends at byte %d of the server's, before %d", e.Name, e.At, e.Want)
}

// Faults of a server. They are texts for FormatError.Err; callers branch on the type.
var (
	errUnasked = errors.New("was not requested")
	errIdle    = errors.New("more unsolicited data than a session accepts")
)
