package den

import (
	"errors"

	"collet/netproto/wire"
)

// Possible faults of a datagram, beside those of package wire. They are texts for PeerError.Err.
var (
	errCommand  = errors.New("is another command")
	errNumber   = errors.New("is not a number of the row")
	errType     = errors.New("is not a type of a value")
	errProtocol = errors.New("chooses a protocol that was not offered")
	errMany     = errors.New("has more items than the limit")
)

// packet is one layout: a command of protocol 0, or a datagram of ProtocolCollet.
type packet interface{ code(c *wire.Coder) }

// encode appends p to buf. An error means that p can't be represented, which is the caller's fault.
func encode(buf []byte, p packet) ([]byte, error) {
	c := wire.Writer(buf)
	p.code(c)
	return c.Written(), c.Err()
}

// decode reads p from datagram. Byte fields of p are slices of datagram. Bytes behind the last field are ignored.
func decode(datagram []byte, p packet) error {
	c := wire.Reader(datagram)
	p.code(c)
	return c.Err()
}

// command codes the first byte, which must be code.
func command(c *wire.Coder, code byte) {
	got := code
	c.U8("command", &got)
	c.Require("command", got == code, errCommand)
}

// sequence codes a sequence number.
func sequence(c *wire.Coder, v *uint16) {
	c.U16("number", v)
	c.Require("number", *v < numbers, errNumber)
}
