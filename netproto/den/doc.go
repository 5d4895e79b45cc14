// Package den is the Drag[en]gine network protocol: reliable and unreliable messages and linked states over UDP, for
// both ends. The Remote Launcher protocol (seed 003) stands on it.
//
// # Protocols
//
// A client offers protocol numbers, the server chooses one. ProtocolRelease (0) is what every released program speaks;
// ProtocolCollet is our own, faster one, which others skip. Set-up and close are the same in both.
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
// 4, 5, 10 and 11 share one row of numbers in each direction, modulo 65535: 65534 is followed by 0. Ten numbers, counted
// from the oldest that is not acknowledged, may be under way; they are delivered in order.
//
// The released programs have traps, which this package keeps its peers out of: they answer a request once, so a client
// whose request stays without answer takes another port; they keep a duplicate of an old number and deliver it one lap
// later, so nothing is sent twice without evidence that it was lost, and a number that was sent twice, or acknowledged twice, carries
// something harmless from then on; they do not acknowledge an old number behind a wrap, so an acknowledgement of n counts for
// everything up to n-10.
//
// # Our protocol
//
// A connection of ProtocolCollet is a stream of records in each direction, cut into datagrams by offset, with ranges of
// acknowledged datagrams, flow control, and a rate that follows what the path delivers. docs/PROTOCOL.md has every byte.
//
// # Promises
//
// Messages that Send took arrive once and in order, or the connection ends with an error that says why. Nothing that a
// peer declares makes room for more than it sent, up to named caps. A *PeerError is the peer's fault, a *TimeoutError
// the network's, every other error our own caller's.
//
// Nothing is authentic and nothing is secret: whoever can reach the port can speak. Datagrams are taken from the address
// of the connection alone.
//
// A Listener has one goroutine for its socket, a Conn one for its timers and sending, and one more for the socket if
// it was dialed. Close waits for them.
package den
