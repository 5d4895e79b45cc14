package update

import (
	"errors"
	"maps"
	"math"
	"time"
)

const (
	// BackoffBase is the first nominal pause. Most broken connections are back at once; half a second is hardly
	// noticed, and a server that restarts is not hit by every client in the same instant.
	BackoffBase = 500 * time.Millisecond
	// BackoffFactor doubles the pause each time: the load on a server in trouble falls as fast as patience lasts.
	BackoffFactor = 2.0
	// BackoffCap is the longest pause: longer, and a player believes that nothing happens any more.
	BackoffCap = 15 * time.Second
	// BackoffJitter is the share of a pause that chance may take away. Half of it spreads the clients of a server that
	// went down over a time as long as the pause itself needs to be useful.
	BackoffJitter = 0.5
	// FirstContactAttempts is how often a server that never answered is asked. With the pauses above it is given up
	// after 1.5 s and the time that connecting takes: the player may want to play offline instead.
	FirstContactAttempts = 3
	// RefusedPatience is how long a server that refuses is asked again, counted in pauses: longer than a restart of 10 s takes.
	// A refusal comes at once and says that the machine is there; what can't be reached takes its own time to say so.
	RefusedPatience = 12 * time.Second
	// RefusedCap is the longest pause of that: a client comes back soon after the server did, and asking costs one packet.
	RefusedCap = 2 * time.Second
	// TransferAttempts is how many attempts in a row may bring nothing after a server was met. The pauses add up to at
	// most 75.5 s, in which a router restarts and a phone finds its network again.
	TransferAttempts = 10
	// DamagedRetries is how often one file that arrived damaged is fetched anew. Once may be a fault of the line, twice
	// bad luck; a third time the server, a proxy or the memory is broken and more traffic does not help.
	DamagedRetries = 2
)

// RetryRules say when another attempt is made. DefaultRetry gives the constants of this package.
type RetryRules struct {
	Base         time.Duration // first nominal pause, above 0
	Factor       float64       // growth of the pause, 1 or more
	Cap          time.Duration // longest nominal pause, Base or more
	Jitter       float64       // share of the pause that chance may take away, 0 to 1
	FirstContact int           // attempts before a server was met, 1 or more
	Transfer     int           // attempts in a row without a byte gained after that, 1 or more
	Damaged      int           // further attempts for one damaged file, 0 or more
	Refused      time.Duration // pauses in a row after which a server that refuses is given up, 0 or more
	RefusedCap   time.Duration // longest nominal pause before such a server was met, 0 or more; 0 is Cap
}

// DefaultRetry returns the rules made of the constants of this package.
func DefaultRetry() RetryRules {
	return RetryRules{
		Base: BackoffBase, Factor: BackoffFactor, Cap: BackoffCap, Jitter: BackoffJitter,
		FirstContact: FirstContactAttempts, Transfer: TransferAttempts, Damaged: DamagedRetries,
		Refused: RefusedPatience, RefusedCap: RefusedCap,
	}
}

// Delay is the pause after so many failures in a row, 1 for the first. dice in [0, 1) is the chance: 0 gives the whole
// nominal pause, which never exceeds Cap. It is total: what lies outside a range is taken as its nearest end.
func (r RetryRules) Delay(failures int, dice float64) time.Duration {
	nominal := float64(r.Base) * math.Pow(r.Factor, float64(max(failures, 1)-1))
	nominal = min(nominal, float64(r.Cap))
	if math.IsNaN(dice) {
		dice = 0
	}
	return time.Duration(nominal * (1 - r.Jitter*min(max(dice, 0), 1)))
}

// check refuses rules that would never end or never begin.
func (r RetryRules) check() error {
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

// mayRetry judges the fault at hand, already counted in Tries and Damaged. What is untrusted stays so, whatever the port
// says about trying again; what is damaged is worth another try, whatever it says.
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
	default: // a server that restarts may break a connection before it refuses, and after
		return s.Tries-s.Refusals < rules.FirstContact
	}
}

// pause is how long to wait after the fault at hand.
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

// countedOnce returns m with one more for key; m itself stays as it is.
func countedOnce(m map[string]int, key string) map[string]int {
	counted := maps.Clone(m)
	if counted == nil {
		counted = make(map[string]int, 1)
	}
	counted[key]++
	return counted
}
