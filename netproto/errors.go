package netproto

import (
	"errors"
	"fmt"
)

// FormatError says that the peer broke the format. It ends the connection, because the rest of the stream can't be
// interpreted. It is never a fault of this side.
type FormatError struct {
	Message MessageID // 0 if the fault is in the frame itself
	Field   string    // the field as docs/PROTOCOL.md names it
	Offset  int64     // of the field, in bytes from the start of the peer's stream, decompressed
	Err     error     // what is wrong with it
}

func (e *FormatError) Error() string {
	if e.Message == 0 {
		return fmt.Sprintf("frame at byte %d: %s: %v", e.Offset, e.Field, e.Err)
	}
	return fmt.Sprintf("%v at byte %d: %s: %v", e.Message, e.Offset, e.Field, e.Err)
}

// Unwrap returns the fault of the field.
func (e *FormatError) Unwrap() error { return e.Err }

// RefusedError says that a C1 server ended the connection with a reason.
type RefusedError struct {
	Reason  RefuseReason
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

// Possible faults of a field. They are texts for FormatError.Err; callers branch on the type.
var (
	errZeroKey    = errors.New("the key is 0")
	errTagOrder   = errors.New("a tag is repeated or out of order")
	errTagShort   = errors.New("a tag goes beyond the end of its tail")
	errUnasked    = errors.New("nobody asked for it")
	errFinished   = errors.New("the compressed stream was finished")
	errTwice      = errors.New("comes a second time")
	errNotHello   = errors.New("the first message must be a handshake")
	errOtherHello = errors.New("is not what the offer said")
	errSignature  = errors.New("is not a frame's signature")
)
