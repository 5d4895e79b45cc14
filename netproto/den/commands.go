package den

import (
	"math"

	"collet/netproto/wire"
)

// connectionRequest offers protocols, preferred first.
type connectionRequest struct{ Protocols []uint16 }

func (p *connectionRequest) code(c *wire.Coder) {
	command(c, cmdRequest)
	wire.List(c, "protocols", 2, &p.Protocols, maxProtocols, 2, func(v *uint16) { c.U16("protocol", v) })
}

// connectionAck answers it.
type connectionAck struct {
	Result   uint8
	Protocol uint16 // only if Result is ackAccepted
}

func (p *connectionAck) code(c *wire.Coder) {
	command(c, cmdAck)
	c.U8("result", &p.Result)
	if p.Result == ackAccepted {
		c.U16("protocol", &p.Protocol)
	}
}

// connectionClose ends a connection. It is neither acknowledged nor repeated.
type connectionClose struct{}

func (p *connectionClose) code(c *wire.Coder) { command(c, cmdClose) }

// message is an unreliable message.
type message struct{ Payload []byte }

func (p *message) code(c *wire.Coder) {
	command(c, cmdMessage)
	c.Rest("payload", &p.Payload)
}

// reliableMessage is a whole reliable message.
type reliableMessage struct {
	Number  uint16
	Payload []byte
}

func (p *reliableMessage) code(c *wire.Coder) {
	command(c, cmdReliable)
	sequence(c, &p.Number)
	c.Rest("payload", &p.Payload)
}

// reliableMessageLong is a part of a reliable message.
type reliableMessageLong struct {
	Number uint16
	Flags  uint8 // partFirst, partLast
	Part   []byte
}

func (p *reliableMessageLong) code(c *wire.Coder) {
	command(c, cmdReliableLong)
	sequence(c, &p.Number)
	c.U8("flags", &p.Flags)
	c.Rest("part", &p.Part)
}

// linkState is the common part of reliableLinkState, reliableLinkStateLong and ProtocolCollet's record of a new link.
type linkState struct {
	Link    uint16
	Flags   uint8 // linkReadOnly; if long also linkFirst, linkLast
	Message []byte
	Values  []Value
}

func (p *linkState) code(c *wire.Coder) {
	c.U16("link", &p.Link)
	c.U8("flags", &p.Flags)
	c.Blob("message", &p.Message, 2, math.MaxUint16)
	codeValues(c, &p.Values)
}

// reliableLinkState requests a link. It is never split; see reliableLinkStateLong.
type reliableLinkState struct {
	Number uint16
	linkState
}

func (p *reliableLinkState) code(c *wire.Coder) {
	command(c, cmdLinkState)
	sequence(c, &p.Number)
	p.linkState.code(c)
}

// reliableLinkStateLong is a part of a long one. Implementations agree only on a single part that is both first and last.
type reliableLinkStateLong struct {
	Number uint16
	linkState
}

func (p *reliableLinkStateLong) code(c *wire.Coder) {
	command(c, cmdLinkStateLong)
	sequence(c, &p.Number)
	p.linkState.code(c)
}

// reliableAck acknowledges a number.
type reliableAck struct {
	Number uint16
	Code   uint8 // receivedWell, receivedBroken
}

func (p *reliableAck) code(c *wire.Coder) {
	command(c, cmdReliableAck)
	sequence(c, &p.Number)
	c.U8("code", &p.Code)
}

// linkUp accepts a link.
type linkUp struct{ Link uint16 }

func (p *linkUp) code(c *wire.Coder) {
	command(c, cmdLinkUp)
	c.U16("link", &p.Link)
}

// linkDown refuses a link.
type linkDown struct{ Link uint16 }

func (p *linkDown) code(c *wire.Coder) {
	command(c, cmdLinkDown)
	c.U16("link", &p.Link)
}

// linkUpdate carries changed values of several links. Values are not typed on the wire. When reading, types returns
// those of a link, or nil if updates of it are invalid; then the rest of the datagram is not read. A
// list shorter than its count is accepted, since a released program can send one.
type linkUpdate struct {
	Links []linkValues
	types func(link uint16) []ValueType
}

// linkValues are the changed values of one link.
type linkValues struct {
	Link   uint16
	Values []indexedValue
}

// indexedValue is one changed value.
type indexedValue struct {
	Index uint16
	Value Value
}

func (p *linkUpdate) code(c *wire.Coder) {
	command(c, cmdLinkUpdate)
	if !c.Reading() {
		wire.List(c, "links", 1, &p.Links, math.MaxUint8, 0, func(l *linkValues) { l.code(c, nil) })
		return
	}
	p.Links = nil
	for range c.Count("links", 1, 0, math.MaxUint8, 0) {
		types, known := p.peek(c)
		if !known {
			return
		}
		var l linkValues
		if l.code(c, types); c.Err() != nil {
			return
		}
		p.Links = append(p.Links, l)
	}
}

// peek returns the types of the next link.
func (p *linkUpdate) peek(c *wire.Coder) ([]ValueType, bool) {
	ahead := *c
	var link uint16
	if ahead.U16("link", &link); ahead.Err() != nil {
		return nil, false
	}
	types := p.types(link)
	return types, types != nil
}

func (l *linkValues) code(c *wire.Coder, types []ValueType) {
	c.U16("link", &l.Link)
	wire.List(c, "values", 1, &l.Values, math.MaxUint8, 3, func(v *indexedValue) {
		c.U16("index", &v.Index)
		if c.Reading() && int(v.Index) < len(types) {
			v.Value.kind = types[v.Index]
		} else if c.Reading() {
			c.Fail("index", errType)
		}
		codeValue(c, &v.Value)
	})
}
