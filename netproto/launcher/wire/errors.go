package wire

import (
	"errors"
	"fmt"

	"collet/netproto/release"
)

// FormatError says that a message of the peer breaks the format. The connection can continue without the message, or be closed.
type FormatError struct {
	Code   uint8  // of the message; 0 for an empty one
	Field  string // as docs/PROTOCOL.md names it
	Offset int    // of the field in the message, in bytes
	Err    error  // what is wrong with it
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("message %d at byte %d: %s: %v: the peer is broken, or speaks the other dialect", e.Code, e.Offset, e.Field, e.Err)
}

// Unwrap gives what is wrong with the field.
func (e *FormatError) Unwrap() error { return e.Err }

// EncodeError says that a message to send is invalid: the fault of the caller.
type EncodeError struct {
	Code  uint8
	Field string
	Err   error
}

func (e *EncodeError) Error() string {
	return fmt.Sprintf("message %d: %s: %v: shorten it", e.Code, e.Field, e.Err)
}

// Unwrap gives what is wrong with the field.
func (e *EncodeError) Unwrap() error { return e.Err }

// PathError names a rejected path and the reason. It is the fault of the peer that sent the path, or of the file's owner.
type PathError = release.PathError

// Possible faults of a field. They are texts for the two types above; callers branch on the type.
var (
	errEmpty     = errors.New("there is no byte")
	errHash      = errors.New("is not 64 hexadecimal digits")
	errSignature = errors.New("is not the signature of a remote launcher")
)
