package launcher

import (
	"context"
	"net/netip"

	"collet/netproto/den"
)

// wire is a connection as a session needs it: *den.Conn behind denWire, or memory in tests.
type wire interface {
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

// denWire is a wire over the real transport.
type denWire struct{ *den.Conn }

var _ wire = denWire{}

// Receive implements wire.
func (w denWire) Receive(ctx context.Context) ([]byte, func(), error) {
	m, err := w.Conn.Receive(ctx)
	return m.Payload, m.Release, err
}

// Link implements wire. The value list is exactly one uint8 with its initial value, and the desk never writes it: a device
// sends nothing that equals what it was told last (Remote launcher protocol, section 4.1 no. 2 and 11).
func (w denWire) Link(changed func(state uint8)) error {
	state := den.NewState(den.Uint8(RunStopped))
	state.OnChange(func(i int) { changed(uint8(state.Get(i).Unsigned(0))) })
	_, err := w.Conn.Link([]byte{LinkRunState}, state, false)
	return err
}

// Address implements wire.
func (w denWire) Address() netip.AddrPort { return w.RemoteAddr() }

// Own implements wire.
func (w denWire) Own() bool { return w.Protocol() == den.ProtocolCollet }

// DeskTransport is what a listener of a desk needs beside what the caller chose: the message that keeps a connection
// alive, and which may carry what released devices must not take for anything else.
func DeskTransport(o den.Options) den.Options {
	o.Harmless = []byte{CodeKeepAlive}
	o.KeepAlive = -1 // the session knows which messages of the device were processed
	return o
}
