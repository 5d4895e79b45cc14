package netproto_test

import (
	"bytes"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

// TestAnswersToAnOffer reads what servers answer to an offer of C1 in the layout of G2a.
func TestAnswersToAnOffer(t *testing.T) {
	own := netproto.NewAnswer(compat.Judgement{Verdict: compat.Accept})
	own.MaxPortion, own.MaxInFlight = 1000, 4
	engine := netproto.NewAnswer(compat.Judgement{Verdict: compat.Accept})
	engine.Key = 0x01020304
	for name, test := range map[string]struct {
		said []byte
		want netproto.Generation
		last netproto.MessageID
	}{
		"accepted":         {frame(t, netproto.C1, own), netproto.C1, netproto.IDHandshakeAnswer},
		"not understood":   {frame(t, netproto.G2a, engine), netproto.G2a, netproto.IDHandshakeAnswer},
		"asked for tags":   {append(frame(t, netproto.C1, &netproto.AskHello{}), frame(t, netproto.C1, own)...), netproto.C1, netproto.IDHandshakeAnswer},
		"refused in place": {frame(t, netproto.C1, &netproto.Refuse{Reason: netproto.RefuseBusy}), netproto.G2a, netproto.IDRefuse},
	} {
		conn := clientConn(t, netproto.G2a, test.said, nil)
		offer := &netproto.Handshake{Version: netproto.G2a.Version(), Target: "Linux-x64", Key: netproto.OfferKey(netproto.CapPipeline)}
		if err := conn.Write(offer); err != nil {
			t.Fatal(err)
		}
		all := readAll(t, conn)
		if last := all[len(all)-1].ID(); last != test.last || conn.Generation() != test.want || conn.Received() != int64(len(test.said)) {
			t.Errorf("%s: %v in %v after %d bytes", name, last, conn.Generation(), conn.Received())
		}
	}
}

// TestRefusalBeforeTheOffer is read by a client whose hello will be an offer, and by no other.
func TestRefusalBeforeTheOffer(t *testing.T) {
	refusal := frame(t, netproto.C1, &netproto.Refuse{Reason: netproto.RefuseBusy})
	for want, options := range map[netproto.MessageID][]netproto.Option{netproto.IDRefuse: {netproto.WithOffer()}, 0: nil} {
		conn := netproto.NewConn(stream{Reader: bytes.NewReader(refusal)}, netproto.ClientSide, netproto.Limits{}, options...)
		if err := conn.SetGeneration(netproto.G2a); err != nil {
			t.Fatal(err)
		}
		m, err := conn.Read()
		if _, refused := m.(*netproto.Refuse); err != nil || refused != (want != 0) {
			t.Errorf("%T, %v, want %v", m, err, want)
		}
	}
}

// TestReuse gives a frame's buffer back: the next frame of its size lies in it, and a smaller buffer is never used.
func TestReuse(t *testing.T) {
	const size = 100 << 10
	one := frame(t, netproto.C1, &netproto.RangeData{Data: make([]byte, size)})
	larger := frame(t, netproto.C1, &netproto.RangeData{Data: make([]byte, 4*size)})
	input := bytes.Join([][]byte{one, one, larger, one}, nil)
	conn := netproto.NewConn(stream{Reader: bytes.NewReader(input)}, netproto.ClientSide, netproto.Limits{}, netproto.WithReuse(1))
	if err := conn.SetGeneration(netproto.C1); err != nil {
		t.Fatal(err)
	}
	var first *byte
	for i, reused := range []bool{false, true, false, false} {
		_, buffer, err := conn.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if (&buffer[0] == first) != reused {
			t.Errorf("frame %d: reused %t", i, !reused)
		}
		if first == nil {
			first = &buffer[0]
		}
		if i < 2 {
			conn.Reuse(buffer)
			conn.Reuse(make([]byte, size)) // above the number that is kept
		}
	}
}

func TestHelloTagsThatCantBeEncoded(t *testing.T) {
	if err := (netproto.HelloTags{Account: strings.Repeat("a", netproto.MaxAccount+1)}).Check(); err == nil || !strings.Contains(err.Error(), "account") {
		t.Errorf("an account that is too long: %v", err)
	}
	if err := fullHello().Check(); err != nil {
		t.Error(err)
	}
}
