package update

import (
	"fmt"
	"time"

	"collet/netproto/compat"
)

// Phase is where an update is. The numbers leave the process in JSON output only as names.
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

// Mode is what the update is about, chosen by the verdict.
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
	Fault     *Fault  // why it Failed, or until Done what the last attempt died of; nil otherwise. Never written to
	Judgement compat.Judgement
	Offer     Offer  // what the server asks for, from Comparing on in Binaries mode; zero where it gives no grounds
	Ahead     bool   // there is a maintenance, and what will be needed after it is fetched
	HeldBack  bool   // the server offers a set that was taken back after failed starts: the installed one is kept
	Server    string // host:port as it was asked for

	File      string // the file being hashed (Comparing) or fetched (Fetching, Verifying); empty otherwise
	FileSize  int64
	FileDone  int64
	Files     int // files to fetch
	FilesDone int
	Bytes     int64    // bytes of all files to fetch, parts on disk included
	BytesDone int64    // of those, how many are on disk
	Rate      int64    // bytes a second over RateWindow that come over the line, or are hashed while Comparing; 0 while unknown
	Hashed    int64    // bytes of all files that were read, while Comparing
	ToHash    int64    // bytes of all files that will have been read, as far as it is known; at least Hashed
	Damage    *Damages // what the last comparison found damaged; nil where nothing was

	Traffic Traffic // what is on the line, where that is not the bytes of the files; zero otherwise

	Attempt int       // connection attempts so far, 1 for the first; 0 before it
	RetryAt time.Time // while Waiting: when the next attempt starts
	Started time.Time
}

// Carrying reports whether the line is at work on bytes that are not yet those of files: progress is that of Traffic then.
func (s Status) Carrying() bool { return s.Traffic.Total > 0 && s.Traffic.Done < s.Traffic.Total }

// longestRemaining is where an estimate of the time left stops to be one.
const longestRemaining = 100 * time.Hour

// Remaining estimates the time left; ok is false while there is no rate to go by, and for more than 100 hours.
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
