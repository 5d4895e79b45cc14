package update

import (
	"errors"
	"maps"
	"math"
	"time"
)

const (
	// BackoffBase is the first nominal pause. Most broken connections recover at once, and half a second is hardly noticed.
	// It also keeps clients from reconnecting to a restarting server in the same instant.
	BackoffBase = 500 * time.Millisecond
	// BackoffFactor doubles the pause each time, so the load on a failing server decreases exponentially.
	BackoffFactor = 2.0
	// BackoffCap is the longest nominal pause. During a longer one a player would assume that the update has stopped.
	BackoffCap = 15 * time.Second
	// BackoffJitter is the share of a pause that the jitter may remove. A share of one half spreads the reconnects over
	// half of the nominal pause.
	BackoffJitter = 0.5
	// FirstContactAttempts is the number of attempts to reach a server that has never answered. With the pauses above the
	// update gives up after 1.5 s plus the time for connecting: the player may prefer to play offline.
	FirstContactAttempts = 3
	// RefusedPatience is how long a refusing server is retried, counted in pauses. It exceeds the 10 s of a server restart.
	// A refusal arrives at once and shows that the host is up; an unreachable host takes a timeout.
	RefusedPatience = 12 * time.Second
	// RefusedCap is the longest of those pauses. Clients then return soon after the server, and an attempt costs one
	// packet.
	RefusedCap = 2 * time.Second
	// TransferAttempts is the number of consecutive attempts without progress after a server has answered. The pauses add
	// up to at most 75.5 s, enough for a router to restart or a phone to regain its network.
	TransferAttempts = 10
	// DamagedRetries is how often a file that arrived damaged is fetched again. The first two arrivals may be damaged by
	// chance. After a third one the server, a proxy or the memory is defective, and more traffic does not help.
	DamagedRetries = 2
)

// RetryRules control when another attempt is made. DefaultRetry returns the constants of this package.
type RetryRules struct {
	Base         time.Duration // first nominal pause, above 0
	Factor       float64       // growth of the pause, 1 or more
	Cap          time.Duration // longest nominal pause, Base or more
	Jitter       float64       // share of the pause that the jitter may remove, 0 to 1
	FirstContact int           // attempts before a server has answered, 1 or more
	Transfer     int           // consecutive attempts without a byte gained after that, 1 or more
	Damaged      int           // further attempts for one damaged file, 0 or more
	Refused      time.Duration // sum of consecutive pauses after which a refusing server is given up, 0 or more
	RefusedCap   time.Duration // longest nominal pause for a refusing server that has not answered yet, 0 or more; 0 is Cap
}

// DefaultRetry returns the constants of this package as rules.
func DefaultRetry() RetryRules {
	return RetryRules{
		Base: BackoffBase, Factor: BackoffFactor, Cap: BackoffCap, Jitter: BackoffJitter,
		FirstContact: FirstContactAttempts, Transfer: TransferAttempts, Damaged: DamagedRetries,
		Refused: RefusedPatience, RefusedCap: RefusedCap,
	}
}

// Delay is the pause after a number of consecutive failures, 1 for the first. dice is a random number in [0, 1): 0 gives
// the whole nominal pause, which never exceeds Cap. Delay is total: it clamps arguments that are out of range.
func (r RetryRules) Delay(failures int, dice float64) time.Duration {
	nominal := float64(r.Base) * math.Pow(r.Factor, float64(max(failures, 1)-1))
	nominal = min(nominal, float64(r.Cap))
	if math.IsNaN(dice) {
		dice = 0
	}
	return time.Duration(nominal * (1 - r.Jitter*min(max(dice, 0), 1)))
}

// validate rejects rules with values out of range.
func (r RetryRules) validate() error {
	switch {
	case r.Base <= 0:
		return errors.New("retry rules: base is not above zero")
	case r.Cap < r.Base:
		return errors.New("retry rules: cap is below base")
	case !(r.Factor >= 1) || math.IsInf(r.Factor, 1):
		return errors.New("retry rules: factor is not a number from 1 on")
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return errors.New("retry rules: jitter is not between 0 and 1")
	case r.Refused < 0 || r.RefusedCap < 0:
		return errors.New("retry rules: the patience with a server that refuses is below zero")
	case r.FirstContact < 1 || r.Transfer < 1 || r.Damaged < 0:
		return errors.New("retry rules: a number of attempts is too small")
	}
	return nil
}

// mayRetry decides about the current fault, which Tries and Damaged already count. It never retries an Untrusted fault and
// always retries a DamagedDownload within its limit, whatever Transient says.
func (s State) mayRetry() bool {
	switch {
	case s.Fault.Cause == Untrusted:
		return false
	case s.Fault.Cause == DamagedDownload:
		if s.Damaged[s.Fault.Subject] > s.Policy.Retry.Damaged {
			return false
		}
	case !s.Fault.Transient:
		return false
	}
	switch rules := s.Policy.Retry; {
	case s.Fault.Refused && s.Waited < rules.Refused:
		return true
	case s.Met:
		return s.Tries < rules.Transfer
	case s.Fault.Refused:
		return s.Tries < rules.FirstContact
	default: // a restarting server may also break a connection, before and after it refuses
		return s.Tries-s.Refusals < rules.FirstContact
	}
}

// pause is the pause after the current fault.
func (s State) pause(dice float64) time.Duration {
	rules := s.Policy.Retry
	switch {
	case s.Met:
		return rules.Delay(s.Tries, dice)
	case !s.Fault.Refused:
		return rules.Delay(s.Tries-s.Refusals, dice)
	case rules.RefusedCap > 0:
		rules.Cap = min(rules.Cap, rules.RefusedCap)
	}
	return rules.Delay(s.Refusals, dice)
}

// countedOnce returns a copy of m with the count of key increased by one.
func countedOnce(m map[string]int, key string) map[string]int {
	counted := maps.Clone(m)
	if counted == nil {
		counted = make(map[string]int, 1)
	}
	counted[key]++
	return counted
}
