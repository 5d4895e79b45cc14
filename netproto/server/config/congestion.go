package config

import (
	"fmt"
	"regexp"
)

// The words of Network.CongestionControl. Any other is the name of an algorithm of the operating system's.
const (
	// CongestionAuto takes BBR for clients that are far away, where the system has it and lets us: a link of 100 ms that
	// loses 1 % of its packets carried 17 times as much (perf reference, section 5). Clients of this house lose nothing,
	// and BBR's timers cost twice the processor time there: they get what the system has without pacing.
	CongestionAuto = "auto"
	// CongestionSystem leaves the choice to the system.
	CongestionSystem = "system"
)

// algorithmName is what a system may call an algorithm: Linux allows 15 characters (TCP_CA_NAME_MAX).
var algorithmName = regexp.MustCompile(`^[a-z0-9_-]{1,15}$`)

func (s Settings) congestionFault() (key, fault string) {
	if !algorithmName.MatchString(s.Network.CongestionControl) {
		fault = fmt.Sprintf("must be %q, %q or the name of an algorithm such as \"bbr\"", CongestionAuto, CongestionSystem)
	}
	return "Network.CongestionControl", fault
}
