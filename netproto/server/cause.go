package server

import "collet/netproto/server/limits"

// Causes of an end.
const (
	causeClosed     limits.Cause = "closed"         // the client closed
	causeBroken     limits.Cause = "broken"         // the network
	causeTold       limits.Cause = "told"           // the client was told that it can't update here
	causeNoHello    limits.Cause = "no_handshake"   // it went without a word
	causeBadHello   limits.Cause = "bad_handshake"  // what it said was none
	causeZeroKey    limits.Cause = "zero_key"       // a handshake with key 0
	causeHandshake  limits.Cause = "handshake_time" // Limits.HandshakeTime
	causeProgress   limits.Cause = "progress_time"  // Limits.ProgressTime
	causePing       limits.Cause = "ping_time"      // Limits.PingTime
	causeIdle       limits.Cause = "idle_time"      // Limits.IdleTime
	causeMalformed  limits.Cause = "malformed"      // not the protocol, or a message above Limits.MessageSize
	causeInFlight   limits.Cause = "in_flight"      // more than Limits.RequestsInFlight
	causeIndex      limits.Cause = "file_index"     // a file that is not there
	causeOffset     limits.Cause = "file_offset"    // behind the end of a file
	causeChanged    limits.Cause = "file_changed"   // the file is not the one that was announced
	causeUnreadable limits.Cause = "file_unreadable"
	causeStopping   limits.Cause = "stopping"   // the server was stopped
	causeComponents limits.Cause = "components" // they differ, and the client was told
	causeKicked     limits.Cause = "kicked"     // the operator's settings let the client in no longer
)

// ends are all causes of an end, for the metrics to begin at 0.
func ends() []limits.Cause {
	return []limits.Cause{
		causeClosed, causeBroken, causeTold, causeNoHello, causeBadHello, causeZeroKey, causeHandshake, causeProgress, causePing,
		causeIdle, causeMalformed, causeInFlight, causeIndex, causeOffset, causeChanged, causeUnreadable, causeStopping,
		causeComponents, causeKicked,
	}
}
