// Package servertest starts whole servers on loopback for tests of the server's packages. Only tests import it.
//
// A [Server] is a catalogue, a server and, where a test asks for it, an operator with its store. [Start] serves one of the folders that
// [Settings] and [VersionedSettings] write. A [Peer] is a client that sends exactly what a test says. [NewMonitor] and
// [ServeMonitor] add the HTTP port with the admin API and the dashboard.
//
// Every function ends the test at its first fault. What a function starts ends with the test. Servers, peers and logs may be used by
// several goroutines only where their methods say so.
package servertest
