package netproto

import (
	"bytes"

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
