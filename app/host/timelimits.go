package host

import (
	"context"
	"fmt"
	"time"

	"collet/app/update"
)

const (
	// defaultOfflineAfter is how long a start with signed releases waits for an answer before it plays the installed version.
	// Players take a longer wait for a defect.
	defaultOfflineAfter = 3 * time.Second
	// slowestRate is the rate in bytes a second below which a server counts as silent. A modem of 56 kbit/s is faster.
	slowestRate = 4 << 10
	// offlineWhole is how long a start may wait in all before it fetches, if the installed game can be played instead.
	offlineWhole = 60 * time.Second
	// restartPatience is how long a first answer may take if no installed game can be played instead and the settings don't limit the
	// time. It is longer than a server's restart (update.RefusedPatience) and than a connection attempt to a machine that does not
	// answer.
	restartPatience = 45 * time.Second
	// answerPatience and wholePatience are the other two limits for a start without a playable installed game.
	answerPatience = 30 * time.Second
	wholePatience  = 10 * time.Minute
	// watchEvery is the interval at which an update is checked. The time between two checks counts as watchMost at most, so that a
	// machine's sleep is not charged to the server.
	watchEvery = 100 * time.Millisecond
	watchMost  = time.Second
)

// timeLimits limit how long servers and mirrors may delay a start before it fetches. Only complete answers count; for signed releases
// these are verified documents. Local work does not count.
type timeLimits struct {
	first time.Duration // until the first answer
	next  time.Duration // between two answers, unless bytes arrive at slowestRate
	whole time.Duration // for all answers together
}

// timeLimits are the limits of the next update. If the installed set can be played instead, the settings give them. Otherwise the first
// answer may take as long as a restart of the server and the longest pause after its last refusal.
func (u *updates) timeLimits() timeLimits {
	switch after := u.signed.offline; {
	case u.patience() > 0:
		return timeLimits{after, after, max(offlineWhole, after)}
	case after > 0:
		first := update.RefusedPatience + max(after, update.RefusedCap)
		return timeLimits{first, answerPatience, max(first, wholePatience)}
	default:
		return timeLimits{restartPatience, answerPatience, wholePatience}
	}
}

// patience is how long the next update waits for an answer before the installed set is played; 0 if it is not.
func (u *updates) patience() time.Duration {
	if u.playsOffline() && (!u.opt.Headless || u.opt.Run) {
		return u.signed.offline
	}
	return 0
}

// progress is the progress of a source before it fetches.
type progress struct {
	answers int   // complete answers
	bytes   int64 // received in all
	waiting bool  // it waits for a peer
	paused  bool  // the player paused the download
}

// slownessError is the limit that a server or a mirror exceeded.
type slownessError struct {
	answers int
	limit   time.Duration
	whole   bool
}

func (e *slownessError) Error() string {
	switch {
	case e.whole:
		return fmt.Sprintf("the answers took more than %v", e.limit)
	case e.answers == 0:
		return fmt.Sprintf("no answer within %v", e.limit)
	default:
		return fmt.Sprintf("no complete answer within %v, and fewer than %d bytes a second", e.limit, slowestRate)
	}
}

// watch returns nil when the update fetches or ends, or when ctx ends. It returns a slownessError when a limit is exceeded.
func (t timeLimits) watch(ctx context.Context, status func() update.Status, read func() progress) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	last, before := time.Now(), read()
	var silent, whole time.Duration
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		since := min(time.Since(last), watchMost)
		last = time.Now()
		now, s := read(), status()
		switch s.Phase {
		case update.Fetching, update.Verifying, update.Committing, update.Done:
			return nil
		case update.Idle, update.Comparing:
			continue
		}
		switch {
		case s.Files > 0: // it fetched, and lost the connection
			return nil
		case now.paused, s.Phase != update.Waiting && !now.waiting:
			continue
		}
		silent, whole = silent+since, whole+since
		limit := t.next
		if now.answers == 0 {
			limit = t.first
		}
		switch {
		case whole >= t.whole:
			return &slownessError{now.answers, t.whole, true}
		case now.answers > before.answers:
			silent, before = 0, now
		case silent < limit:
		case now.answers > 0 && float64(now.bytes-before.bytes) >= slowestRate*silent.Seconds():
			silent, before = 0, now
		default:
			return &slownessError{now.answers, limit, false}
		}
	}
}
