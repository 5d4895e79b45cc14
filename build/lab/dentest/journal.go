package dentest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// Entry is one thing a peer noticed.
type Entry struct {
	Section string // of the implementation facts
	Text    string
}

func (e Entry) String() string { return e.Text + " (" + e.Section + ")" }

// Journal collects what a reference-like peer noticed. Its zero value is ready; it may be used from several goroutines.
type Journal struct {
	mu         sync.Mutex
	violations []Entry
	notes      map[string]int
	last       []string
}

// keepNotes is how many notes a journal keeps in words; all of them are counted.
const keepNotes = 400

// violate records something that the released programs don't survive.
func (j *Journal) violate(section, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.violations = append(j.violations, Entry{section, fmt.Sprintf(format, args...)})
}

// note counts a harmless quirk under its name, and keeps the detail.
func (j *Journal) note(name, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.notes == nil {
		j.notes = map[string]int{}
	}
	j.notes[name]++
	if len(j.last) < keepNotes {
		j.last = append(j.last, name+": "+fmt.Sprintf(format, args...))
	}
}

// Violations are all faults of the other side so far.
func (j *Journal) Violations() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.violations)
}

// Count is how often a quirk was noticed. Names are the Note… constants.
func (j *Journal) Count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.notes[name]
}

// Notes are the first notes in words.
func (j *Journal) Notes() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.last)
}

// MustBeClean fails the test when there is a violation.
func (j *Journal) MustBeClean(t testing.TB) {
	t.Helper()
	for i, v := range j.Violations() {
		if i == 20 {
			t.Errorf("… %d violations in all", len(j.Violations()))
			return
		}
		t.Errorf("violation: %s", v)
	}
}

// Names of notes.
const (
	NoteResend          = "resend"            // a reliable datagram went out again
	NoteStoredOld       = "stored old"        // a copy of a delivered number was stored for the next lap (2.4)
	NoteStoredTwice     = "stored twice"      // a future number was stored a second time (2.4)
	NoteStaleDelivered  = "stale delivered"   // a stored copy came out one lap later instead of the genuine message (2.4)
	NoteOutside         = "outside window"    // dropped without ack (2.4)
	NoteUnknownCommand  = "unknown command"   // ignored (2.1)
	NoteUnknownMessage  = "unknown message"   // ignored (3.1)
	NoteRepeatedRequest = "repeated request"  // a connectionRequest of a known address, ignored (2.2)
	NoteLinkRefused     = "link refused"      // answered linkDown (2.7)
	NoteUpdateLost      = "update lost"       // a linkUpdate for a link that is not up (2.7)
	NoteDropped         = "answer dropped"    // a hash answer while still issuing requests (4.2 #4)
	NoteIgnored         = "ignored"           // an application message without effect and without answer
	NoteDuplicateLink   = "duplicate link id" // a link state for a live id, ignored (2.7)
	NoteUnknownAck      = "unknown ack"       // ignored (2.3)
	NoteUnreliable      = "unreliable"        // an application message that came unreliably
)
