package netproto

import (
	"errors"
	"fmt"
)

// FormatError says that the peer broke the format. The connection can't go on: what follows in the stream has no known
// meaning. It is never our own fault.
type FormatError struct {
	Message MessageID // 0 where the fault lies in the frame itself
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

// Unwrap gives what is wrong with the field.
func (e *FormatError) Unwrap() error { return e.Err }

// RefusedError says that a server of generation C1 gave a reason and ended the connection.
type RefusedError struct {
	Reason  RefuseReason
	Request uint32 // the request it is about, 0 if none
	Text    string // the server's words, for the log; not translated and not trusted
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refused: %v: %q", e.Reason, e.Text)
}

// UnreachableError says that no connection came about. Err is what the dialer said: a *net.DNSError, a refused or timed
// out connection.
type UnreachableError struct {
	Addr string // as it was asked for
	Err  error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("reach %s: %v", e.Addr, e.Err) }

// Unwrap gives what the dialer said.
func (e *UnreachableError) Unwrap() error { return e.Err }

// ClosedError says that an established connection ended before its time: the peer closed it, the network broke it, or
// it fell silent. Trying again may help.
type ClosedError struct {
	Answered bool  // the server had answered the hello; without an answer it may speak another generation
	Err      error // io.EOF for an orderly close, os.ErrDeadlineExceeded for silence, or what the network said
}

func (e *ClosedError) Error() string {
	when := "before the server's answer"
	if e.Answered {
		when = "after the server's answer"
	}
	return fmt.Sprintf("connection ended %s: %v", when, e.Err)
}

// Unwrap gives how the connection ended.
func (e *ClosedError) Unwrap() error { return e.Err }

// What can be wrong with a field. They are texts for FormatError.Err; a caller branches on the type.
var (
	errShort      = errors.New("goes beyond the end")
	errTrailing   = errors.New("bytes are left over behind the last field")
	errNotBool    = errors.New("a bool is 0 or 1")
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

// tooLarge is the error of a declared number above its cap.
func tooLarge(n, limit uint64) error { return fmt.Errorf("%d is above the limit of %d", n, limit) }
