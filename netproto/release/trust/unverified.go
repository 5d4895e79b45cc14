package trust

import (
	"context"
	"errors"
	"fmt"
	"io"

	"collet/netproto/release"
)

// ErrTooLong says that a file has more bytes than its reader accepts.
var ErrTooLong = errors.New("longer than it may be")

// Unverified are unauthenticated bytes. They can't be read directly: Verify checks them against a digest, and Client checks signatures.
type Unverified struct{ data []byte }

// UnverifiedBytes marks bytes as unverified. The result takes ownership of them.
func UnverifiedBytes(data []byte) Unverified { return Unverified{data} }

// ReadUnverified reads r to its end. If r has more than limit bytes it returns ErrTooLong, and has read at most one byte more.
func ReadUnverified(r io.Reader, limit int64) (Unverified, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = ErrTooLong
	}
	if err != nil {
		return Unverified{}, err
	}
	return Unverified{data}, nil
}

// Len is the number of bytes.
func (u Unverified) Len() int { return len(u.data) }

// Verify returns the bytes if they match the object, else an *ObjectError.
func (u Unverified) Verify(o release.Object) ([]byte, error) {
	if err := o.Verify(u.data); err != nil {
		return nil, err
	}
	return u.data, nil
}

// Fetcher fetches files of a release folder from a server or a mirror. Its results are untrusted.
type Fetcher interface {
	// Fetch fetches the file with this name, slash-separated below the release folder, for example
	// "metadata/timestamp.json". It never reads more than limit bytes: a longer file is ErrTooLong, from ReadUnverified.
	// If the server reports the file as missing, errors.Is(err, fs.ErrNotExist) holds. It returns when ctx ends, and may
	// be called from two goroutines at once.
	Fetch(ctx context.Context, name string, limit int64) (Unverified, error)
}

// Fault is why metadata is rejected. The texts are for people; callers compare the values.
type Fault string

const (
	// FaultMalformed is an invalid document: truncated, with a duplicate key, too deep.
	FaultMalformed Fault = "malformed"
	// FaultUnsigned lacks signatures of enough keys of the trusted root.
	FaultUnsigned Fault = "not signed by enough trusted keys"
	// FaultRolledBack is older than verified metadata.
	FaultRolledBack Fault = "older than what was seen before"
	// FaultMixed differs from the reference in the document above it.
	FaultMixed Fault = "not the one that the signed list names"
	// FaultTooLong exceeds its size limit.
	FaultTooLong Fault = "longer than it may be"
	// FaultForeign is signed, but for another product, channel, target or number.
	FaultForeign Fault = "made for something else"
	// FaultUnfit is signed, but uses features that this program rejects: delegations, other kinds of keys, missing digests.
	FaultUnfit Fault = "signed, but outside of what is allowed"
)

// Error names a rejected document and the reason. It is never the fault of this machine.
type Error struct {
	Document string // "timestamp.json", "3.root.json", …
	Fault    Fault
	Err      error // what exactly; may be nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s: %s", e.Document, e.Fault)
	}
	return fmt.Sprintf("%s: %s: %v", e.Document, e.Fault, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
