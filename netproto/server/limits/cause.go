package limits

// Cause is why a connection ended or was refused. It is the value of a metric's label. The causes of an end are here, too, because a
// Limiter counts warnings by client and cause, whether the connection was refused or ended later.
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

// Explain says which limit caused a refusal, and which setting changes it.
func (c Cause) Explain() string {
	switch c {
	case CauseAddress:
		return "too many connections from its address, see Limits.ConnectionsPerAddress"
	case CauseAddressRate:
		return "too many new connections from its address, see Limits.ConnectionsPerSecondPerAddress"
	case CauseHTTP:
		return "too many HTTP connections, see Limits.HTTPConnections"
	default:
		return "too many connections, see Limits.Connections"
	}
}

// Causes of an end.
const (
	CauseClosed     Cause = "closed"         // the client closed
	CauseBroken     Cause = "broken"         // the network
	CauseVerdict    Cause = "told"           // the verdict was final
	CauseNoHello    Cause = "no_handshake"   // closed before a handshake
	CauseBadHello   Cause = "bad_handshake"  // not a handshake
	CauseZeroKey    Cause = "zero_key"       // a handshake with key 0
	CauseHandshake  Cause = "handshake_time" // Limits.HandshakeTime
	CauseProgress   Cause = "progress_time"  // Limits.ProgressTime
	CausePing       Cause = "ping_time"      // Limits.PingTime
	CauseIdle       Cause = "idle_time"      // Limits.IdleTime
	CauseMalformed  Cause = "malformed"      // violates the protocol, or a message above Limits.MessageSize
	CauseInFlight   Cause = "in_flight"      // more than Limits.RequestsInFlight
	CauseIndex      Cause = "file_index"     // no such file index
	CauseOffset     Cause = "file_offset"    // behind the end of the file
	CauseChanged    Cause = "file_changed"   // the file changed since it was listed
	CauseUnreadable Cause = "file_unreadable"
	CauseStopping   Cause = "stopping"   // the server was stopped
	CauseComponents Cause = "components" // components differ
	CauseKicked     Cause = "kicked"     // the operator's settings no longer admit the client
)

// Ends are all causes of an end; their metrics start at 0.
func Ends() []Cause {
	return []Cause{
		CauseClosed, CauseBroken, CauseVerdict, CauseNoHello, CauseBadHello, CauseZeroKey, CauseHandshake, CauseProgress, CausePing,
		CauseIdle, CauseMalformed, CauseInFlight, CauseIndex, CauseOffset, CauseChanged, CauseUnreadable, CauseStopping,
		CauseComponents, CauseKicked,
	}
}
