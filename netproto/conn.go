package netproto

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// frame constants (fonline reference, section 2.2).
const (
	// frameSignature begins every frame.
	frameSignature uint32 = 0x011E9422
	// frameHeader is the size of signature, length and id, in bytes.
	frameHeader = 4 + 4 + 1
)

// Conn carries messages over a byte stream. One goroutine may Read at a time; Write may be called from several.
//
// It keeps the ciphers and the compression of both directions: they begin behind the handshake and its answer as these
// pass through. After an error of the stream or of the format every further call returns the same error.
type Conn struct {
	rw   io.ReadWriteCloser
	side Side
	zlib bool
	only []Generation    // what a server speaks; nil is all
	asks func() bool     // whether a server asks offering clients for their tags; nil is always
	seal <-chan struct{} // closed when a server may take hellos; nil is always
	gen  atomic.Uint32   // a Generation; 0 while a server has not read the hello
	in   inbound
	out  outbound
}

// Option changes a new Conn.
type Option func(*Conn)

// WithZlib makes a server compress what it sends in the engine's generations, if on. Both sides of an engine connection
// must agree beforehand (Network.DisableZlibCompression); our client takes either.
func WithZlib(on bool) Option { return func(c *Conn) { c.zlib = on } }

// WithOnly makes a server speak only these generations, as the engine's own servers do. A hello of another one fits
// nothing, and C1 is not taken where it is offered.
func WithOnly(only ...Generation) Option { return func(c *Conn) { c.only = only } }

// WithAsking makes a server ask clients that offer C1 for their tags only where wanted says, when the offer arrives, that it has a
// use for them: asking costs a round trip. Without it a server always asks.
func WithAsking(wanted func() bool) Option { return func(c *Conn) { c.asks = wanted } }

// WithSeal makes a server take no hello before sealed is closed (compat.Registry.Sealed): one that arrives earlier ends the
// connection with compat.ErrUnsealed, for it would be judged by half of the components.
func WithSeal(sealed <-chan struct{}) Option { return func(c *Conn) { c.seal = sealed } }

// NewConn makes a Conn on rw, which it closes in Close. A client calls SetGeneration before anything else. Zero fields
// of lim stand for the defaults of side.
func NewConn(rw io.ReadWriteCloser, side Side, lim Limits, options ...Option) *Conn {
	c := &Conn{rw: rw, side: side}
	c.in = inbound{from: bufio.NewReaderSize(rw, side.readBuffer()), lim: lim.orDefault(side)}
	c.out.to = rw
	for _, option := range options {
		option(c)
	}
	if c.out.buffers == nil {
		c.out.buffers = new(Buffers)
	}
	return c
}

// readBuffer is the size of the buffer that a side reads through.
func (s Side) readBuffer() int {
	if s == ServerSide {
		return serverReadBuffer
	}
	return ioBuffer
}

// SetGeneration says which generation a client speaks. One that is not spoken here is an error, and so is a second call
// or a call on a server's side, which learns it from the hello.
func (c *Conn) SetGeneration(g Generation) error {
	if err := g.check(); err != nil {
		return err
	}
	if c.side != ClientSide || !c.gen.CompareAndSwap(0, uint32(g)) {
		return errors.New("the generation of this connection is not for us to choose")
	}
	return nil
}

// Generation is what the connection speaks, 0 while it is not known. It may be called at any time.
func (c *Conn) Generation() Generation { return Generation(c.gen.Load()) }

// Close closes the stream beneath, which ends a Read or Write under way. Nothing is sent; a compressed stream is left
// unfinished, because the engine's clients take its end for a fault.
func (c *Conn) Close() error { return c.rw.Close() }

// errNoGeneration is our caller's fault: there is nothing to write by.
var errNoGeneration = errors.New("the generation is not known yet")

// sendable is the error for a message that this side does not send in its generation.
func (c *Conn) sendable(g Generation, m Message) error {
	if _, free := m.(*Unknown); free {
		return nil
	}
	if _, fits := kindFor(g, m.ID(), c.side); !fits {
		return fmt.Errorf("%v is not for a %v of %v to send", m.ID(), c.side, g)
	}
	return nil
}

// other is the peer's side.
func (s Side) other() Side {
	if s == ClientSide {
		return ServerSide
	}
	return ClientSide
}
