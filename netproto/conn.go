package netproto

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Frame constants (docs/PROTOCOL.md).
const (
	// frameSignature begins every frame.
	frameSignature uint32 = 0x011E9422
	// HeaderSize is the size of signature, length and id, in bytes.
	HeaderSize = 4 + 4 + 1
)

// Conn carries messages over a byte stream. One goroutine may Read at a time; Write may be called from several.
//
// It keeps the ciphers and the compression of both directions, which begin after the handshake and its answer. After an
// error of the stream or of the format every further call returns the same error.
type Conn struct {
	rw   io.ReadWriteCloser
	side Side
	zlib bool
	only []Generation    // generations of a server; nil is all
	asks func() bool     // whether a server requests the tags of offering clients; nil is always
	seal <-chan struct{} // closed when a server may accept hellos; nil is always
	gen  atomic.Uint32   // a Generation; 0 until a server has read the hello
	in   inbound
	out  outbound
}

// Option changes a new Conn.
type Option func(*Conn)

// WithZlib makes a server compress its output in the engine's generations, if on. Both sides of an engine connection
// must agree beforehand (Network.DisableZlibCompression); our client accepts both.
func WithZlib(on bool) Option { return func(c *Conn) { c.zlib = on } }

// WithOnly restricts a server to these generations, like the engine's own servers. A hello of another one does not
// match, and an offer of C1 is not accepted unless C1 is listed.
func WithOnly(only ...Generation) Option { return func(c *Conn) { c.only = only } }

// WithAsking makes a server request the tags of a client that offers C1 only if wanted returns true at that time: the
// request costs a round trip. By default a server always requests them.
func WithAsking(wanted func() bool) Option { return func(c *Conn) { c.asks = wanted } }

// WithSeal makes a server reject hellos until sealed is closed (compat.Registry.Sealed). An earlier hello ends the
// connection with compat.ErrUnsealed, because it would be judged by an incomplete set of components.
func WithSeal(sealed <-chan struct{}) Option { return func(c *Conn) { c.seal = sealed } }

// WithReuse makes a Conn keep up to n unused buffers of ReadFrame, as many as may be in use. By default it keeps none.
func WithReuse(n int) Option { return func(c *Conn) { c.in.spare.keep = n } }

// WithOffer tells a client's Conn that its hello is an offer of C1. A refusal is then accepted even before it is sent.
func WithOffer() Option { return func(c *Conn) { c.in.offering = true } }

// NewConn makes a Conn on rw, which Close closes. A client calls SetGeneration before anything else. Zero fields of lim
// have the defaults of side.
func NewConn(rw io.ReadWriteCloser, side Side, lim Limits, options ...Option) *Conn {
	c := &Conn{rw: rw, side: side}
	c.in = inbound{from: bufio.NewReaderSize(rw, side.readBuffer()), lim: lim.OrDefault(side)}
	c.out.to = rw
	for _, option := range options {
		option(c)
	}
	if c.out.buffers == nil {
		c.out.buffers = new(Buffers)
	}
	return c
}

// readBuffer is the size of a side's read buffer.
func (s Side) readBuffer() int {
	if s == ServerSide {
		return serverReadBuffer
	}
	return ioBuffer
}

// SetGeneration sets the generation of a client. An unsupported one is an error, and so is a second call, or a call on a
// server's side, which detects it from the hello.
func (c *Conn) SetGeneration(g Generation) error {
	if err := g.Check(); err != nil {
		return err
	}
	if c.side != ClientSide || !c.gen.CompareAndSwap(0, uint32(g)) {
		return errors.New("the generation of this connection is not for us to choose")
	}
	return nil
}

// Generation is the generation of the connection, 0 while it is unknown. It may be called at any time.
func (c *Conn) Generation() Generation { return Generation(c.gen.Load()) }

// Close closes the underlying stream, which ends a Read or Write in progress. It sends nothing and leaves a compressed
// stream unfinished, because the engine's clients treat its end as a fault.
func (c *Conn) Close() error { return c.rw.Close() }

// errNoGeneration is the caller's fault: the layouts are unknown.
var errNoGeneration = errors.New("the generation is not known yet")

// sendable returns an error for a message that this side does not send in its generation.
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
