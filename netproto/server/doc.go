// Package server is the update server: it offers resource packs and native modules, judges clients, and hands out files
// in portions over the updater's connection, to the engine's clients (generation G1) and to our own (C1).
//
// # What is offered
//
// Open builds a Catalogue, as the source does from its client resources:
//
//	<ClientResources>/<entry>.zip      common files, in the order of Baking.ClientResourceEntries, "Embedded" left out;
//	                                   without a list every *.zip of the folder, sorted
//	<PlatformBinaries>/<target>/<file> the target's own files, sorted; names only, so a folder in there is refused
//
// Each file has one global index, its position in that list, whatever target it belongs to. A client is sent the common
// files and those of its target; a target without a folder gets the common files only. Any known index is served to any
// client. Every file is read once at start, in one pass that computes FNV-1a-64 (G1) and SHA-256 (C1).
//
// In memory mode the content stays in RAM. In disk mode a portion is read when it is asked for, into one buffer of the
// connection; a file that is no longer the one that was hashed (size, time of modification or inode) is refused.
//
// A Catalogue is immutable. Server publishes one through an atomic pointer; Reload builds another and replaces it, or
// fails and leaves the old one. A connection keeps the catalogue that it was greeted with.
//
// # One connection
//
//	accepted ─ hello ─┬→ greeted ⇄ requests, pings ─┬→ client closed
//	                  │                             ├→ hard disconnect (a line in the log says why; C1 is told with Refuse)
//	                  ├→ told its end, lingering    └→ draining: what was asked for is answered, then the farewell
//	                  └→ closed (no valid hello, key 0)
//
// The client speaks first. One message other than a handshake, a handshake that can't be read, a second handshake, a
// client key of 0, silence for 10 s: closed. After the handshake the server asks a ping question at once and every 10 s;
// if the last one is unanswered when the next is due, the connection is closed. Time in which the client is slow to take
// our bytes does not count. Every ping of a G1 client draws a TimeSync. Unknown messages are skipped.
//
// Requests are answered in the order in which they arrive. A G1 client that sends ahead is read no faster than it is
// answered; a C1 client that has more requests unanswered than it was told is refused.
//
// # Goroutines
//
// Serve owns one goroutine that waits for its context and two for each connection: a reader, which is the only one that
// reads, and the session, which is the only one that writes. Serve returns when all of them have ended.
//
// The line "Listening" has the bound address in its field address; programs that start a server wait for it. Log lines
// keep the source's key phrases ("Wrong file index", "outdated updater version", …; fonline reference, section 3.3), so
// that whoever knows its logs finds the same words here.
package server
