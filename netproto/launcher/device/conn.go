package device

import (
	"context"
	"net/netip"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// Conn is what a Device needs of a connection; *den.Conn implements it.
type Conn interface {
	// Send queues a reliable message. payload may be reused when it returns. It may block.
	Send(ctx context.Context, payload []byte) error
	// Receive returns the next message.
	Receive(ctx context.Context) (den.Message, error)
	// HandleLinks sets the function that answers the desk's links.
	HandleLinks(accept func(message []byte) *den.State)
	// Protocol is den.ProtocolRelease or den.ProtocolCollet.
	Protocol() uint16
	// RemoteAddr is the desk's address.
	RemoteAddr() netip.AddrPort
	// Close ends the connection in order, Abort at once.
	Close() error
	Abort()
}

var _ Conn = (*den.Conn)(nil)

// DialDesk makes a dial function for Device.Run. address is in one of the forms that den.Dial takes.
func DialDesk(address string, o den.Options) func(ctx context.Context) (Conn, error) {
	o = Transport(o)
	return func(ctx context.Context) (Conn, error) {
		conn, err := den.Dial(ctx, address, o)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
}

// Transport adds to o what the connection of a device needs. The keep-alive is the device's own, since nothing may be
// sent before the desk has accepted it (docs/PROTOCOL.md, "What a device of ours does").
func Transport(o den.Options) den.Options {
	o.Harmless = []byte{wire.CodeKeepAlive}
	o.KeepAlive = -1
	return o
}
