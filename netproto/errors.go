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

// Possible faults of a field. They are texts for FormatError.Err; callers branch on the type.
var (
	errZeroKey    = errors.New("the key is 0")
	errTagOrder   = errors.New("a tag is repeated or out of order")
	errTagShort   = errors.New("a tag goes beyond the end of its tail")
	errFinished   = errors.New("the compressed stream was finished")
	errTwice      = errors.New("comes a second time")
	errNotHello   = errors.New("the first message must be a handshake")
	errOtherHello = errors.New("is not what the offer said")
	errSignature  = errors.New("is not a frame's signature")
)
