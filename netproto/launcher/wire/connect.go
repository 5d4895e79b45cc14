package wire

// The codes of the messages about the connection (docs/PROTOCOL.md, "Two dialects").
const (
	CodeConnectRequest         uint8 = 1
	CodeConnectAccepted        uint8 = 2
	CodeRequestSystemProperty  uint8 = 18
	CodeResponseSystemProperty uint8 = 19
	CodeKeepAlive              uint8 = 20
)

// ConnectRequest is the first message of a device. No other message is allowed before it.
type ConnectRequest struct {
	SupportedFeatures Features
	Name              string // free text, at most MaxName bytes; not unique
}

// Code implements Message.
func (m *ConnectRequest) Code() uint8 { return CodeConnectRequest }
func (m *ConnectRequest) code(c *coder) {
	c.signature("Signature", SignatureDevice)
	c.U32("SupportedFeatures", (*uint32)(&m.SupportedFeatures))
	c.text8("Name", &m.Name)
}

// ConnectAccepted is the first message of a desk. A rejection is a close without a message.
type ConnectAccepted struct {
	EnabledFeatures Features // those of SupportedFeatures that the desk supports, too
}

// Code implements Message.
func (m *ConnectAccepted) Code() uint8 { return CodeConnectAccepted }
func (m *ConnectAccepted) code(c *coder) {
	c.signature("Signature", SignatureDesk)
	c.U32("EnabledFeatures", (*uint32)(&m.EnabledFeatures))
}

// RequestSystemProperty requests a property of the device. Released only.
type RequestSystemProperty struct {
	Property string // PropertyNames, …; at most MaxName bytes
}

// Code implements Message.
func (m *RequestSystemProperty) Code() uint8   { return CodeRequestSystemProperty }
func (m *RequestSystemProperty) code(c *coder) { c.text8("Property", &m.Property) }

// ResponseSystemProperty answers RequestSystemProperty, possibly late or never; a device may send it unasked. Released only.
type ResponseSystemProperty struct {
	Property string
	Value    string // empty for an unknown property; lists have one entry a line, without a newline at the end
}

// Code implements Message.
func (m *ResponseSystemProperty) Code() uint8 { return CodeResponseSystemProperty }
func (m *ResponseSystemProperty) code(c *coder) {
	c.text8("Property", &m.Property)
	c.text16("Value", &m.Value)
}

// KeepAlive is sent by either side after ten seconds without a message from the peer. The receiver ignores it: the
// transport's acknowledgement proves that the peer is alive. Released only.
type KeepAlive struct{}

// Code implements Message.
func (m *KeepAlive) Code() uint8 { return CodeKeepAlive }
func (m *KeepAlive) code(*coder) {}
