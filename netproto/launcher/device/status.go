package device

import (
	"context"
	"sync"
	"time"
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

	mu     sync.Mutex
	status Status
	stops  map[chan struct{}]func() bool
	closed bool
}

func newStatusBoard(now func() time.Time) *statusBoard {
	b := &statusBoard{now: now, stops: map[chan struct{}]func() bool{}}
	b.status = Status{Connection: ConnectionStopped, Run: PhaseStopped, Since: now()}
	return b
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
	for ticks := range b.stops {
		signal(ticks)
	}
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

// watch returns a channel with one tick in it. Each change adds a tick if the channel is empty. It is closed when ctx ends.
func (b *statusBoard) watch(ctx context.Context) <-chan struct{} {
	ticks := make(chan struct{}, 1)
	ticks <- struct{}{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		close(ticks)
		return ticks
	}
	b.stops[ticks] = context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, there := b.stops[ticks]; there {
			delete(b.stops, ticks)
			close(ticks)
		}
	})
	return ticks
}

// close closes the channels of all watchers. A buffered tick can still be read.
func (b *statusBoard) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ticks, stop := range b.stops {
		stop()
		close(ticks)
	}
	b.stops, b.closed = nil, true
}
