// Package remote is the desk of a developer: it serves a working copy to test devices and does what the commands of
// `collet remote` ask for.
//
// A Station is a desk.Desk with the listener in front of it, the devices that may come (Pairs), and one method, Do,
// which takes a Request and tells its course as Events. A command does its request with whichever station there is:
//
//	collet remote serve      a Station, and a control socket on which others reach it (Station.Attend)
//	collet remote push …     Dial finds the socket → the station of serve does it, and the events come back
//	                         nobody there         → a Station of its own, for the time of the command
//
// # The folder
//
// Everything that is kept lies in one folder of the user's (Home), which others can't enter. One that others could write to
// is refused:
//
//	devices.json             the devices that were let in once: name, address, since when
//	hashes-<copy>            hashes of one working copy, so that a push does not read it again
//	desk-<address>.sock      the control socket of a running serve, one for each address that is listened on
//
// # The control socket
//
// A Unix domain socket that only this user reaches (mode 0600), which both ends check. The client sends one Request as a line of JSON and reads Events, one a
// line, until one of the kind "end", which carries how it went. A client that closes its side, or sends a line with the
// word "stop", cancels the request. Lines are at most maxLine bytes.
//
// # Who is let in
//
// The launcher's protocol has no authentication: who reaches the port can pose as a device and read the working copy. So a
// station listens on loopback unless the caller says otherwise, and it lets in only devices whose name and address are in the
// list of pairs, or about which a person at the terminal says yes. That holds on loopback, too, since a machine may have other
// users. A name can be learnt and an address forged by those who share the network or the machine, so pairing keeps
// strangers and mistakes out, not an attacker in the same room.
package remote
