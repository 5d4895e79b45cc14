// Package qa holds the tools for observing updates and injecting faults. Tests, the demo and the benches share them.
//
// Proxy is a link between a client and a server on this machine: it forwards TCP, counts every byte each way, and can be
// slow, late, silent, cut after an exact number of bytes, or refuse connections.
//
// Screen is a private display: a virtual X server with screenshots, window lists and key presses. ReadXWD reads the picture format of its
// framebuffer.
//
// Process is a program under test with its output and exit code.
//
// Promises. All listeners are on the loopback interface or on a local socket. Everything that a value of this package starts (goroutines,
// processes, temporary folders) has ended when its Close or Stop returns. A Screen's server also ends when the process that started it is
// killed. Counters are exact: a byte is counted when it was passed to the receiving side.
package qa
