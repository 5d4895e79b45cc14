package limits

// Cause is why a connection ended or was refused. It is the value of a metric's label, and warnings are counted by it.
type Cause string

// Causes of a refusal.
const (
	CauseConnections Cause = "connections"  // Limits.Connections
	CauseAddress     Cause = "address"      // Limits.ConnectionsPerAddress
	CauseAddressRate Cause = "address_rate" // Limits.ConnectionsPerSecondPerAddress
	CauseHTTP        Cause = "http"         // Limits.HTTPConnections
)

// Refusals are all causes of a refusal; their metrics start at 0.
func Refusals() []Cause { return []Cause{CauseConnections, CauseAddress, CauseAddressRate, CauseHTTP} }
