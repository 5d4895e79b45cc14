package update

import (
	"fmt"
	"time"

	"collet/netproto/compat"
)

// Phase is the current phase of an update. JSON output contains only the names, not the numbers.
type Phase uint8

const (
	Idle       Phase = 0
	Connecting Phase = 1
	Judging    Phase = 2
	Listing    Phase = 3
	Comparing  Phase = 4
	Fetching   Phase = 5
	Verifying  Phase = 6
	Committing Phase = 7
	Waiting    Phase = 8 // between two attempts; Status.RetryAt says until when
	Done       Phase = 9
)

var phaseNames = [...]string{
	Idle: "idle", Connecting: "connecting", Judging: "judging", Listing: "listing", Comparing: "comparing",
	Fetching: "fetching", Verifying: "verifying", Committing: "committing", Waiting: "waiting", Done: "done",
}

// String is the name used in logs and JSON output; an unknown number prints as such.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase %d", uint8(p))
}

// Mode is the subject of the update. The verdict selects it.
type Mode uint8

const (
	Undecided Mode = 0
	Resources Mode = 1
	Binaries  Mode = 2
)

// String is the name used in logs and JSON output; an unknown number prints as such.
func (m Mode) String() string {
	switch m {
	case Undecided:
		return "undecided"
	case Resources:
		return "resources"
	case Binaries:
		return "binaries"
	default:
		return fmt.Sprintf("mode %d", uint8(m))
	}
}

// Status is a snapshot of an update. It is a value: readers keep it as long as they like. All sizes are bytes.
type Status struct {
	Phase     Phase
	Mode      Mode    // of the last verdict that allowed a transfer, Undecided before one
	Outcome   Outcome // meaningful when Phase is Done
	Fault     *Fault  // why it Failed; until Done, the fault of the last attempt; otherwise nil. Never written to
	Judgement compat.Judgement
	Offer     Offer  // the module that the server requests, from Comparing on in Binaries mode; zero if the server names no rule
	Ahead     bool   // a maintenance is on, and the files of the update after it are being fetched
	Blocked   bool   // the server offers a set that was rolled back after failed starts: the installed set stays, or was repaired
	Server    string // host:port as requested
	First     bool   // nothing that can be played is installed: what arrives is the game, not an update of it

	File      string // the file being hashed (Comparing) or fetched (Fetching, Verifying); empty otherwise
	FileSize  int64
	FileDone  int64
	Files     int // files to fetch
	FilesDone int
	Bytes     int64    // bytes of all files to fetch, parts on disk included
	BytesDone int64    // of those, how many are on disk
	Rate      int64    // bytes per second over RateWindow, received or (while Comparing) hashed; 0 while unknown
	Hashed    int64    // while Comparing: bytes read of all files
	ToHash    int64    // while Comparing: bytes to read of all files, as far as known; at least Hashed
	Damage    *Damages // what the last comparison found damaged; nil if nothing

	Traffic Traffic // bytes on the wire, if they differ from the bytes of the files; otherwise zero

	Attempt int       // connection attempts so far, 1 for the first; 0 before it
	RetryAt time.Time // while Waiting: when the next attempt starts
	Started time.Time
}

// Carrying reports whether bytes are being received that are not yet bytes of files. Traffic then holds the progress.
func (s Status) Carrying() bool { return s.Traffic.Total > 0 && s.Traffic.Done < s.Traffic.Total }

// longestRemaining is the longest estimate of Remaining.
const longestRemaining = 100 * time.Hour

// Remaining estimates the time left. ok is false while the rate is unknown, during a pause, and above 100 hours.
func (s Status) Remaining() (left time.Duration, ok bool) {
	if s.Phase != Fetching && s.Phase != Verifying || s.Rate <= 0 || s.Traffic.Paused {
		return 0, false
	}
	missing := s.Bytes - s.BytesDone
	if s.Carrying() {
		missing = s.Traffic.Total - s.Traffic.Done
	}
	seconds := float64(max(missing, 0)) / float64(s.Rate)
	if seconds > longestRemaining.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
