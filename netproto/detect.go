package netproto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// An offer is an engine hello in which a client says that it would rather speak C1. It says so with a key that no engine
// client draws, because one of its bytes is 0 (fonline reference, section 2.3), and that every engine server takes
// (fonline trace, "key with only low byte set"). To an engine's server it is an ordinary hello. Ours answers it in C1, and
// neither side enciphers anything. So a client that does not know its server finds ours with no round trip more.
const (
	// offerMark is the key's upper half: the letter of our family with its top bit set, and the byte that is 0.
	offerMark = 0xC100
	// offerMinor shifts the minor version of C1 to its place; below it are the capabilities.
	offerMinor = 8
)

// offerKey is the key of an offer.
func offerKey(capabilities uint32) uint32 {
	return offerMark<<16 | VersionC1&0xFF<<offerMinor | capabilities&0xFF
}

// isOffer reports whether key is that of an offer.
func isOffer(key uint32) bool { return key>>16 == offerMark }

// accepted is the hello of C1 that an offer in the layout of g stands for, if m is one.
func (m *Handshake) accepted(g Generation) (own *Handshake, is bool) {
	if !isOffer(m.Key) || m.Version != g.Version() {
		return nil, false
	}
	hello := *m
	hello.Version = familyC1<<16 | m.Key>>offerMinor&0xFF
	hello.Capabilities, hello.Key, hello.Offer = m.Key&0xFF, 0, g
	return &hello, true
}

// smallestAnswerC1 is the body of a C1 answer without a compatibility version and without tags, in bytes. The answer of
// G1 and G2a is shorter, and where C1's has its family that of G2b has a bool.
const smallestAnswerC1 = 4 + 4 + 1 + 1 + 4 + 2 + 4

// taken is the generation of an answer, which is C1 where the server took our offer. Then nothing is enciphered any more:
// an offering client waits for the answer before it says anything else.
func (c *Conn) taken(g Generation, body []byte) Generation {
	if !c.out.offered.Load() || len(body) < smallestAnswerC1 || binary.LittleEndian.Uint32(body)>>16 != familyC1 {
		return g
	}
	return c.own()
}

// own makes C1 of the generation in which it was offered. It is for the reader of an offering client, which has nothing to write.
func (c *Conn) own() Generation {
	c.out.mu.Lock() // free at once
	defer c.out.mu.Unlock()
	c.out.ks = keystream{}
	c.gen.Store(uint32(C1))
	return C1
}

// detect finds the generation whose hello fills body exactly, and the hello. The layout decides and not the version
// number in it, so that a server can still tell a client of another version that its updater is outdated; but where
// several fit, the one that has its own version number counts, or else the first: a number that no generation has says no
// more than the layout, and that is of version 1. only is what the server speaks; nil is all.
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

// misfitError says why a hello fits no generation.
type misfitError struct{ each []error }

func (e *misfitError) Error() string {
	text := "fits no generation"
	for _, err := range e.each {
		text += "; " + err.Error()
	}
	return text
}

// Unwrap gives what is wrong in each layout.
func (e *misfitError) Unwrap() []error { return e.each }

func tryHello(g Generation, body []byte, at int64, lim Limits) (*Handshake, error) {
	hello := new(Handshake)
	c := &coder{mode: reading, gen: g, lim: lim, id: IDHandshake, buf: body, at: at, ks: new(keystream)}
	return hello, c.run(hello)
}
