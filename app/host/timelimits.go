package host

import (
	"context"
	"fmt"
	"time"

	"collet/app/update"
)

const (
	// slowestRate is the rate in bytes a second below which a server counts as silent: a modem of 56 kbit/s has more.
	slowestRate = 4 << 10
	// offlineWhole is how long a start may be held up in all before something is fetched, where the installed game can be played
	// instead.
	offlineWhole = 60 * time.Second
	// restartPatience is how long a first answer may take where there is nothing to play without it, and the settings don't say
	// how long to try: longer than a server takes to restart (update.RefusedPatience), and than a connection to one that is
	// not there.
	restartPatience = 45 * time.Second
	// answerPatience and wholePatience are the other two limits where there is nothing to play.
	answerPatience = 30 * time.Second
	wholePatience  = 10 * time.Minute
	// watchEvery is how often an update is looked at. What lies between two looks counts as watchMost at most, so that a
	// machine that slept does not blame the server.
	watchEvery = 100 * time.Millisecond
	watchMost  = time.Second
)

// timeLimits bound how long servers and mirrors may hold a start up before something is fetched. Only complete answers count, which
// for signed releases are documents that were verified, and what this machine does by itself takes none of the time.
type timeLimits struct {
	first time.Duration // until the first answer
	next  time.Duration // between two of them, unless bytes come at slowestRate
	whole time.Duration // for all of them together
}

// timeLimits are those of the next update. With a set that can be played instead they are what the settings say. Without one a
// server may restart all the same, and its last refusal be followed by the longest pause.
func (u *updates) timeLimits() timeLimits {
	switch after := u.signed.offline; {
	case after > 0 && u.playsOffline() && (!u.opt.Headless || u.opt.Run):
		return timeLimits{after, after, max(offlineWhole, after)}
	case after > 0:
		first := update.RefusedPatience + max(after, update.RefusedCap)
		return timeLimits{first, answerPatience, max(first, wholePatience)}
	default:
		return timeLimits{restartPatience, answerPatience, wholePatience}
	}
}

// progress is how far a source has come before something is fetched.
type progress struct {
	answers int   // complete ones
	bytes   int64 // that came for all of it
	waiting bool  // it waits for a peer
	paused  bool  // the player wants the line to rest
}

// slownessError says which limit a server or a mirror exceeded.
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

// watch returns when the update fetches, has ended or ctx has, with nil, or when a limit is exceeded.
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
		case s.Files > 0: // it fetched, and lost the line
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
