// Package desk is the controller's side of the Remote Launcher protocol: it owns a working copy, pushes it to devices, starts the game there
// and reads its log.
//
// A session is one device's connection: a value that takes events (messages, ticks, commands) and returns effects, and a runner that
// does these. A push compares the layout of the working copy with the device's, sends what differs, and goes on where an attempt broke
// off. Several devices are served at once; they share scans of the working copy, but no connection waits for another.
//
// Released devices write in place; a desk keeps which files it has not seen the end of there, and writes them again.
//
// # Errors
//
// *DeviceError is the fault of a device. No error of a device is more than the end of its connection or of one request.
package desk
