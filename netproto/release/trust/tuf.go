package trust

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
)

type rawJSON = json.RawMessage

// trustedFrom begins TUF's client workflow with a trusted root. Its clock stands in the year 1, so that nothing expires
// there: staleness decides whether the state is current, and never discards it.
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

// trustFault translates an error of TUF's library.
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

// Staleness is why a result may not be current. The texts are for people; callers compare the values.
type Staleness string

const (
	// NotStale means that the result is current.
	NotStale Staleness = ""
	// StaleUnasked: the result comes from earlier verified metadata, without a request.
	StaleUnasked Staleness = "no server was asked"
	// StaleExpired: the server's metadata is signed and not older than the known one, but expired. Either the publisher
	// does not renew it, or an attacker withholds newer metadata, or this machine's clock is ahead.
	StaleExpired Staleness = "what the server offers has expired, or the clock of this machine is ahead"
	// StaleClock: the server's metadata is valid for longer than a timestamp may be, so this machine's clock is behind.
	StaleClock Staleness = "the clock of this machine is behind"
)

// MaxTimestampTime is the longest validity of a timestamp. Publishers respect it. A client that sees a longer one, with
// clockSkew as tolerance, knows that its own clock is wrong.
const MaxTimestampTime = 30 * 24 * time.Hour

// clockSkew is the tolerated difference between the clocks of a publisher and a player.
const clockSkew = 24 * time.Hour

// staleness compares the expiry of the verified metadata with the clock.
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
