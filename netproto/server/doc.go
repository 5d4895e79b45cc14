// Package server is the update server: it offers resource packs and native modules, judges clients, and hands out files
// in portions over the updater's connection, to the engine's clients (generations G1, G2a and G2b) and to our own (C1).
//
// # What is offered
//
// Package catalogue finds and checks the files of one moment; a Catalogue is immutable. Server publishes one through an atomic
// pointer. Reload builds another and replaces it, or fails and leaves the old one. A connection keeps the catalogue with which it
// was greeted. The files of a release folder are sent by their names, to C1 clients by GetObject and over HTTP by Monitor.
//
// # Ways to connect
//
// ListenAll listens for plain TCP, TLS, WebSocket and WebSocket over TLS, and gives Serve one net.Listener of them all.
// The handshakes of TLS and WebSocket are part of a connection's first read, so that every limit and the time for a
// handshake hold for them as well; what follows is the same stream of bytes. Certificates are read again when their files
// change.
//
// # One connection
//
//	accepted ─ hello ─┬→ greeted ⇄ requests, pings ─┬→ client closed
//	                  │                             ├→ hard disconnect (a line in the log says why; C1 is told with Refuse)
//	                  ├→ told its end, lingering    └→ draining: what was asked for is answered, then the farewell
//	                  └→ closed (no valid hello, key 0)
//
// The client speaks first. One message other than a handshake, a handshake that can't be read, a second handshake, a
// client key of 0, no handshake in Limits.HandshakeTime: closed. After it the server asks a ping question at once and
// again Limits.PingTime after each answer; a question that is unanswered for Limits.PingTime ends the connection. Time in
// which the client is slow to take our bytes does not count. Every ping of an engine's client draws a TimeSync. Unknown
// messages are skipped.
//
// Requests are answered in the order in which they arrive. An engine's client that sends ahead is read no faster than it is
// answered; a C1 client that has more requests unanswered than it was told is refused.
//
// A C1 client whose line loses packets without being full is asked, once, for several connections, unless the congestion
// control of its connection goes on through losses.
//
// # Limits
//
// Limits has a setting, a default and a reason for everything that a client can make the server spend. A connection enters
// through admit, whatever transport it came by: it waits if connections come faster than the server takes them, is refused
// if there are too many, and is otherwise served. C1 clients are told of a refusal, as far as that is bounded itself.
// Package limits counts connections, warnings and bandwidth by address.
//
// # Compatibility
//
// Every hello is judged by compat.Evaluate against one snapshot. Without more it says what the configuration does: one compatibility
// version. With Settings.Compat.Store there is an operator (package operator), who changes what is in the snapshot while clients
// are connected. Reload refuses a catalogue for which the settings in force make no sense.
//
// With logic versions a client is listed what helps it and nothing else: the module of the judgement's payload, or one of its own
// version that is not older than its own, or only packs. Which version a module is of is said by its sidecar. Where components
// differ and both ends may show theirs, a ComponentManifest goes each way, once, within 2 s, and one line in the log has the result.
//
// # Operations
//
// Monitor serves metrics, health and readiness, and the files of a release folder (RFC 9110: GET, HEAD, one range, strong
// ETags, immutable but for timestamp.json), whose connections have slots and bandwidth like any other; Watch notices a release. Monitor also has
// what is mounted on it: the admin API (package admin) and the dashboard (package dashboard). docs/OPERATING.md is for who uses them.
//
// # Goroutines
//
// Serve owns one goroutine for each listener and two for each connection: a reader, which is the only one that
// reads, and the session, which is the only one that writes. Serve returns when all of them have ended.
//
// The line "Listening" has the bound address in its field address; programs that start a server wait for it. Log lines
// keep the source's key phrases ("Wrong file index", "outdated updater version", …; fonline reference, section 3.3), so
// that whoever knows its logs finds the same words here.
package server
