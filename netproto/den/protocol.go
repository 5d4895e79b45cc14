package den

// DefaultPort is the UDP port of the Remote Launcher (docs/PROTOCOL.md, "Drag[en]gine transport").
const DefaultPort = 3413

// Protocol numbers for connectionRequest.
const (
	ProtocolRelease uint16 = 0      // the only one of the released programs
	ProtocolCollet  uint16 = 0xC011 // our own; released programs skip it
)

// MaxUnreliable is the length of the longest unreliable message in bytes: released programs reject datagrams above 65500
// bytes, of which the command takes one, and ProtocolCollet's header nine.
const MaxUnreliable = 65490

// MaxReliable is the length of the longest reliable message in bytes, a gigabyte. Our receivers accept DefaultMaxMessage
// by default, and released ones should get no more than 64 KiB at once: a longer message makes every later datagram slow.
const MaxReliable = 1 << 30

// Commands, the first byte of a datagram (docs/PROTOCOL.md, "Protocol 0").
const (
	cmdRequest       byte = 0
	cmdAck           byte = 1
	cmdClose         byte = 2
	cmdMessage       byte = 3
	cmdReliable      byte = 4
	cmdLinkState     byte = 5
	cmdReliableAck   byte = 6
	cmdLinkUp        byte = 7
	cmdLinkDown      byte = 8
	cmdLinkUpdate    byte = 9
	cmdReliableLong  byte = 10
	cmdLinkStateLong byte = 11
)

// Results in connectionAck.
const (
	ackAccepted   uint8 = 0
	ackRejected   uint8 = 1
	ackNoProtocol uint8 = 2
)

// Codes in reliableAck.
const (
	receivedWell   uint8 = 0
	receivedBroken uint8 = 1 // send it again now
)

// Flags of a part in reliableMessageLong.
const (
	partFirst uint8 = 1
	partLast  uint8 = 2
)

// Flags of a link in reliableLinkState and reliableLinkStateLong.
const (
	linkReadOnly uint8 = 1
	linkFirst    uint8 = 2
	linkLast     uint8 = 4
)

// The sequence of numbers (docs/PROTOCOL.md, "Protocol 0").
const (
	numbers    = 65535 // how many there are; 65535 itself is not used
	windowSize = 10    // numbers that may be in flight, counted from the oldest one
	oldNumbers = 32767 // numbers before the expected one that count as old
)

// Caps on one datagram.
const (
	maxDatagram  = 65507 // UDP over IPv4
	maxSend      = 65500 // released programs do not send more
	maxProtocols = 64    // offered in one request; released programs offer one
)

// distance is how far n is ahead of base.
func distance(base, n uint16) int { return (int(n) - int(base) + numbers) % numbers }

// ahead is the number i steps after n.
func ahead(n uint16, i int) uint16 { return uint16((int(n) + i) % numbers) }
