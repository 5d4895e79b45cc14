package netproto_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collet/netproto"
)

// TestPiecesAreThePortion compares what is written in pieces with what the codec writes, in every generation, and that what
// follows is understood.
func TestPiecesAreThePortion(t *testing.T) {
	for _, g := range []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b} {
		for _, size := range []int{0, 1, 1000, 65_000, 65_536, 300_001} {
			data := []byte(strings.Repeat("0123456789abcdef!", size/17+1)[:size])
			var m netproto.Message = &netproto.UpdateFileData{}
			var whole netproto.Message = &netproto.UpdateFileData{Data: data}
			if !g.Engine() {
				m, whole = &netproto.RangeData{Request: 7, Offset: 9}, &netproto.RangeData{Request: 7, Offset: 9, Data: data}
			}
			inPieces, got := afterHello(t, g)
			atOnce, want := afterHello(t, g)
			greet := &netproto.HandshakeAnswer{Version: g.Version(), Key: 5}
			for _, c := range []*netproto.Conn{inPieces, atOnce} {
				if err := c.Write(greet); err != nil {
					t.Fatal(err)
				}
			}
			rest, most := data, 0
			err := errors.Join(
				inPieces.WritePieces(m, size, func(piece []byte) error {
					most = max(most, len(piece))
					rest = rest[copy(piece, rest):]
					return nil
				}),
				atOnce.Write(whole), inPieces.Write(&netproto.Ping{}), atOnce.Write(&netproto.Ping{}),
			)
			if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) || most > 64<<10 {
				t.Errorf("%v, %d bytes: %v; same %t; pieces of up to %d", g, size, err, bytes.Equal(got.Bytes(), want.Bytes()), most)
			}
		}
	}
}

// TestPiecesThatFail: a fault with the first piece leaves the stream as it was, a later one ends it.
func TestPiecesThatFail(t *testing.T) {
	broken := errors.New("the disk")
	c, s := afterHello(t, netproto.G1)
	if err := c.Write(&netproto.HandshakeAnswer{Version: netproto.G1.Version(), Key: 5}); err != nil {
		t.Fatal(err)
	}
	before := s.Len()
	if err := c.WritePieces(&netproto.UpdateFileData{}, 200_000, func([]byte) error { return broken }); err != broken || s.Len() != before {
		t.Errorf("%v, %d bytes", err, s.Len()-before)
	}
	if err := c.Write(&netproto.Ping{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	pieces := 0
	if err := c.WritePieces(&netproto.UpdateFileData{}, 200_000, func([]byte) error {
		if pieces++; pieces == 2 {
			return broken
		}
		return nil
	}); err != broken {
		t.Error(err)
	}
	if err := c.Write(&netproto.Ping{}); err != broken {
		t.Errorf("behind half a frame: %v", err)
	}
	for _, m := range []netproto.Message{&netproto.RangeData{}, &netproto.Ping{}} {
		other, _ := afterHello(t, netproto.G1)
		if err := other.WritePieces(m, 5, func([]byte) error { return nil }); err == nil {
			t.Errorf("%v carries a portion", m.ID())
		}
	}
}
