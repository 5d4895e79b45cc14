package server_test

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
)

// TestT8ConcurrentPUTs has programs that have seen one revision change it over HTTP at the same moment: one gets 200, the others 409
// with the revision that is in force now, and the record of the change is that of the winner.
func TestT8ConcurrentPUTs(t *testing.T) {
	for _, several := range []int{2, 9} {
		set := versioned(t)
		h, o := govern(t, set)
		at := monitored(t, h, set)
		var all sync.WaitGroup
		ready := make(chan struct{})
		statuses, bodies := make([]int, several), make([]string, several)
		for i := range several {
			all.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), "PUT", at+"/api/compat", bytes.NewReader(fmt.Appendf(nil, `{"settings": {"active_min": 6}, "comment": "program %d"}`, i)))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("If-Match", `"1"`)
				r.Header.Set("Authorization", "Bearer "+testSecret)
				<-ready
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Error(err)
				}
				statuses[i], bodies[i] = answer.StatusCode, string(text)
			})
		}
		close(ready)
		all.Wait()
		winner := -1
		for i, status := range statuses {
			var late admin.APIError
			switch {
			case status == http.StatusOK && winner < 0:
				winner = i
			case status != http.StatusConflict:
				t.Errorf("%d of %d: %d %s", i, several, status, bodies[i])
			case json.Unmarshal([]byte(bodies[i]), &late) != nil || late.Code != "stale" || late.Revision != 2:
				t.Errorf("%d of %d lost with %s", i, several, bodies[i])
			}
		}
		records, err := o.Audit.Records(0, 9)
		if winner < 0 || err != nil || len(records) != 2 || records[0].Comment != fmt.Sprint("program ", winner) || o.Settings().Revision != 2 {
			t.Errorf("%d won, revision %d, %+v, %v", winner, o.Settings().Revision, records, err)
		}
	}
}

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
	h, o := govern(t, versioned(t))
	change(t, o, func(s *compat.Settings) {
		s.Messages = map[string]string{compat.PopupUpdater: "Fetch the package again."}
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000, BaseURL: "https://next.example/"}
	})
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		for _, version := range []uint32{0, g.Version() + 9, 0xFFFFFFFF} {
			raw, err := net.Dial("tcp", h.addr)
			if err != nil {
				t.Fatal(err)
			}
			raw.SetDeadline(time.Now().Add(20 * time.Second))
			wire := &noted{Conn: raw}
			p := newPeer(t, wire, g)
			m := hello(g)
			m.Version, m.Compatibility = version, compat.Derived(99, 1)
			p.send(m)
			answer := next[*netproto.HandshakeAnswer](p)
			if !answer.UpdaterOutdated || answer.CompatibilityOutdated || answer.MetadataOutdated || len(answer.Tags) != 0 {
				t.Errorf("%v, updater %d: %+v", g, version, answer)
			}
			next[*netproto.Disconnect](p)
			p.silent(20 * time.Millisecond) // the client closes
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
		p := h.dial(t, netproto.C1)
		m := client(99, "Linux-x64")
		m.Version = version
		p.send(m)
		if answer := nextAnswer(p); answer.Verdict != compat.UpdaterMismatch || answer.Rule != compat.RuleUpdater {
			t.Errorf("C1 of version %d: %+v", version, answer)
		}
		if last := p.gone(); len(last) != 0 {
			t.Errorf("C1 of version %d: more came: %+v", version, last)
		}
	}
}

// TestRecordsSayWhomTheChangeItselfShutOut: who could not come back before already is none of a later change's business.
func TestRecordsSayWhomTheChangeItselfShutOut(t *testing.T) {
	h, o := govern(t, versioned(t))
	for _, logic := range []int32{5, 6, 8} {
		h.expect(t, client(logic, "Linux-x64", account(fmt.Sprint("player-", logic))), compat.Accept, compat.RuleAccept)
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
		out := change(t, o, step.edit)
		records, err := o.Audit.Records(0, 1)
		if err != nil || records[0].Impact != step.record || out.Impact != step.told {
			t.Errorf("%s: the record says %+v, the answer %+v, %v", step.name, records[0].Impact, out.Impact, err)
		}
	}
}
