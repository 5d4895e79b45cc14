package server

import "collet/netproto/server/limits"

// Causes of an end.
const (
	causeClosed     limits.Cause = "closed"         // the client closed
	causeBroken     limits.Cause = "broken"         // the network
	causeTold       limits.Cause = "told"           // the verdict was final
	causeNoHello    limits.Cause = "no_handshake"   // closed before a handshake
	causeBadHello   limits.Cause = "bad_handshake"  // not a handshake
	causeZeroKey    limits.Cause = "zero_key"       // a handshake with key 0
	causeHandshake  limits.Cause = "handshake_time" // Limits.HandshakeTime
	causeProgress   limits.Cause = "progress_time"  // Limits.ProgressTime
	causePing       limits.Cause = "ping_time"      // Limits.PingTime
	causeIdle       limits.Cause = "idle_time"      // Limits.IdleTime
	causeMalformed  limits.Cause = "malformed"      // violates the protocol, or a message above Limits.MessageSize
	causeInFlight   limits.Cause = "in_flight"      // more than Limits.RequestsInFlight
	causeIndex      limits.Cause = "file_index"     // no such file index
	causeOffset     limits.Cause = "file_offset"    // behind the end of the file
	causeChanged    limits.Cause = "file_changed"   // the file changed since it was listed
	causeUnreadable limits.Cause = "file_unreadable"
	causeStopping   limits.Cause = "stopping"   // the server was stopped
	causeComponents limits.Cause = "components" // components differ
	causeKicked     limits.Cause = "kicked"     // the operator's settings no longer admit the client
)

// ends are all causes of an end; their metrics start at 0.
func ends() []limits.Cause {
	return []limits.Cause{
		causeClosed, causeBroken, causeTold, causeNoHello, causeBadHello, causeZeroKey, causeHandshake, causeProgress, causePing,
		causeIdle, causeMalformed, causeInFlight, causeIndex, causeOffset, causeChanged, causeUnreadable, causeStopping,
		causeComponents, causeKicked,
	}
}
