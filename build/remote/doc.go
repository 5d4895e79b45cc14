// Package remote is a developer's desk: it serves a working copy to test devices and executes the commands of `collet remote`.
//
// A Station is a desk.Desk with its listener, the paired devices (Pairs), and one method, Do, which takes a Request and reports its
// progress as Events. A command uses a running station, or its own:
//
//	collet remote serve      a Station, and a control socket for other commands (Station.ListenControl)
//	collet remote push …     Dial finds the socket → the station of serve executes the request and returns events
//	                         no socket            → a Station of its own, for the time of the command
//
// # The folder
//
// All state lies in one folder of the user (Home), which other users can't enter. A folder that others can write to is refused:
//
//	devices.json             the paired devices: name, address, since when
//	hashes-<copy>            hashes of one working copy, so that a push does not read it again
//	desk-<address>.sock      the control socket of a running serve, one for each address that is listened on
//
// # The control socket
//
// A Unix domain socket for this user only (mode 0600, which both ends check). The client sends one Request as a line of JSON and reads
// Events, one a line. The last event has the kind "end" and carries the result. A client that closes its side, or sends a line with the
// word "stop", cancels the request. Lines are at most maxLine bytes.
//
// # Admission
//
// The launcher's protocol has no authentication: a client that reaches the port can pose as a device and read the working copy. So a
// station listens on loopback by default. It admits only devices whose name and address are in the list of pairs, or that the person at the
// terminal admits. That holds on loopback, too, since a machine may have other users. Users of the same network or machine can learn a name
// and forge an address. So pairing prevents mistakes and strangers, but not an attacker on the same network.
package remote
