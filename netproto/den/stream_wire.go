package den

import (
	"encoding/binary"
	"hash/crc32"

	"collet/netproto/wire"
)

// Datagrams of ProtocolCollet, by their first byte. They differ from the commands of protocol 0.
const (
	kindSegment byte = 0x20
	kindReceipt byte = 0x21
	kindLoose   byte = 0x22
	kindEnd     byte = 0x23
)

// Sizes and caps of ProtocolCollet.
const (
	segmentHeader = 1 + 4 + 8 + 8 + sealSize // including the seal
	recordHeader  = 4 + 1                    // of a message
	sealSize      = 4

	// maxRanges is how many ranges a receipt has. Ranges are separated by gaps; older gaps are in later receipts, or are retransmitted.
	maxRanges = 32
)

// seal appends the CRC-32C of the datagram that begins at start. The checksum of UDP misses one broken datagram in
// 65536, and a stream can't recover from a wrong length or offset.
func seal(buf []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf[start:], crc32.MakeTable(crc32.Castagnoli)))
}

// unseal returns a datagram without its seal, and whether the seal is right.
func unseal(datagram []byte) ([]byte, bool) {
	n := len(datagram) - sealSize
	if n < 0 {
		return nil, false
	}
	return datagram[:n:n], crc32.Checksum(datagram[:n], crc32.MakeTable(crc32.Castagnoli)) == binary.LittleEndian.Uint32(datagram[n:])
}

// addSealed is add for a datagram of ProtocolCollet.
func (b *batch) addSealed(p packet) bool {
	start := len(b.buf)
	if !b.add(p) {
		return false
	}
	b.buf = seal(b.buf, start)
	b.ends[len(b.ends)-1] = len(b.buf)
	return true
}

// putRecord and parseRecord code the header of a record: u32 length of the rest, u8 command. The length includes the command.
func putRecord(command byte, body int) (header [recordHeader]byte) {
	binary.LittleEndian.PutUint32(header[:], uint32(body+1))
	header[4] = command
	return header
}

func parseRecord(header []byte) (command byte, body int) {
	return header[4], int(binary.LittleEndian.Uint32(header)) - 1
}

// segment carries bytes of the stream. Every transmission has its own number; retransmitted bytes keep their offset.
type segment struct {
	Token  uint32
	Number uint64
	Offset uint64
	Bytes  []byte // empty: a ping, which only needs an acknowledgement
}

func (p *segment) code(c *wire.Coder) {
	command(c, kindSegment)
	c.U32("token", &p.Token)
	c.U64("number", &p.Number)
	c.U64("offset", &p.Offset)
	c.Rest("bytes", &p.Bytes)
}

// receipt acknowledges numbers and announces the receiver's limits.
type receipt struct {
	Token  uint32
	Limit  uint64        // offset before which bytes are accepted
	Room   uint32        // bytes in the receiver's socket buffer
	Delay  uint32        // microseconds since the highest number of Ranges arrived
	Ranges []numberRange // of arrived numbers, highest first
}

// numberRange is from First to Last, inclusive.
type numberRange struct{ First, Last uint64 }

func (p *receipt) code(c *wire.Coder) {
	command(c, kindReceipt)
	c.U32("token", &p.Token)
	c.U64("limit", &p.Limit)
	c.U32("room", &p.Room)
	c.U32("delay", &p.Delay)
	wire.List(c, "ranges", 1, &p.Ranges, maxRanges, 16, func(r *numberRange) {
		c.U64("first", &r.First)
		c.U64("last", &r.Last)
	})
}

// loose is an unreliable message.
type loose struct {
	Token   uint32
	Payload []byte
}

func (p *loose) code(c *wire.Coder) {
	command(c, kindLoose)
	c.U32("token", &p.Token)
	c.Rest("payload", &p.Payload)
}

// end ends the connection.
type end struct{ Token uint32 }

func (p *end) code(c *wire.Coder) {
	command(c, kindEnd)
	c.U32("token", &p.Token)
}
