package wire

// The codes of the messages about the connection (Remote launcher protocol, section 3.1).
const (
	CodeConnectRequest         uint8 = 1
	CodeConnectAccepted        uint8 = 2
	CodeRequestSystemProperty  uint8 = 18
	CodeResponseSystemProperty uint8 = 19
	CodeKeepAlive              uint8 = 20
)

// ConnectRequest is the first message of a device. Without it nothing else is allowed.
type ConnectRequest struct {
	SupportedFeatures Features
	Name              string // free text, at most MaxName bytes; several devices may have the same
}

// Code implements Message.
func (m *ConnectRequest) Code() uint8 { return CodeConnectRequest }
func (m *ConnectRequest) code(c *Coder) {
	c.signature("Signature", SignatureDevice)
	c.U32("SupportedFeatures", (*uint32)(&m.SupportedFeatures))
	c.Text8("Name", &m.Name)
}

// ConnectAccepted is the first message of a desk. There is none for a rejection, which is a close.
type ConnectAccepted struct {
	EnabledFeatures Features // those of SupportedFeatures that the desk has, too
}

// Code implements Message.
func (m *ConnectAccepted) Code() uint8 { return CodeConnectAccepted }
func (m *ConnectAccepted) code(c *Coder) {
	c.signature("Signature", SignatureDesk)
	c.U32("EnabledFeatures", (*uint32)(&m.EnabledFeatures))
}

// RequestSystemProperty asks a device about itself. Released only.
type RequestSystemProperty struct {
	Property string // PropertyNames, …; at most MaxName bytes
}

// Code implements Message.
func (m *RequestSystemProperty) Code() uint8   { return CodeRequestSystemProperty }
func (m *RequestSystemProperty) code(c *Coder) { c.Text8("Property", &m.Property) }

// ResponseSystemProperty answers RequestSystemProperty, late or never; a device may send it unasked. Released only.
type ResponseSystemProperty struct {
	Property string
	Value    string // empty for an unknown property; lists have one entry a line, without a newline at the end
}

// Code implements Message.
func (m *ResponseSystemProperty) Code() uint8 { return CodeResponseSystemProperty }
func (m *ResponseSystemProperty) code(c *Coder) {
	c.Text8("Property", &m.Property)
	c.Text16("Value", &m.Value)
}

// KeepAlive is sent by either side after ten seconds in which it got no message, and ignored. The acknowledgement of the
// transport is what proves that the peer lives. Released only.
type KeepAlive struct{}

// Code implements Message.
func (m *KeepAlive) Code() uint8 { return CodeKeepAlive }
func (m *KeepAlive) code(*Coder) {}
