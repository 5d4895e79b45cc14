package trust

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
)

type rawJSON = json.RawMessage

// trustedFrom begins TUF's client workflow with a root that is trusted already. Its clock stands still in the year 1, so
// that nothing has expired there: whether what is known is still current is decided by staleness, which never throws
// knowledge away.
func trustedFrom(root *rootMeta) (*trustedmetadata.TrustedMetadata, error) {
	data, err := root.ToBytes(false)
	if err != nil {
		return nil, err
	}
	trusted, err := trustedmetadata.New(data)
	if err != nil {
		return nil, err
	}
	trusted.RefTime = time.Time{}
	return trusted, nil
}

// trustFault translates what TUF's library found.
func trustFault(document string, err error) *Error {
	fault := FaultMalformed
	switch {
	case errors.Is(err, &metadata.ErrBadVersionNumber{}):
		fault = FaultRolledBack
	case errors.Is(err, &metadata.ErrLengthOrHashMismatch{}):
		fault = FaultMixed
	case errors.Is(err, &metadata.ErrUnsignedMetadata{}):
		fault = FaultUnsigned
	case errors.Is(err, &metadata.ErrRepository{}):
		fault = FaultUnfit
	}
	return &Error{Document: document, Fault: fault, Err: err}
}

// Staleness says why a result is not known to be current. The texts are for people; a caller compares the values.
type Staleness string

const (
	// NotStale is the word for a result that is current.
	NotStale Staleness = ""
	// StaleUnasked: the result comes from what was verified earlier; no server was asked.
	StaleUnasked Staleness = "no server was asked"
	// StaleExpired: what the server has is signed and not older than what is known, but its time is over. Either nobody
	// renews it, or somebody keeps newer metadata away from us, or this machine's clock is ahead.
	StaleExpired Staleness = "what the server offers has expired, or the clock of this machine is ahead"
	// StaleClock: what the server has is signed for longer than a timestamp may be, so this machine's clock is behind.
	StaleClock Staleness = "the clock of this machine is behind"
)

// MaxTimestampTime is how long a timestamp may be signed for. Publishers keep to it, and a client that sees one which
// lasts longer, with clockSkew to spare, knows that its own clock is wrong.
const MaxTimestampTime = 30 * 24 * time.Hour

// clockSkew is how far the clocks of a publisher and a player may differ without a word about it.
const clockSkew = 24 * time.Hour

// staleness compares what is known with the clock.
func staleness(now time.Time, timestamp time.Time, others ...time.Time) (Staleness, time.Time) {
	expires := timestamp
	for _, t := range others {
		if t.Before(expires) {
			expires = t
		}
	}
	switch {
	case now.After(expires):
		return StaleExpired, expires
	case timestamp.Sub(now) > MaxTimestampTime+clockSkew:
		return StaleClock, expires
	default:
		return NotStale, expires
	}
}
