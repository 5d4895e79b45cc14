// Package desk is the controller's side of the Remote Launcher protocol; the controller is called the desk. It owns a
// working copy, pushes it to devices, starts the game there and reads its log.
//
// A session is the connection of one device. It is a state machine: step takes an event (message, tick, command) and
// returns effects, and a runner executes them. A push compares the layout of the working copy with the device's and
// sends the difference; it resumes where an interrupted attempt stopped. Several devices are served concurrently. They
// share scans of the working copy, but no connection waits for another.
//
// Released devices write files in place. The desk therefore records which files on such a device are unfinished, and writes them again.
//
// # Errors
//
// A *DeviceError is the fault of a device. An error of a device ends its connection or fails one request, and nothing more.
package desk
