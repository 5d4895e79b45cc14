package netproto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"collet/netproto/wire"
)

// An offer is an engine hello of a client that prefers C1. It is marked by a key that engine clients never draw, because
// one of its bytes is 0. Every engine server accepts such a key: for it, the offer is an ordinary hello. Our server answers
// it in C1, and neither side enciphers anything. So a client without knowledge of its server finds ours without an additional round trip.
const (
	// offerMark is the key's upper half: the letter of our family with its top bit set, and the zero byte.
	offerMark = 0xC100
	// offerMinor is the bit position of C1's minor version; the capabilities are below it.
	offerMinor = 8
)

// OfferKey is the key of an offer of C1 with these capabilities; an offer has room for the lowest eight bits.
func OfferKey(capabilities uint32) uint32 {
	return offerMark<<16 | VersionC1&0xFF<<offerMinor | capabilities&0xFF
}

// isOffer reports whether key is that of an offer.
func isOffer(key uint32) bool { return key>>16 == offerMark }

// accepted returns the hello of C1 for an offer in the layout of g, if m is an offer.
func (m *Handshake) accepted(g Generation) (own *Handshake, is bool) {
	if !isOffer(m.Key) || m.Version != g.Version() {
		return nil, false
	}
	hello := *m
	hello.Version = familyC1<<16 | m.Key>>offerMinor&0xFF
	hello.Capabilities, hello.Key, hello.Offer = m.Key&0xFF, 0, g
	return &hello, true
}

// smallestAnswerC1 is the size of a C1 answer's body without a compatibility version and without tags, in bytes. The
// answer of G1 and G2a is shorter; that of G2b has a bool where C1 has its family.
const smallestAnswerC1 = 4 + 4 + 1 + 1 + 4 + 2 + 4

// taken is the generation of an answer: C1 if the server accepted our offer. Then there is no cipher. No enciphered byte
// was sent before, because an offering client waits for the answer.
func (c *Conn) taken(g Generation, body []byte) Generation {
	if !c.out.offered.Load() || len(body) < smallestAnswerC1 || binary.LittleEndian.Uint32(body)>>16 != familyC1 {
		return g
	}
	return c.own()
}

// own switches from the offer's generation to C1. Only the reader of an offering client calls it, when its writer has nothing to send.
func (c *Conn) own() Generation {
	c.out.mu.Lock() // uncontended
	defer c.out.mu.Unlock()
	c.out.ks = keystream{}
	c.gen.Store(uint32(C1))
	return C1
}

// detect returns the generation whose hello fills body exactly, and that hello. The layout decides, not the version
// number in it, so that a server can still tell a client of another version that its updater is outdated. If several
// layouts fit, the one with its own version number counts, else the first: an unknown number says nothing, and then the
// layout of version 1 is assumed. only lists the server's generations; nil is all.
func detect(body []byte, at int64, lim Limits, only []Generation) (Generation, *Handshake, error) {
	speaks := func(g Generation) bool { return len(only) == 0 || slices.Contains(only, g) }
	if len(body) >= 4 && binary.LittleEndian.Uint32(body)>>16 == familyC1 && speaks(C1) {
		hello, err := tryHello(C1, body, at, lim)
		return C1, hello, err
	}
	var fit Generation
	var found *Handshake
	misfits := &misfitError{}
	for _, g := range engineGenerations() {
		if !speaks(g) {
			continue
		}
		hello, err := tryHello(g, body, at, lim)
		switch {
		case errors.Is(err, errZeroKey):
			return 0, nil, err
		case err != nil:
			misfits.each = append(misfits.each, fmt.Errorf("as %v: %w", g, err))
		case found == nil || hello.Version == g.Version():
			fit, found = g, hello
		}
	}
	if found == nil {
		return 0, nil, &FormatError{Message: IDHandshake, Field: "layout", Offset: at, Err: misfits}
	}
	if own, is := found.accepted(fit); is && speaks(C1) {
		return C1, own, nil
	}
	return fit, found, nil
}

// misfitError lists why a hello fits no generation.
type misfitError struct{ each []error }

func (e *misfitError) Error() string {
	text := "fits no generation"
	for _, err := range e.each {
		text += "; " + err.Error()
	}
	return text
}

// Unwrap returns the fault in each layout.
func (e *misfitError) Unwrap() []error { return e.each }

func tryHello(g Generation, body []byte, at int64, lim Limits) (*Handshake, error) {
	hello := new(Handshake)
	c := &coder{Coder: wire.Reader(body), gen: g, lim: lim, id: IDHandshake, at: at}
	return hello, c.run(hello)
}
