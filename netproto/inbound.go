package netproto

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"collet/netproto/compat"
	"collet/netproto/wire"
)

// bodyStep is the buffer in bytes allocated before any of a frame's body has arrived. It then doubles, so that a
// declared length costs at most twice the received bytes.
const bodyStep = 64 << 10

// header is the deciphered header of a frame.
type header struct {
	size int // of the body, bytes
	id   MessageID
	at   int64 // offset of the body in the stream
}

// inbound is the receiving half of a Conn.
type inbound struct {
	from     *bufio.Reader
	r        io.Reader // the parsed stream: from, or its inflated content; nil before the first frame
	lim      Limits
	ks       keystream
	offset   int64 // bytes parsed
	greeted  bool  // the hello, or its answer, was read
	offering bool  // our hello is an offer, or will be: a refusal may come before it is sent
	err      error // the final error
	spare    spare
}

// Read returns the next message. A message with an unknown id, or without use for this side, is skipped and returned as
// *Unknown. A fault of the peer is a *FormatError; io.EOF is the peer's close between two frames and io.ErrUnexpectedEOF
// inside one; other errors are the stream's. The caller owns the message and its bytes.
func (c *Conn) Read() (Message, error) {
	m, _, err := c.ReadFrame()
	return m, err
}

// ReadFrame is Read. It also returns the buffer that holds the message's bytes; it may be nil. When the message is
// no longer used, Reuse may take the buffer.
func (c *Conn) ReadFrame() (m Message, frame []byte, err error) {
	in := &c.in
	if in.err != nil {
		return nil, nil, in.err
	}
	defer func() { in.err = err }()
	hello := c.side == ServerSide && !in.greeted
	if !hello && c.Generation() == 0 {
		return nil, nil, errNoGeneration
	}
	if err := in.open(c.side == ClientSide && c.Generation().Engine()); err != nil {
		return nil, nil, err
	}
	if hello {
		m, err = c.hello()
		return m, nil, err
	}
	return c.message()
}

// Reuse takes a buffer of ReadFrame back, for a later frame. WithReuse sets how many are kept. It may be called by several
// goroutines.
func (c *Conn) Reuse(frame []byte) { c.in.spare.give(frame) }

// Received is how many bytes of the peer's stream were read, decompressed. Only the reader may call it.
func (c *Conn) Received() int64 { return c.in.offset }

// hello reads a client's first frame and detects the generation.
func (c *Conn) hello() (Message, error) {
	in := &c.in
	h, body, err := in.firstFrame()
	if err != nil {
		return nil, err
	}
	if !c.sealed() {
		return nil, compat.ErrUnsealed
	}
	g, hello, err := detect(body, h.at, in.lim, c.only)
	if err != nil {
		return nil, err
	}
	c.gen.Store(uint32(g))
	if hello.Offer != 0 && hello.Capabilities&CapTags != 0 && (c.asks == nil || c.asks()) {
		return c.askHello(hello)
	}
	in.greet(g, hello)
	return hello, nil
}

// firstFrame reads a frame that must be a hello.
func (in *inbound) firstFrame() (header, []byte, error) {
	h, err := in.header(in.lim.Hello)
	if err != nil {
		return h, nil, err
	}
	if h.id != IDHandshake {
		return h, nil, h.fault("id", errNotHello)
	}
	body, err := in.body(h)
	return h, body, err
}

// sealed reports whether hellos may be accepted.
func (c *Conn) sealed() bool {
	select {
	case <-c.seal:
		return true
	default:
		return c.seal == nil
	}
}

// message reads or skips any other frame.
func (c *Conn) message() (Message, []byte, error) {
	in, g := &c.in, c.Generation()
	h, err := in.header(in.lim.Frame)
	if err != nil {
		return nil, nil, err
	}
	if !in.greeted {
		switch { // only a server that accepted the offer sends this before its answer; one without free slots may refuse even before the offer
		case h.id == IDRefuse && (in.offering || c.out.offered.Load()):
			g = C1
		case h.id == IDAskHello && c.out.offered.Load():
			g = c.own()
		}
	}
	k, known := kindFor(g, h.id, c.side.other())
	if !known || k.skip {
		return &Unknown{Number: h.id, Size: h.size}, nil, in.discard(h)
	}
	if greets(h.id) && in.greeted {
		return nil, nil, h.fault("id", errTwice)
	}
	if k.most > 0 && h.size > k.most {
		return nil, nil, h.fault("length", wire.TooLarge(uint64(h.size), uint64(k.most)))
	}
	body, err := in.body(h)
	if err != nil {
		return nil, nil, err
	}
	if h.id == IDHandshakeAnswer {
		g = c.taken(g, body)
	}
	m := k.create()
	coder := coder{Coder: wire.CipherReader(body, &in.ks), gen: g, lim: in.lim, id: h.id, at: h.at}
	if err := coder.run(m); err != nil {
		return nil, nil, err
	}
	in.greet(g, m)
	return m, body, nil
}

// greets reports whether id is a hello or its answer; each direction has one.
func greets(id MessageID) bool { return id == IDHandshake || id == IDHandshakeAnswer }

// greet records a greeting and starts the cipher with its key.
func (in *inbound) greet(g Generation, m Message) {
	in.greeted = in.greeted || greets(m.ID())
	if key, found := keyOf(g, m); found {
		in.ks = newKeystream(key)
	}
}

// fault is the error for a bad header.
func (h header) fault(field string, err error) error {
	e := &FormatError{Field: field, Offset: h.at - HeaderSize, Err: err}
	switch field {
	case "length":
		e.Offset += 4
	case "id":
		e.Message, e.Offset = h.id, e.Offset+8
	}
	return e
}

// open detects, before the first frame, whether the stream is compressed.
func (in *inbound) open(maybeZlib bool) error {
	if in.r != nil {
		return nil
	}
	in.r = in.from
	if !maybeZlib {
		return nil
	}
	first, err := in.from.Peek(2)
	if err != nil {
		in.r = nil
		return orUnexpected(err, len(first) > 0)
	}
	if !zlibHeader(first) {
		return nil // plain, or not a frame, which header detects
	}
	zr, err := zlib.NewReader(in.from)
	in.r = &inflater{zr}
	return err
}

// zlibHeader recognises a zlib stream (RFC 1950, section 2.2) with the engine's window. A frame never begins like this.
func zlibHeader(first []byte) bool {
	const presetDictionary = 0x20
	return first[0] == 0x78 && first[1]&presetDictionary == 0 && binary.BigEndian.Uint16(first)%31 == 0
}

// orUnexpected turns io.EOF inside a unit into io.ErrUnexpectedEOF.
func orUnexpected(err error, inside bool) error {
	if err == io.EOF && inside {
		return io.ErrUnexpectedEOF
	}
	return err
}

// inflater distinguishes three ends of a compressed stream: the peer closed the connection without finishing the stream,
// which is io.EOF here; it finished the stream, which is a fault; or the stream is damaged.
type inflater struct{ zr io.Reader }

func (z *inflater) Read(p []byte) (int, error) {
	n, err := z.zr.Read(p)
	var corrupt flate.CorruptInputError
	switch {
	case err == io.EOF:
		err = &zlibError{errFinished}
	case err == io.ErrUnexpectedEOF:
		err = io.EOF
	case errors.As(err, &corrupt), err == zlib.ErrChecksum, err == zlib.ErrHeader, err == zlib.ErrDictionary:
		err = &zlibError{err}
	}
	return n, err
}

// zlibError is damage of the compressed stream, to be converted to a FormatError.
type zlibError struct{ error }

// read fills p completely or fails. inside means that the stream must not end here.
func (in *inbound) read(p []byte, inside bool) error {
	n, err := io.ReadFull(in.r, p)
	in.offset += int64(n)
	return in.translate(orUnexpected(err, inside))
}

// translate converts damaged compression to a FormatError.
func (in *inbound) translate(err error) error {
	var damage *zlibError
	if errors.As(err, &damage) {
		return &FormatError{Field: "compressed stream", Offset: in.offset, Err: damage.error}
	}
	return err
}

// header reads the header of the next frame, which may have at most limit bytes.
func (in *inbound) header(limit int) (header, error) {
	var raw [HeaderSize]byte
	if err := in.read(raw[:], false); err != nil {
		return header{}, err
	}
	var head frameHead
	c := wire.CipherReader(raw[:], &in.ks)
	head.code(c)
	h := header{id: head.id, at: in.offset}
	switch {
	case head.signature != frameSignature:
		return h, h.fault("signature", fmt.Errorf("%#08x %w", head.signature, errSignature))
	case head.size < HeaderSize:
		return h, h.fault("length", fmt.Errorf("%d is below the %d of a header", head.size, HeaderSize))
	case uint64(head.size) > uint64(limit):
		return h, h.fault("length", wire.TooLarge(uint64(head.size), uint64(limit)))
	}
	h.size = int(head.size) - HeaderSize
	return h, nil
}

// body reads the body of a frame. Room grows with what arrives.
func (in *inbound) body(h header) ([]byte, error) {
	buf := in.spare.take(h.size)
	if buf == nil {
		buf = make([]byte, 0, min(h.size, bodyStep))
	}
	for len(buf) < h.size {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(h.size, 2*len(buf))), buf...)
		}
		start := len(buf)
		buf = buf[:min(cap(buf), h.size)]
		if err := in.read(buf[start:], true); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// discard skips the body of a frame and keeps the cipher in step.
func (in *inbound) discard(h header) error {
	n, err := io.CopyN(io.Discard, in.r, int64(h.size))
	in.offset += n
	in.ks.skip(h.size)
	return in.translate(orUnexpected(err, true))
}

// spare keeps frame buffers for reuse, so that a long transfer does not allocate. It is safe for concurrent use; the
// zero value keeps nothing.
type spare struct {
	keep    int // largest number of kept buffers: as many as may be in use; set before use
	mu      sync.Mutex
	buffers [][]byte
}

// take returns an empty buffer with room for n bytes, or nil. It drops smaller buffers on the way: they date from smaller requests.
func (s *spare) take(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for last := len(s.buffers) - 1; last >= 0 && n >= bodyStep; last-- {
		buf := s.buffers[last]
		s.buffers[last], s.buffers = nil, s.buffers[:last]
		if cap(buf) >= n {
			return buf[:0]
		}
	}
	return nil
}

// give returns an unused buffer.
func (s *spare) give(buf []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cap(buf) >= bodyStep && len(s.buffers) < s.keep {
		s.buffers = append(s.buffers, buf)
	}
}
