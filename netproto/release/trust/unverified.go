package trust

import (
	"context"
	"errors"
	"fmt"
	"io"

	"collet/netproto/release"
)

// ErrTooLong says that a file has more bytes than its reader takes.
var ErrTooLong = errors.New("longer than it may be")

// Unverified are bytes that came from somewhere and that nobody has vouched for. They can't be looked at: Verify is the
// way across, and the signature checks of Client are the other one.
type Unverified struct{ data []byte }

// UnverifiedBytes marks bytes that came from somewhere. They belong to the result.
func UnverifiedBytes(data []byte) Unverified { return Unverified{data} }

// ReadUnverified reads r to its end. If more than limit bytes come it returns ErrTooLong and has read one byte more at
// most.
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

// Verify gives the bytes if they are those of the object, else an *ObjectError.
func (u Unverified) Verify(o release.Object) ([]byte, error) {
	if err := o.Verify(u.data); err != nil {
		return nil, err
	}
	return u.data, nil
}

// Fetcher brings files of a release folder from a server or a mirror. It is the network: what it returns is checked.
type Fetcher interface {
	// Fetch gets the file with this name, slash-separated below the release folder, for example
	// "metadata/timestamp.json". It never reads more than limit bytes: a longer file is ErrTooLong, from ReadUnverified.
	// For a file that the server says it does not have errors.Is(err, fs.ErrNotExist) holds. It returns when ctx ends, and
	// may be called from two goroutines at once.
	Fetch(ctx context.Context, name string, limit int64) (Unverified, error)
}

// Fault says in which way metadata can't be trusted. The texts are for people; a caller compares the values.
type Fault string

const (
	// FaultMalformed is no document of its kind: cut off, with a key twice, too deep.
	FaultMalformed Fault = "malformed"
	// FaultUnsigned lacks signatures of enough of the keys that the trusted root names.
	FaultUnsigned Fault = "not signed by enough trusted keys"
	// FaultRolledBack is older than what was verified before.
	FaultRolledBack Fault = "older than what was seen before"
	// FaultMixed is not what the document above it names.
	FaultMixed Fault = "not the one that the signed list names"
	// FaultTooLong has more bytes than it may have.
	FaultTooLong Fault = "longer than it may be"
	// FaultForeign is signed, but for another product, channel, target or number.
	FaultForeign Fault = "made for something else"
	// FaultUnfit is signed, but not what this program takes: delegations, other kinds of keys, missing digests.
	FaultUnfit Fault = "signed, but outside of what is allowed"
)

// Error says which document was not believed and why. It is never the fault of this machine.
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
