// Package server is the update server: accept, handshake, conversation and drain on the updater's connection. It offers resource
// packs and native modules, judges clients, and sends files in portions. It serves the engine's clients (generations G1, G2a and
// G2b) and Collet's own (C1).
//
// # Packages below
//
// Package config has the settings and their checks. Package limits counts connections, warnings and bandwidth by address. Package
// catalogue finds and checks the offered files. Package certificate loads TLS certificates. Package operator has the compatibility
// settings that change at run time, their store, audit trail and tokens. Package metrics has the metrics.
//
// # Packages above
//
// Package origin serves release folders, health and metrics over HTTP. Package admin has the admin API and the control socket.
// Package dashboard has the operator's pages.
//
// # Catalogue
//
// A Catalogue is immutable: it has the offered files of one moment. Server publishes one through an atomic pointer. Reload builds
// another one and replaces it, or fails and keeps the old one. A connection keeps the catalogue with which it was greeted. The
// files of a release folder are sent by their names: to C1 clients by GetObject, and over HTTP by package origin.
//
// # Transports
//
// ListenAll listens for plain TCP, TLS, WebSocket and WebSocket over TLS, and gives Serve one net.Listener for all of them. The
// handshakes of TLS and WebSocket are part of a connection's first read, so every limit and Limits.HandshakeTime apply to them as
// well. What follows is the same byte stream. Certificates are read again when their files change.
//
// # One connection
//
//	accepted ─ hello ─┬→ greeted ⇄ requests, pings ─┬→ client closed
//	                  │                             ├→ hard disconnect (logged with its reason; a C1 client receives Refuse)
//	                  ├→ final answer, lingering    └→ draining: pending requests are answered, then the farewell
//	                  └→ closed (no valid hello, key 0)
//
// The client speaks first. The connection is closed after: a first message other than a handshake, an unreadable handshake, a
// second handshake, a client key of 0, or no handshake within Limits.HandshakeTime.
//
// After the handshake the server sends a ping question at once, and another one Limits.PingTime after each answer. A question
// that stays unanswered for Limits.PingTime ends the connection. The time that the client takes to receive the server's bytes
// does not count. Every ping of an engine's client is answered with a TimeSync as well. Unknown messages are skipped.
//
// Requests are answered in order of arrival. An engine's client that pipelines requests is read no faster than it is answered. A
// C1 client with more unanswered requests than its handshake allowed is refused.
//
// # Limits
//
// Limits has a setting, a default and a reason for everything that a client can make the server spend. Every connection of every
// transport enters through admit. It waits if connections arrive faster than allowed, is refused above a limit, and is served
// otherwise. C1 clients receive the reason of a refusal; the number of such refusals is limited too.
//
// # Compatibility
//
// compat.Evaluate judges every hello against one snapshot. Without a store the snapshot has the one compatibility version of the
// configuration. With Settings.Compat.Store there is an operator (package operator), which changes the snapshot while clients are
// connected. Reload refuses a catalogue that contradicts the settings in force.
//
// With logic versions a client is listed only what it can use: the module of the judgement's payload, or one of its own version
// that is not older than its own, or only packs. A module's sidecar names its version. Where components differ and both ends may
// show theirs, a ComponentManifest goes each way, once, within 2 s, and one log line has the result.
//
// # Operations
//
// Watch notices a new release. OpenIdle opens the store of a server that does not run. docs/OPERATING.md describes the use.
//
// # Goroutines
//
// Serve owns one goroutine for each listener and two for each connection: a reader, which alone reads, and the session, which
// alone writes. Serve returns when all of them have ended.
//
// The log line "Listening" has the bound address in its field address; programs that start a server wait for it. Log lines keep
// the key phrases of the engine's server ("Wrong file index", "outdated updater version", …), so known searches
// keep working.
package server
