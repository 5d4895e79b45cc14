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
//
// Numbers in comments such as "2.4" are sections of the Remote Launcher implementation facts ("Drag[en]gine network
// protocol and Remote Launcher protocol"), "trace 5" those of the recorded traces.
package dentest
