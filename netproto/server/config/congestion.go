package config

import (
	"fmt"
	"regexp"
)

// Values of Network.CongestionControl. Any other value is the name of an algorithm of the operating system.
const (
	// CongestionAuto selects BBR for distant clients, where the system offers it: a link of 100 ms that loses 1 % of its packets
	// carried 17 times as much. Clients in the local network have no losses, and BBR's timers cost
	// twice the processor time there: they get an algorithm without pacing.
	CongestionAuto = "auto"
	// CongestionSystem leaves the choice to the system.
	CongestionSystem = "system"
)

// algorithmName is the form of an algorithm's name: Linux allows 15 characters (TCP_CA_NAME_MAX).
var algorithmName = regexp.MustCompile(`^[a-z0-9_-]{1,15}$`)

func (s Settings) congestionFault() (key, fault string) {
	if !algorithmName.MatchString(s.Network.CongestionControl) {
		fault = fmt.Sprintf("must be %q, %q or the name of an algorithm such as \"bbr\"", CongestionAuto, CongestionSystem)
	}
	return "Network.CongestionControl", fault
}
