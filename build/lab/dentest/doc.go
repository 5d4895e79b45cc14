// Package dentest is the other end of the Remote Launcher, for tests and benchmarks only: one scripted peer that behaves as
// the released programs do, and a network that misbehaves.
//
//	Transport   one connection of the released transport without socket and clock: bytes and times in, bytes out
//	Socket      a UDP socket with the connections on it, connecting or listening
//	Device      the role of the device
//	Desk        the role of the desk (the IDE), as a script: one request after the other
//	Recorder    the transport alone: it keeps what arrives
//	Proxy       a UDP proxy that drops, delays, doubles, reorders and throttles by a seed, and records every datagram
//	Golden      a recorded session of the released programs, datagram by datagram
//
// The transport was written from the descriptions of the protocol and from recorded exchanges, and shares no code with
// netproto/den. It keeps the faults of the released programs: numbers modulo 65535, the receive window as it is and not as
// it was meant, stored duplicates, one connectionAck. Messages are those of netproto/launcher/wire, whose vectors are
// recorded ones.
//
// Where a released program would crash, hang or corrupt memory, the peer notes a violation in its Journal. A test whose
// journal has one has found something that the real programs do not survive. Faults that only cost time are counted.
// Tests call this peer the reference.
//
// The text of a violation ends in the number of its kind: 1 the form of a message, 2 the transport, 3 the order and the
// contents of messages, 4 what a desk may not do to a device, 5 unsafe paths. In the names of tests, 41 is our desk or our
// listener before a released peer, 42 our device or our connecting side; the number behind it is that of the case.
package dentest
