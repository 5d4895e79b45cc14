package desk

import (
	"context"
	"net/netip"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// connection is what is between a desk and a device as a session needs it: *den.Conn behind denConnection, or memory in tests.
type connection interface {
	// Send queues a message, and may block. payload is the caller's again when it returns.
	Send(ctx context.Context, payload []byte) error
	// Receive is the next message. Its payload stays until release is called.
	Receive(ctx context.Context) (payload []byte, release func(), err error)
	// Link links the run state. changed is told what the device sets it to; it must not block.
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

// Link implements connection. The value list is exactly one uint8 with its initial value, and the desk never writes it: a device
// sends nothing that equals what it was told last (Remote launcher protocol, section 4.1 no. 2 and 11).
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

// Transport is what a listener of a desk needs beside what the caller chose: the message that keeps a connection
// alive, and which may carry what released devices must not take for anything else.
func Transport(o den.Options) den.Options {
	o.Harmless = []byte{wire.CodeKeepAlive}
	o.KeepAlive = -1 // the session knows which messages of the device were processed
	return o
}
