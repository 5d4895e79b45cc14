// Package device is the device's side of the Remote Launcher protocol: it keeps a copy of a desk's folder, and starts
// and stops the game in it.
//
// A device reconnects to its desk until it is stopped, and answers every request. Data is written to a part, a scratch file.
// The part replaces the file when its SHA-256 is the one that the desk named, so an interruption at any moment leaves each
// file old or new. Released devices write in place instead; see package desk. The states of a connection, and of the game:
//
//	Away → Dialing → Greeting → Connected → Away …       Stopped is final
//	stopped → starting → running → stopping → stopped
//
// An error of a desk ends its connection or fails one request, and nothing more.
package device
