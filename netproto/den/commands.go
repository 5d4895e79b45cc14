package den

import "math"

// connectionRequest offers protocols, preferred first.
type connectionRequest struct{ Protocols []uint16 }

func (p *connectionRequest) code(c *coder) {
	c.command(cmdRequest)
	n := c.count(2, len(p.Protocols), maxProtocols, 2)
	if !c.writing {
		p.Protocols = make([]uint16, n)
	}
	for i := range p.Protocols[:n] {
		c.u16(&p.Protocols[i])
	}
}

// connectionAck answers it.
type connectionAck struct {
	Result   uint8
	Protocol uint16 // only if Result is ackAccepted
}

func (p *connectionAck) code(c *coder) {
	c.command(cmdAck)
	c.u8(&p.Result)
	if p.Result == ackAccepted {
		c.u16(&p.Protocol)
	}
}

// connectionClose ends a connection. It is neither acknowledged nor repeated.
type connectionClose struct{}

func (p *connectionClose) code(c *coder) { c.command(cmdClose) }

// message is an unreliable message.
type message struct{ Payload []byte }

func (p *message) code(c *coder) {
	c.command(cmdMessage)
	c.rest(&p.Payload)
}

// reliableMessage is a whole reliable message.
type reliableMessage struct {
	Number  uint16
	Payload []byte
}

func (p *reliableMessage) code(c *coder) {
	c.command(cmdReliable)
	c.sequence(&p.Number)
	c.rest(&p.Payload)
}

// reliableMessageLong is a part of a reliable message.
type reliableMessageLong struct {
	Number uint16
	Flags  uint8 // partFirst, partLast
	Part   []byte
}

func (p *reliableMessageLong) code(c *coder) {
	c.command(cmdReliableLong)
	c.sequence(&p.Number)
	c.u8(&p.Flags)
	c.rest(&p.Part)
}

// linkState is the common part of reliableLinkState, reliableLinkStateLong and ProtocolCollet's record of a new link.
type linkState struct {
	Link    uint16
	Flags   uint8 // linkReadOnly; if long also linkFirst, linkLast
	Message []byte
	Values  []Value
}

func (p *linkState) code(c *coder) {
	c.u16(&p.Link)
	c.u8(&p.Flags)
	c.blob16(&p.Message)
	c.values(&p.Values)
}

// reliableLinkState requests a link. It is never split; see reliableLinkStateLong.
type reliableLinkState struct {
	Number uint16
	linkState
}

func (p *reliableLinkState) code(c *coder) {
	c.command(cmdLinkState)
	c.sequence(&p.Number)
	p.linkState.code(c)
}

// reliableLinkStateLong is a part of a long one. Implementations agree only on a single part that is both first and last (reference 2.5).
type reliableLinkStateLong struct {
	Number uint16
	linkState
}

func (p *reliableLinkStateLong) code(c *coder) {
	c.command(cmdLinkStateLong)
	c.sequence(&p.Number)
	p.linkState.code(c)
}

// reliableAck acknowledges a number.
type reliableAck struct {
	Number uint16
	Code   uint8 // receivedWell, receivedBroken
}

func (p *reliableAck) code(c *coder) {
	c.command(cmdReliableAck)
	c.sequence(&p.Number)
	c.u8(&p.Code)
}

// linkUp accepts a link.
type linkUp struct{ Link uint16 }

func (p *linkUp) code(c *coder) {
	c.command(cmdLinkUp)
	c.u16(&p.Link)
}

// linkDown refuses a link.
type linkDown struct{ Link uint16 }

func (p *linkDown) code(c *coder) {
	c.command(cmdLinkDown)
	c.u16(&p.Link)
}

// linkUpdate carries changed values of several links. Values are not typed on the wire. When reading, types returns
// those of a link, or nil if updates of it are invalid; then the rest of the datagram is not read (reference 2.7). A
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

func (p *linkUpdate) code(c *coder) {
	c.command(cmdLinkUpdate)
	if c.writing {
		c.count(1, len(p.Links), math.MaxUint8, 0)
		for i := range p.Links {
			p.Links[i].code(c, nil)
		}
		return
	}
	p.Links = nil
	for range c.count(1, 0, math.MaxUint8, 0) {
		types, known := p.peek(c)
		if !known {
			return
		}
		var l linkValues
		if l.code(c, types); c.err != nil {
			return
		}
		p.Links = append(p.Links, l)
	}
}

// peek returns the types of the next link.
func (p *linkUpdate) peek(c *coder) ([]ValueType, bool) {
	ahead := coder{buf: c.buf}
	var link uint16
	if ahead.u16(&link); ahead.err != nil {
		return nil, false
	}
	types := p.types(link)
	return types, types != nil
}

func (l *linkValues) code(c *coder, types []ValueType) {
	c.u16(&l.Link)
	n := c.count(1, len(l.Values), math.MaxUint8, 3)
	if !c.writing {
		l.Values = make([]indexedValue, n)
	}
	for i := range l.Values[:n] {
		v := &l.Values[i]
		c.u16(&v.Index)
		if !c.writing && int(v.Index) < len(types) {
			v.Value.kind = types[v.Index]
		} else if !c.writing {
			c.fail(errType)
		}
		c.value(&v.Value)
	}
}
