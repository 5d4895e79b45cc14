package delta

import "fmt"

// PatchError says that a patch is invalid: truncated, damaged, made for other old contents, or hostile. It is the peer's
// fault; errors of reading the old contents, of writing, or of the patch's reader are returned unchanged.
type PatchError struct {
	What   string // the fault, in words
	Offset int64  // how many bytes of the patch were read at that time
	Err    error  // error of a decoder, or nil
}

func (e *PatchError) Error() string {
	text := fmt.Sprintf("patch, %d bytes in: %s", e.Offset, e.What)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + "; fetch the contents another way"
}

func (e *PatchError) Unwrap() error { return e.Err }
