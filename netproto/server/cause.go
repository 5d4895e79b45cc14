package server

// cause is why a connection ended or was refused: the value of a metric's label and what warnings are counted by.
type cause string

// Causes of a refusal.
const (
	causeConnections cause = "connections"  // Limits.Connections
	causeAddress     cause = "address"      // Limits.ConnectionsPerAddress
	causeAddressRate cause = "address_rate" // Limits.ConnectionsPerSecondPerAddress
	causeHTTP        cause = "http"         // Limits.HTTPConnections
)

// Causes of an end.
const (
	causeClosed     cause = "closed"         // the client closed
	causeBroken     cause = "broken"         // the network
	causeTold       cause = "told"           // the client was told that it can't update here
	causeNoHello    cause = "no_handshake"   // it went without a word
	causeBadHello   cause = "bad_handshake"  // what it said was none
	causeZeroKey    cause = "zero_key"       // a handshake with key 0
	causeHandshake  cause = "handshake_time" // Limits.HandshakeTime
	causeProgress   cause = "progress_time"  // Limits.ProgressTime
	causePing       cause = "ping_time"      // Limits.PingTime
	causeIdle       cause = "idle_time"      // Limits.IdleTime
	causeMalformed  cause = "malformed"      // not the protocol, or a message above Limits.MessageSize
	causeInFlight   cause = "in_flight"      // more than Limits.RequestsInFlight
	causeIndex      cause = "file_index"     // a file that is not there
	causeOffset     cause = "file_offset"    // behind the end of a file
	causeChanged    cause = "file_changed"   // the file is not the one that was announced
	causeUnreadable cause = "file_unreadable"
	causeStopping   cause = "stopping"   // the server was stopped
	causeComponents cause = "components" // they differ, and the client was told
	causeKicked     cause = "kicked"     // the operator's settings let the client in no longer
)

// refusals and ends are all causes, for the metrics to begin at 0.
func refusals() []cause { return []cause{causeConnections, causeAddress, causeAddressRate, causeHTTP} }

func ends() []cause {
	return []cause{
		causeClosed, causeBroken, causeTold, causeNoHello, causeBadHello, causeZeroKey, causeHandshake, causeProgress, causePing,
		causeIdle, causeMalformed, causeInFlight, causeIndex, causeOffset, causeChanged, causeUnreadable, causeStopping,
		causeComponents, causeKicked,
	}
}
