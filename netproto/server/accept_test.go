package server_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/servertest"
)

// noted keeps what comes from the other end.
type noted struct {
	net.Conn
	read bytes.Buffer
}

func (n *noted) Read(p []byte) (int, error) {
	got, err := n.Conn.Read(p)
	n.read.Write(p[:got])
	return got, err
}

// inflated is what an engine's server has said, which it has not finished saying.
func inflated(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(r)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%x: %v", said, err)
	}
	return said
}

// TestT3OtherUpdaters lets clients of other updater generations come to a server that has logic versions, settings and much to say:
// each gets exactly the fields of the engine's answer and a farewell, not a byte more, and the connection ends without a complaint.
func TestT3OtherUpdaters(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	servertest.ChangeSettings(t, o, func(s *compat.Settings) {
		s.Messages = map[string]string{compat.PopupUpdater: "Fetch the package again."}
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000, BaseURL: "https://next.example/"}
	})
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		for _, version := range []uint32{0, g.Version() + 9, 0xFFFFFFFF} {
			raw, err := net.Dial("tcp", h.Addr)
			if err != nil {
				t.Fatal(err)
			}
			raw.SetDeadline(time.Now().Add(2 * time.Minute))
			wire := &noted{Conn: raw}
			p := servertest.NewPeer(t, wire, g)
			m := servertest.Handshake(g)
			m.Version, m.Compatibility = version, compat.Derived(99, 1)
			p.Send(m)
			answer := servertest.Next[*netproto.HandshakeAnswer](p)
			if !answer.UpdaterOutdated || answer.CompatibilityOutdated || answer.MetadataOutdated || len(answer.Tags) != 0 {
				t.Errorf("%v, updater %d: %+v", g, version, answer)
			}
			servertest.Next[*netproto.Disconnect](p)
			p.ExpectSilence(20 * time.Millisecond) // the client closes
			said := inflated(t, wire.read.Bytes())
			fields := 15 // of the answer: magic, length, number of the message, two booleans, the key
			if g.Metadata() {
				fields += 5 // a boolean and an empty text
			}
			if want := fields + 9; len(said) != want || !bytes.Equal(said[8:11], []byte{byte(netproto.IDHandshakeAnswer), 0, 1}) || int(said[4]) != fields {
				t.Errorf("%v, updater %d: %d bytes came, want %d: %x", g, version, len(said), want, said)
			}
			raw.Close()
		}
	}
	for _, version := range []uint32{netproto.VersionC1 - 1, netproto.VersionC1 + 1} {
		p := h.Dial(t, netproto.C1)
		m := servertest.VersionHandshake(99, "Linux-x64")
		m.Version = version
		p.Send(m)
		if answer := nextAnswer(p); answer.Verdict != compat.UpdaterMismatch || answer.Rule != compat.RuleUpdater {
			t.Errorf("C1 of version %d: %+v", version, answer)
		}
		if last := p.ReadToEnd(); len(last) != 0 {
			t.Errorf("C1 of version %d: more came: %+v", version, last)
		}
	}
}

// TestRecordsSayWhomTheChangeItselfShutOut: who could not come back before already is none of a later change's business.
func TestRecordsSayWhomTheChangeItselfShutOut(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	for _, logic := range []int32{5, 6, 8} {
		h.Expect(t, servertest.VersionHandshake(logic, "Linux-x64", servertest.WithAccount(fmt.Sprint("player-", logic))), compat.Accept, compat.RuleAccept)
	}
	for _, step := range []struct {
		name   string
		edit   func(*compat.Settings)
		record compat.Impact // of the change alone
		told   compat.Impact // of all that the settings mean, as a dry run tells it
	}{
		{"5 goes", func(s *compat.Settings) { s.ActiveMin = 6 }, compat.Impact{Sessions: 1}, compat.Impact{Sessions: 1}},
		{"a switch of no consequence", func(s *compat.Settings) { s.AutoUpgrade = true }, compat.Impact{}, compat.Impact{Sessions: 1}},
		{"8 goes, too", func(s *compat.Settings) { s.ActiveMax = 7 }, compat.Impact{Sessions: 1, Floors: 1}, compat.Impact{Sessions: 2, Floors: 1}},
		{"and 7", func(s *compat.Settings) { s.ActiveMax = 6 }, compat.Impact{}, compat.Impact{Sessions: 2, Floors: 1}},
		{"all may come", func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 5, 8 }, compat.Impact{}, compat.Impact{}},
	} {
		out := servertest.ChangeSettings(t, o, step.edit)
		records, err := o.Audit.Records(0, 1)
		if err != nil || records[0].Impact != step.record || out.Impact != step.told {
			t.Errorf("%s: the record says %+v, the answer %+v, %v", step.name, records[0].Impact, out.Impact, err)
		}
	}
}
