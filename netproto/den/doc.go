// Package den is the Drag[en]gine network protocol: reliable and unreliable messages and linked states over UDP, for
// both ends. It is the transport of the Remote Launcher protocol (docs/PROTOCOL.md).
//
// # Protocols
//
// A client offers protocol numbers, and the server chooses one. ProtocolRelease (0) is that of every released program;
// ProtocolCollet is our own, faster one, which other programs ignore. Set-up and close are the same in both.
//
// # Protocol 0
//
// All integers are little-endian, nothing is padded, one datagram is one command:
//
//	0  connectionRequest       u16 count · count × u16 protocol
//	1  connectionAck           u8 result (0 accepted, 1 rejected, 2 no common protocol) · if 0: u16 protocol
//	2  connectionClose
//	3  message                 payload
//	4  reliableMessage         u16 number · payload
//	5  reliableLinkState       u16 number · u16 link · u8 flags (1 read-only) · u16 length · message · value list
//	6  reliableAck             u16 number · u8 code (0 success, 1 failed: send it again now)
//	7  linkUp                  u16 link
//	8  linkDown                u16 link
//	9  linkUpdate              u8 links · each: u16 link · u8 values · each: u16 index · data
//	10 reliableMessageLong     u16 number · u8 flags (1 first, 2 last) · part of a payload
//	11 reliableLinkStateLong   as 5, with flags 1 read-only, 2 first, 4 last
//
// Commands 4, 5, 10 and 11 share one sequence of numbers in each direction, modulo 65535: 65534 is followed by 0. Ten
// numbers, counted from the oldest unacknowledged one, may be in flight; they are delivered in order.
//
// The released programs have three faults, which this package works around. They answer a request once, so a client
// without an answer retries from another port. They keep a duplicate of an old number and deliver it one lap later. So
// this package retransmits only on evidence of a loss, and a number that was sent or acknowledged twice carries only
// harmless messages from then on. They do not acknowledge an old number after a wrap, so an acknowledgement of n counts
// for everything up to n-10.
//
// # Our protocol
//
// A connection of ProtocolCollet is a stream of records in each direction. Datagrams carry parts of the stream by
// offset. It has selective acknowledgement, flow control, and a send rate based on the measured delivery rate.
// docs/PROTOCOL.md has every byte.
//
// # Promises
//
// A message accepted by Send arrives once and in order, or the connection ends with an error. Allocations for a peer are
// bounded by what it sent and by named caps. A *PeerError is the peer's fault, a *TimeoutError the network's, every
// other error the caller's.
//
// There is neither authentication nor confidentiality: every host that can reach the port can connect. A connection
// accepts datagrams from its peer's address only.
//
// A Listener has one goroutine for its socket, a Conn one for its timers and sending, and one more for the socket if
// it was dialed. Close waits for them.
package den
