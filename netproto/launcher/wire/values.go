package wire

import (
	"encoding/hex"
	"fmt"

	"github.com/minio/sha256-simd"
)

// Dialect is the version of messages 4, 6, 11, 12, 14 and 17. The zero value is Released.
type Dialect uint8

// The dialects. The wire does not show which one a peer speaks.
const (
	Released Dialect = 0 // every released program (docs/PROTOCOL.md, "Two dialects")
	Draft    Dialect = 1 // the protocol's first description, November 2024
)

// String is the name under which users choose the dialect.
func (d Dialect) String() string {
	switch d {
	case Released:
		return "released"
	case Draft:
		return "draft"
	}
	return fmt.Sprintf("dialect %d", uint8(d))
}

// ParseDialect is the inverse of String.
func ParseDialect(name string) (Dialect, error) {
	for _, d := range []Dialect{Released, Draft} {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("dialect %q is unknown: say %q or %q", name, Released, Draft)
}

// Side is one of the two roles. Every code except keep-alive is valid from one side only.
type Side uint8

// The sides.
const (
	FromDevice Side = 1 // the client of the protocol
	FromDesk   Side = 2 // the server of the protocol
)

// Features are flags of connectRequest and connectAccepted. The protocol defines none yet; released desks mask all.
type Features uint32

// FeatureCollet announces support for our own mode. It is the highest bit, far from those that the protocol may define.
const FeatureCollet Features = 1 << 31

// The signatures of messages 1 and 2, 16 bytes each (docs/PROTOCOL.md, "Two dialects").
const (
	SignatureDevice = "DERemLaunchCnt-0"
	SignatureDesk   = "DERemLaunchSrv-0"
)

// Result is how an operation ended. Every value except Success is a failure, including unlisted ones.
type Result uint8

// The results of messages 8, 10, 12 and 14 (docs/PROTOCOL.md, "Two dialects").
const (
	Success      Result = 0
	Failure      Result = 1
	HashMismatch Result = 2 // of 14, Released
	BatchDone    Result = 2 // of 12, Draft: the parts of a batch arrived, the block goes on
)

// String is for logs. BatchDone and HashMismatch have the same number and text.
func (r Result) String() string {
	switch r {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case HashMismatch:
		return "hash mismatch"
	}
	return fmt.Sprintf("result %d", uint8(r))
}

// Flags of the Draft messages 4 and 6 (docs/PROTOCOL.md, "Two dialects").
const (
	DraftLast  uint8 = 1 // the last message of the answer
	DraftEmpty uint8 = 2 // the answer is empty, and this message carries nothing
)

// Flags of the Draft message 11 (docs/PROTOCOL.md, "Two dialects").
const (
	PartFinish uint8 = 1 // the last part of its block
	PartBatch  uint8 = 2 // the last part of its batch
)

// StopMode is how an application is stopped; devices ignore unlisted values.
type StopMode uint8

// The stop modes (docs/PROTOCOL.md, "Two dialects").
const (
	StopAsk  StopMode = 0 // ask it to close
	StopKill StopMode = 1 // kill the process
)

// LogLevel is the severity of a log line; unknown levels count as Info.
type LogLevel uint8

// The log levels (docs/PROTOCOL.md, "Two dialects").
const (
	LevelInfo    LogLevel = 0
	LevelWarning LogLevel = 1
	LevelError   LogLevel = 2
)

// String is the name of the level; unknown ones read as info.
func (l LogLevel) String() string {
	switch l {
	case LevelWarning:
		return "warning"
	case LevelError:
		return "error"
	}
	return "info"
}

// The run-state link: its message and the numbers of its one UInt8 (docs/PROTOCOL.md, "Two dialects").
const (
	LinkRunState uint8 = 1
	RunStopped   uint8 = 0
	RunRunning   uint8 = 1
)

// The properties that every device has (docs/PROTOCOL.md, "Two dialects"). Lists have one name a line.
const (
	PropertyNames          = "properties.names"
	PropertyProfiles       = "profiles.names"
	PropertyDefaultProfile = "profiles.default"
)

// Hash is a SHA-256. The zero value means that the hash is unknown.
type Hash [32]byte

// String is the 64 lowercase hexadecimal digits that go over the wire.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is String, for JSON and the like.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// HashOf is the SHA-256 of data.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// ParseHash reads 64 hexadecimal digits of either case.
func ParseHash(text string) (h Hash, err error) {
	if len(text) != hexHash {
		return Hash{}, errHash
	}
	if _, err = hex.Decode(h[:], []byte(text)); err != nil {
		return Hash{}, errHash
	}
	return h, nil
}

// hexHash is the length of a hash as text, in bytes.
const hexHash = 2 * len(Hash{})
