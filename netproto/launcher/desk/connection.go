package desk

import (
	"context"
	"net/netip"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// connection is what a session needs of the connection to a device: a *den.Conn behind denConnection, or memory in tests.
type connection interface {
	// Send queues a message, and may block. payload is the caller's again when it returns.
	Send(ctx context.Context, payload []byte) error
	// Receive returns the next message. Its payload is valid until release is called.
	Receive(ctx context.Context) (payload []byte, release func(), err error)
	// Link links the run state. changed is called with each value that the device sets; it must not block.
	Link(changed func(state uint8)) error
	// Close ends the connection in order, Abort at once.
	Close() error
	Abort()
	Address() netip.AddrPort
	// Own reports whether the transport is in our own mode.
	Own() bool
}

// denConnection is a connection over the real transport.
type denConnection struct{ *den.Conn }

var _ connection = denConnection{}

// Receive implements connection.
func (w denConnection) Receive(ctx context.Context) ([]byte, func(), error) {
	m, err := w.Conn.Receive(ctx)
	return m.Payload, m.Release, err
}

// Link implements connection. The value list is exactly one uint8 with its initial value, and the desk never writes it:
// a device does not send a value equal to the last one that it received.
func (w denConnection) Link(changed func(state uint8)) error {
	state := den.NewState(den.Uint8(wire.RunStopped))
	state.OnChange(func(i int) { changed(uint8(state.Get(i).Unsigned(0))) })
	_, err := w.Conn.Link([]byte{wire.LinkRunState}, state, false)
	return err
}

// Address implements connection.
func (w denConnection) Address() netip.AddrPort { return w.RemoteAddr() }

// Own implements connection.
func (w denConnection) Own() bool { return w.Protocol() == den.ProtocolCollet }

// Transport adds to o what a listener of a desk needs: the application's keep-alive as its harmless message, and no
// keep-alive of the transport.
func Transport(o den.Options) den.Options {
	o.Harmless = []byte{wire.CodeKeepAlive}
	o.KeepAlive = -1 // the session knows which messages of the device were processed
	return o
}
