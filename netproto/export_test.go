package netproto

import (
	"bytes"
	"time"

	"collet/netproto/wire"
)

// EncodeFrame writes one frame of g as it stands at offset of the stream that key enciphers.
func EncodeFrame(g Generation, key uint32, offset int, m Message) ([]byte, error) {
	size, err := frameSize(g, m)
	if err != nil {
		return nil, err
	}
	ks := newKeystream(key)
	ks.skip(offset)
	var out bytes.Buffer
	err = writeFrame(&enciphered{&out, &ks, make([]byte, 7)}, g, m, size) // small pieces: long fields cross their borders
	return out.Bytes(), err
}

// DecodeFrame reads the one frame that data holds. Messages that a Conn passes over are read too. data is not changed.
func DecodeFrame(g Generation, key uint32, offset int, lim Limits, data []byte) (Message, error) {
	in := inbound{r: bytes.NewReader(data), lim: lim, ks: newKeystream(key)}
	in.ks.skip(offset)
	h, err := in.header(lim.Frame)
	if err != nil {
		return nil, err
	}
	k, known := kinds[h.id]
	if !known {
		return &Unknown{Number: h.id, Size: h.size}, in.discard(h)
	}
	body, err := in.body(h)
	if err != nil {
		return nil, err
	}
	m := k.create()
	c := &coder{Coder: wire.CipherReader(body, &in.ks), gen: g, lim: lim, id: h.id, at: h.at}
	return m, c.run(m)
}

// Mersenne is the generator behind the cipher.
func Mersenne(seed uint32) [cipherTable]uint32 { return mersenne(seed) }

// KeyTable is the table of a key.
func KeyTable(key uint32) []byte { k := newKeystream(key); return k.table[:] }

// EngineKey sets the ciphers of both directions of c as if the greetings had passed, for tests that start behind them.
func EngineKey(c *Conn, in, out uint32) {
	c.in.ks, c.out.ks, c.in.greeted = newKeystream(in), newKeystream(out), true
}

// Kinds lists every message id with a layout.
func Kinds() map[MessageID]func() Message {
	all := make(map[MessageID]func() Message)
	for id, k := range kinds {
		all[id] = k.create
	}
	return all
}

// Window is the window of a client of C1.
type Window struct{ window }

// NewWindow is one at its start.
func NewWindow(top int64) *Window { return &Window{newWindow(1, 0, top, nil)} }

// Round ends a round.
func (w *Window) Round(took time.Duration) { w.adjust(took) }

// Came notes bytes of an answer.
func (w *Window) Came(n int64, now time.Time) { w.receive(n, time.Time{}, now) }

// Bound is how many bytes may be asked for.
func (w *Window) Bound() int64 { return w.bound() }

// Size is its size in bytes.
func (w *Window) Size() int64 { return w.size }

// Pace is how a client with opt would size its requests behind answer.
func Pace(opt ClientOptions, answer *HandshakeAnswer) (window int, portion int64) {
	c := &Client{opt: opt.withDefaults(), answer: answer}
	return c.pace()
}

// WithKeys makes a client of an engine generation use a recorded key.
func WithKeys(opt ClientOptions, key uint32) ClientOptions {
	opt.newKey = func() uint32 { return key }
	return opt
}

// Offered is the engine hello that a hello of C1 came as, or m itself: the inverse of accepted.
func Offered(m *Handshake) *Handshake {
	if m.Offer == 0 {
		return m
	}
	sent := *m
	sent.Version, sent.Capabilities, sent.Offer = m.Offer.Version(), 0, 0
	sent.Key = offerMark<<16 | m.Version&0xFF<<offerMinor | m.Capabilities&0xFF
	return &sent
}

// OfferKey is the key of an offer of C1.
func OfferKey() uint32 { return offerKey(ClientOptions{}.withDefaults().capabilities()) }
