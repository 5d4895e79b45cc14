// Package dentest is the other side of the Remote Launcher as the released programs play it, for tests and benchmarks
// only. It was written from the descriptions of both protocol layers and from recorded exchanges, not from Collet's own
// implementation, so that the two can judge each other.
//
// What there is:
//
//	Proxy            a UDP proxy between one server and any number of clients that drops, delays, doubles, reorders and
//	                 throttles by a seed, applies selective rules, and records every datagram with time and direction
//	Decoder          prints recorded datagrams readably, both layers, long messages put together
//	Core             one connection of the transport without socket or clock: bytes and times in, bytes out
//	Endpoint         sockets and timers around Cores, as connecting or as listening side
//	ReferenceServer  the role of the IDE: owns the tree, synchronises a device, starts and stops its application
//	ReferenceClient  the role of the device
//	Golden           a recorded session of the released programs, datagram by datagram
//
// The peers keep the quirks of the released programs (numbers modulo 65535, the receive window as it is and not as it was
// meant, stored duplicates, one connectionAck, silent ignores, counters that are not reset, …). Where a released program
// would crash, wedge or corrupt memory, the peer writes a Violation into its Journal: a test whose journal has one has
// found something that the real programs don't survive. Quirks that merely cost time or were only made visible are Notes.
//
// Numbers in comments such as "2.4" are sections of the Remote Launcher implementation facts ("Drag[en]gine network
// protocol and Remote Launcher protocol"), "trace 5" those of the recorded traces.
package dentest
