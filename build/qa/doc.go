// Package qa holds the tools with which an update is watched and broken on purpose. Tests, the demo and the benches share
// them.
//
// Proxy is a link between a client and a server on this machine: it forwards TCP, counts every byte each way, and can be
// slow, late, silent, cut after an exact number of bytes, or refuse connections.
//
// Screen is a display of one's own: a virtual X server with what is needed to look at it (screenshots, windows) and to
// press keys. ReadXWD reads the picture format of its framebuffer.
//
// Process is a program under test with its output and its end.
//
// Promises. Nothing listens anywhere but on the loopback interface or on a local socket. Whatever a value of this package
// starts (goroutines, processes, temporary folders) is gone when its Close or Stop returned, and a Screen's server also
// ends when the process that started it dies without a chance to clean up. Counters are exact: a byte is counted when it
// was handed to the receiving side.
package qa
