package dentest

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Commands of the transport, first byte of each datagram (2.1).
const (
	CmdConnectionRequest byte = 0
	CmdConnectionAck     byte = 1
	CmdConnectionClose   byte = 2
	CmdMessage           byte = 3
	CmdReliableMessage   byte = 4
	CmdReliableLinkState byte = 5
	CmdReliableAck       byte = 6
	CmdLinkUp            byte = 7
	CmdLinkDown          byte = 8
	CmdLinkUpdate        byte = 9
	CmdReliableLong      byte = 10
	CmdReliableLinkLong  byte = 11
)

var commandNames = map[byte]string{
	CmdConnectionRequest: "connectionRequest", CmdConnectionAck: "connectionAck", CmdConnectionClose: "connectionClose",
	CmdMessage: "message", CmdReliableMessage: "reliableMessage", CmdReliableLinkState: "reliableLinkState",
	CmdReliableAck: "reliableAck", CmdLinkUp: "linkUp", CmdLinkDown: "linkDown", CmdLinkUpdate: "linkUpdate",
	CmdReliableLong: "reliableMessageLong", CmdReliableLinkLong: "reliableLinkStateLong",
}

// Flags of a part of a long message (2.5).
const (
	partFirst byte = 1
	partLast  byte = 2
)

// Number is the reliable number a datagram carries or acknowledges; ok is false when it has none.
func Number(datagram []byte) (n int, ok bool) {
	if len(datagram) < 3 {
		return 0, false
	}
	switch datagram[0] {
	case CmdReliableMessage, CmdReliableLinkState, CmdReliableAck, CmdReliableLong, CmdReliableLinkLong:
		return int(datagram[1]) | int(datagram[2])<<8, true
	}
	return 0, false
}

// reliable tells whether a datagram waits for an ack.
func reliable(datagram []byte) bool {
	_, numbered := Number(datagram)
	return numbered && datagram[0] != CmdReliableAck
}

// Decoder prints datagrams of one connection. It puts long messages together, so it wants them in order. The zero value
// is ready.
type Decoder struct {
	partial [3][]byte // by direction
	started [3]bool
}

// maxPartial bounds what a decoder keeps of one long message, bytes.
const maxPartial = 64 << 20

// Describe is one line without the bytes: what a datagram means.
func (d *Decoder) Describe(dir Direction, datagram []byte) string {
	if len(datagram) == 0 {
		return "empty"
	}
	name, known := commandNames[datagram[0]]
	if !known {
		return fmt.Sprintf("unknown command %d", datagram[0])
	}
	r := &reader{b: datagram[1:]}
	text := d.command(dir, datagram[0], r)
	if r.short {
		text += " (short)"
	}
	return strings.TrimSpace(name + " " + text)
}

func (d *Decoder) command(dir Direction, command byte, r *reader) string {
	switch command {
	case CmdConnectionRequest:
		return protocols(r)
	case CmdConnectionAck:
		if result := r.u8(); result != 0 {
			return fmt.Sprintf("refused %d", result)
		}
		return fmt.Sprintf("protocol %d", r.u16())
	case CmdMessage:
		return describePayload(r.b)
	case CmdReliableMessage:
		return fmt.Sprintf("#%d ", r.u16()) + describePayload(r.b)
	case CmdReliableLinkState:
		return describeLinkState(r)
	case CmdReliableAck:
		return fmt.Sprintf("#%d code %d", r.u16(), r.u8())
	case CmdLinkUp, CmdLinkDown:
		return fmt.Sprintf("link %d", r.u16())
	case CmdReliableLong:
		return d.long(dir, r)
	case CmdLinkUpdate, CmdReliableLinkLong:
		return hex.EncodeToString(r.b[:min(len(r.b), 64)])
	}
	return ""
}

func protocols(r *reader) string {
	var ids []string
	for n := r.u16(); n > 0 && !r.short; n-- {
		ids = append(ids, fmt.Sprint(r.u16()))
	}
	return "offers " + strings.Join(ids, ", ")
}

func describePayload(payload []byte) string {
	m, err := Parse(payload)
	if err != nil {
		return err.Error()
	}
	return m.String()
}

func describeLinkState(r *reader) string {
	number, id, flags := r.u16(), r.u16(), r.u8()
	message := r.take(int(r.u16()))
	values, err := readValues(r)
	if err != nil {
		return fmt.Sprintf("#%d link %d: %v", number, id, err)
	}
	return fmt.Sprintf("#%d link %d flags %d message %x values %v", number, id, flags, message, values)
}

func (d *Decoder) long(dir Direction, r *reader) string {
	number, flags := r.u16(), r.u8()
	text := fmt.Sprintf("#%d flags %d, %d B", number, flags, len(r.b))
	if flags&partFirst != 0 {
		d.partial[dir], d.started[dir] = nil, true
	}
	if !d.started[dir] || len(d.partial[dir])+len(r.b) > maxPartial {
		return text + " without a first part"
	}
	d.partial[dir] = append(d.partial[dir], r.b...)
	if flags&partLast == 0 {
		return text
	}
	whole := d.partial[dir]
	d.partial[dir], d.started[dir] = nil, false
	return fmt.Sprintf("%s, completes %d B: %s", text, len(whole), describePayload(whole))
}

// Line is Describe with direction, length and the first bytes in hex.
func (d *Decoder) Line(p Datagram) string {
	const shown = 24
	tail := ""
	if len(p.Data) > shown {
		tail = "…"
	}
	fate := ""
	if p.Fate != "" {
		fate = " [" + p.Fate + "]"
	}
	return fmt.Sprintf("%9.1f %s %5d %x%s  %s%s", float64(p.At.Microseconds())/1000, p.Direction, len(p.Data),
		p.Data[:min(len(p.Data), shown)], tail, d.Describe(p.Direction, p.Data), fate)
}
