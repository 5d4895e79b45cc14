package device

import (
	"sync"
	"time"

	"collet/platform/notify"
)

// ConnectionPhase is the phase of the connection to the desk.
type ConnectionPhase string

// The phases, see the package comment.
const (
	ConnectionAway     ConnectionPhase = "away"     // waiting before the next attempt
	ConnectionDialing  ConnectionPhase = "dialing"  //
	ConnectionGreeting ConnectionPhase = "greeting" // waiting for the desk to accept this device; the desk may ask its user
	ConnectionUp       ConnectionPhase = "connected"
	ConnectionStopped  ConnectionPhase = "stopped" // Run returned, or was not called yet
)

// Activity is what a device does for its desk.
type Activity string

// The activities.
const (
	ActivityNone      Activity = ""          // waiting for requests
	ActivityScanning  Activity = "scanning"  // of the data folder, for the layout
	ActivityHashing   Activity = "hashing"   // of the blocks of one file
	ActivityReceiving Activity = "receiving" //
	ActivityVerifying Activity = "verifying" // of a file that arrived
)

// Status is a snapshot of a device. It is a value; nothing in it changes.
type Status struct {
	Connection ConnectionPhase
	Since      time.Time // of Connection
	Desk       string    // address of the desk, empty before the first connection
	Own        bool      // in our own mode
	Problem    string    // why there is no connection, or the last failure; for people

	Activity   Activity
	File       string // that Activity concerns
	FileDone   uint64 // bytes
	FileTotal  uint64 // bytes
	Files      int    // written since the desk began to compare
	FilesTotal int    // to write in this push; 0 when not announced, as by released desks
	Bytes      uint64 // received since the desk began to compare
	BytesTotal uint64 // to be sent in this push; 0 when not announced
	Deleted    int    // files deleted since then
	Failed     int    // operations that failed since then

	Run      RunPhase
	RunSince time.Time
	Log      []Line // the last ones, oldest first; at most 200
}

// statusBoard holds the status and notifies watchers. The zero value is not ready; safe for concurrent use.
type statusBoard struct {
	now func() time.Time

	mu       sync.Mutex
	status   Status
	watchers notify.Watchers
}

func newStatusBoard(now func() time.Time) *statusBoard {
	return &statusBoard{now: now, status: Status{Connection: ConnectionStopped, Run: PhaseStopped, Since: now()}}
}

// get is a snapshot without the log.
func (b *statusBoard) get() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

// change changes the status and notifies all watchers, without waiting for them.
func (b *statusBoard) change(do func(s *Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(&b.status)
	b.watchers.Notify()
}

// enter changes the phase of the connection.
func (b *statusBoard) enter(phase ConnectionPhase, problem string) {
	b.change(func(s *Status) {
		if s.Connection != phase {
			s.Connection, s.Since = phase, b.now()
		}
		if problem != "" || phase == ConnectionUp {
			s.Problem = problem
		}
		s.Activity, s.File = ActivityNone, ""
	})
}
