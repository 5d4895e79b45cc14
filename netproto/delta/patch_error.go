package delta

import "fmt"

// PatchError says that a patch is not what a publisher makes: truncated, damaged, made for other old contents, or hostile.
// It is the peer's fault; faults of reading the old contents, of writing, or of the patch's reader pass through as they are.
type PatchError struct {
	What   string // what is wrong, in words
	Offset int64  // in the patch, in bytes: how far it was read when this was seen
	Err    error  // what a decoder said, or nil
}

func (e *PatchError) Error() string {
	text := fmt.Sprintf("patch, %d bytes in: %s", e.Offset, e.What)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + "; fetch the contents another way"
}

func (e *PatchError) Unwrap() error { return e.Err }
