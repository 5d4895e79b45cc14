// Package device is the device's side of the Remote Launcher protocol: it keeps a copy of a desk's folder, and starts and stops the game
// in it.
//
// A device dials its desk for ever and answers every request. What is written goes to a part, which replaces the file
// when its SHA-256 is the one that the desk named, so that a stop at any moment leaves each file old or new. Released
// devices write in place instead; a desk keeps which files it has not seen the end of there, and writes them again. The states
// of a connection, and of the game:
//
//	Away → Dialing → Greeting → Connected → Away …       Stopped is final
//	stopped → starting → running → stopping → stopped
//
// No error of a desk is more than the end of its connection or the refusal of one request.
package device
