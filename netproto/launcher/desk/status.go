package desk

import (
	"net/netip"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// DeviceInfo is a snapshot of one device that is connected, or awaited by a push. It is a value; nothing in it changes.
type DeviceInfo struct {
	ID             string // name@address, with #2 and so on for others of that name there; unchanged when the device reconnects
	Name           string // as the device calls itself, cut to printable characters
	Address        netip.AddrPort
	Connected      bool
	Since          time.Time // of the connection, or of its end
	Own            bool      // in our own mode
	Properties     []string  // properties.names; nil until answered
	Profiles       []string  // profiles.names; nil until answered
	DefaultProfile string
	Running        bool        // value 0 of the run-state link
	RunningSince   time.Time   // zero if it does not run
	EndedAt        time.Time   // when the last game of this connection ended; zero if there was none
	End            wire.RunEnd // how it ended; released devices don't report it, then it is -1 and empty
	Push           PushProgress
	LogsDropped    uint64 // lines over MaxLogRate
}

// PushPhase is where the push to one device is.
type PushPhase string

// The phases. After PushDone, PushFailed and PushIdle no push is in progress.
const (
	PushIdle     PushPhase = "idle"     // none since the device is known
	PushWaiting  PushPhase = "waiting"  // for the device to reconnect
	PushScanning PushPhase = "scanning" // here and on the device
	PushHashing  PushPhase = "hashing"  // awaiting block hashes of changed files
	PushWriting  PushPhase = "writing"
	PushDone     PushPhase = "done"
	PushFailed   PushPhase = "failed"
)

// PushProgress is the progress of a push to one device. Files and bytes count what is confirmed, not what was sent.
type PushProgress struct {
	Phase      PushPhase
	Current    string // a file in progress; the first of several
	Files      int    // files confirmed in this attempt
	FilesTotal int    // files that the attempt has to write
	Bytes      int64  // bytes of file data confirmed in this attempt
	BytesTotal int64  // bytes of file data that the attempt has to send, as far as known: incoming hashes lower it
	Deleted    int
	Hashed     int64 // while scanning: bytes of the working copy that were hashed, of HashTotal
	HashTotal  int64 // that its cache did not know; 0 when nothing has to be hashed
	Attempt    int   // counted from 1
	Began      time.Time
	Problem    string // why it failed or what it waits for
}

// PushResult is the result of a push to all its devices.
type PushResult struct {
	Devices  []DeviceResult
	Problems []tree.PathProblem // what of the working copy could not be sent, and why
	Files    int                // files of the working copy
	Bytes    int64              // of these files
	digest   wire.Hash          // of the working copy
}

// DeviceResult is the result of a push to one device. Counts are over all its attempts.
type DeviceResult struct {
	Device    string // DeviceInfo.ID
	Err       error  // nil if the trees are equal now, except for what is ignored; else *DeviceError, *WaitError, …
	Written   int    // files
	Deleted   int    // files
	Blocks    int    // blocks sent
	BytesSent int64  // file bytes sent
	Attempts  int
	Took      time.Duration
	Started   bool // the game was started afterwards
}

// Outcome is the result of Start and Stop for one device.
type Outcome struct {
	Device string // DeviceInfo.ID
	Err    error  // nil, *StartTimeoutError, *DeviceError, *WaitError, …
}

// LogLine is one line from a device, or a notice of the desk about it. A line without Source and Text only reports lost lines.
type LogLine struct {
	Device string // DeviceInfo.ID
	Time   time.Time
	Level  wire.LogLevel
	Source string // free text of the device; empty for notices of the desk
	Text   string
	Lost   uint64 // lines of this device dropped before this one: above MaxLogRate, or for a slow reader
}
