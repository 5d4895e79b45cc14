// Package beacon is the format of a beacon: one line of figures that a client sends after an update attempt, and after a start of the game.
// It has no id of an install, a player or a machine.
//
// A beacon is a GET request without a body. Its figures are the query of the configured address, so that a server's access log is enough to
// count them:
//
//	GET /beacon?1,update,12,11,ready,Linux-x64,stable,patch,1200000,8
//
//	1          the version of the format
//	update     what happened, see Kind
//	12         the release: the offered one of an update, the started one of a start; 0 is unknown
//	11         the release before; 0 is none or unknown
//	ready      how it ended, see Outcomes
//	Linux-x64  the target
//	stable     the channel
//	patch      the strategy that most bytes came by, see Strategies; none for a start
//	1200000    bytes received by the attempt; 0 for a start
//	8          seconds: of the attempt, or until the game had proven itself
//
// The two last numbers are rounded to two digits, so that they identify nothing. A target or channel with a name longer than MaxName is Other.
// There is one text for each beacon: Parse refuses all others. A query with its question mark has at most MaxSize bytes.
package beacon

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxSize is the longest query in bytes, with its question mark.
	MaxSize = 120
	// MaxName is the longest name of a target or channel in bytes; longer ones are Other. Two of them and the largest numbers fit into MaxSize.
	MaxName = 16
	// MaxNumber is the largest number of a release, that of package release.
	MaxNumber = 1<<53 - 1
	// MaxBytes and MaxSeconds are the largest figures; larger ones are sent as these. A game has less than 99 TB, and an attempt
	// that takes longer than a day was paused.
	MaxBytes   = 99_000_000_000_000
	MaxSeconds = 99_000
	// Other stands for a name that is too long, or that a reader does not know.
	Other = "other"
	// NoStrategy is the strategy of a start, and of an attempt that received no contents.
	NoStrategy = "none"

	version = "1"
	fields  = 10
)

// Kind is what happened. The texts are part of the format.
type Kind string

// The kinds.
const (
	Update Kind = "update" // an update attempt ended; one that finds nothing new sends nothing
	First  Kind = "first"  // a release that had not proven itself on this install was started
	Start  Kind = "start"  // a release that had proven itself was started
)

// Outcomes of a start. Those of an update are the words of Outcomes.
const (
	Confirmed = "confirmed" // the game ran: it reported that it is ready, ran for long enough, or ended cleanly
	Failed    = "failed"    // the game ended before
)

// Ready is the outcome of an update attempt after which the offered release is there.
const Ready = "ready"

// Beacon are the figures of one event.
type Beacon struct {
	Kind            Kind
	Release, From   uint64 // numbers of releases, at most MaxNumber; 0 is unknown or none
	Outcome         string // one of Outcomes
	Target, Channel string
	Strategy        string // one of Strategies
	Bytes, Seconds  int64
}

// Outcomes are the outcomes of a kind. The texts are part of the format.
func Outcomes(k Kind) []string {
	switch k {
	case Update:
		return []string{Ready, "store", "nobinary", "updater", "unreachable", "interrupted", "diskfull", "permission", "locked", "damaged",
			"untrusted", "server", "disk", "content", "toonew", "components", "maintenance", "runtime", "running", "cancelled",
			"pinned", "loop", "incomplete", "signin"}
	case First:
		return []string{Confirmed, Failed}
	case Start:
		return []string{Confirmed}
	default:
		return nil
	}
}

// Strategies are how contents come: those of package acquire, and NoStrategy. The texts are part of the format.
func Strategies() []string {
	return []string{NoStrategy, "copy", "patch", "expanded", "chunks", "solid", "whole"}
}

// Encode is the query without its question mark. Long names become Other, large figures their maximum, and figures are rounded. The error
// says which value has no text in the format.
func (b Beacon) Encode() (string, error) {
	b.Target, b.Channel = short(b.Target), short(b.Channel)
	b.Bytes, b.Seconds = round(min(b.Bytes, MaxBytes)), round(min(b.Seconds, MaxSeconds))
	if err := b.check(); err != nil {
		return "", err
	}
	return strings.Join([]string{version, string(b.Kind), number(b.Release), number(b.From), b.Outcome, b.Target, b.Channel, b.Strategy,
		number(uint64(b.Bytes)), number(uint64(b.Seconds))}, ","), nil
}

// Parse reads a query without its question mark. It accepts what Encode writes, and nothing else.
func Parse(query string) (b Beacon, err error) {
	if len(query) >= MaxSize {
		return b, fmt.Errorf("has %d bytes; at most %d are read", len(query), MaxSize-1)
	}
	parts := strings.SplitN(query, ",", fields+1)
	if parts[0] != version || len(parts) != fields {
		return b, fmt.Errorf("is no beacon of version %s: want %d fields between commas", version, fields)
	}
	var faults [4]error
	var figures [2]uint64
	b = Beacon{Kind: Kind(parts[1]), Outcome: parts[4], Target: parts[5], Channel: parts[6], Strategy: parts[7]}
	b.Release, faults[0] = strconv.ParseUint(parts[2], 10, 64)
	b.From, faults[1] = strconv.ParseUint(parts[3], 10, 64)
	figures[0], faults[2] = strconv.ParseUint(parts[8], 10, 63)
	figures[1], faults[3] = strconv.ParseUint(parts[9], 10, 63)
	b.Bytes, b.Seconds = int64(figures[0]), int64(figures[1])
	if errors.Join(faults[:]...) != nil {
		return Beacon{}, errors.New("has something else where a number belongs")
	}
	if again, err := b.Encode(); err != nil || again != query {
		return Beacon{}, errors.Join(errors.New("is not as beacons are written"), err)
	}
	return b, nil
}

// check checks everything that Encode can't mend.
func (b Beacon) check() error {
	switch {
	case !slices.Contains(Outcomes(b.Kind), b.Outcome):
		return fmt.Errorf("kind %q has no outcome %q", b.Kind, b.Outcome)
	case !slices.Contains(Strategies(), b.Strategy):
		return fmt.Errorf("there is no strategy %q", b.Strategy)
	case b.Release > MaxNumber || b.From > MaxNumber:
		return fmt.Errorf("the number of a release is at most %d", uint64(MaxNumber))
	case !isName(b.Target) || !isName(b.Channel):
		return errors.New("target and channel are names of ASCII letters, digits, '.', '-' and '_'")
	case b.Bytes < 0 || b.Seconds < 0:
		return errors.New("a figure is negative")
	}
	return nil
}

// short is a name, or Other for a long one.
func short(name string) string {
	if len(name) > MaxName {
		return Other
	}
	return name
}

// isName reports whether a text is a name as releases have them.
func isName(s string) bool {
	return s != "" && s[0] != '.' && s[0] != '-' &&
		strings.Trim(s, ".-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// round keeps the first two digits of a number.
func round(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return n - n%unit
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }
