package netproto

// AskHello is the response of a server that accepts an offer but needs the client's tags, which an offer has no room
// for. The client then sends a hello of C1 on the same connection, which is answered. It has no fields.
//
//	client  offer, with CapTags ─>          <─ AskHello  server
//	client  Handshake of C1     ─>   <─ HandshakeAnswer  server
type AskHello struct{}

// ID is the number of the message.
func (*AskHello) ID() MessageID { return IDAskHello }

func (m *AskHello) code(c *coder) {}

// askHello requests a hello of C1 from an offering client, and returns that. It writes from the reader, which is safe
// because a server sends nothing else before the hello, and the message is short enough for any socket buffer.
func (c *Conn) askHello(offer *Handshake) (*Handshake, error) {
	if err := c.Write(&AskHello{}); err != nil {
		return nil, err
	}
	in := &c.in
	h, body, err := in.firstFrame()
	if err != nil {
		return nil, err
	}
	hello, err := tryHello(C1, body, h.at, in.lim)
	if err != nil {
		return nil, err
	}
	if hello.Compatibility != offer.Compatibility || hello.Target != offer.Target {
		return nil, &FormatError{Message: IDHandshake, Field: "compatibility", Offset: h.at, Err: errOtherHello}
	}
	in.greet(C1, hello)
	return hello, nil
}
