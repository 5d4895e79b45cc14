package session_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// TestT3OtherGenerations puts everything that C1 could say behind the hellos and answers of the engine's generations: their bytes
// are exactly those that engines send, which for an answer of G1 are the three fields, and the connection closes cleanly.
func TestT3OtherGenerations(t *testing.T) {
	said, judged := fullHello(), compat.Judgement{
		Verdict: compat.UpdateBinaries, Rule: compat.RuleFloor, Reasons: 0x7FF, Warnings: 7, Compatibility: "L7-4c37681f163b1204", Age: compat.ClientOlder,
		Revision: 12, RetryAfter: 600, MinPatch: 3, Floor: 7, Endpoint: &compat.Endpoint{Host: "h", Port: 1},
	}
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		bubble(t, g.String(), func(t *testing.T) {
			var seen *peer
			opt, wait := play(t, g, func(p *peer) {
				seen = p
				m, err := p.conn.Read()
				if err != nil {
					t.Error(err)
					return
				}
				p.hello = m.(*netproto.Handshake)
				answer := netproto.NewAnswer(judged)
				if err := answer.Tell(fullAnswer()); err != nil {
					t.Error(err)
				}
				answer.Key = 0xdeadbeef
				p.say(answer)
				p.list(nil)
				p.waitForClient()
			})
			var verdicts []compat.Verdict
			opt.Identity, opt.Manifest, opt.NewKey = &said, clientManifest(), func() uint32 { return 0x12345678 }
			opt.OnVerdict = func(j compat.Judgement, d compat.Differences) {
				if verdicts = append(verdicts, j.Verdict); !d.Untold || d.Client.Components != clientSet {
					t.Errorf("differences %+v", d)
				}
			}
			c := connect(t, opt)
			if c.Judgement() != (compat.Judgement{Verdict: compat.UpdateBinaries}) || !reflect.DeepEqual(verdicts, []compat.Verdict{compat.UpdateBinaries}) {
				t.Errorf("judgement %+v, told %v", c.Judgement(), verdicts)
			}
			if told := c.Told(); told.Versioned || told.Redirect != nil || told.Server.Logic != compat.NoLogic {
				t.Errorf("told %+v", told)
			}
			c.Close()
			wait()
			if got, want := frame(t, g, seen.hello), frame(t, g, hello(g)); !bytes.Equal(got, want) {
				t.Errorf("hello\n%x\nwant\n%x", got, want)
			}
		})
		answer := netproto.NewAnswer(judged)
		if err := answer.Tell(fullAnswer()); err != nil {
			t.Fatal(err)
		}
		want := "\x22\x94\x1e\x01\x0f\x00\x00\x00\x03\x01\x00\xef\xbe\xad\xde"
		if g.Metadata() {
			want = "\x22\x94\x1e\x01\x14\x00\x00\x00\x03\x01\x00\x00\x00\x00\x00\x00\xef\xbe\xad\xde"
		}
		if answer.Key = 0xdeadbeef; string(frame(t, g, answer)) != want {
			t.Errorf("%v: %x", g, frame(t, g, answer))
		}
	}
}

// TestT3OldServers points a client that has much to say at servers that know nothing of it.
func TestT3OldServers(t *testing.T) {
	said := fullHello()
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		bubble(t, "C1 at "+g.String(), func(t *testing.T) {
			p := &probed{t: t, only: []netproto.Generation{g}}
			_, err := session.Dial(t.Context(), session.Options{Addr: "x:1", Compatibility: "V", Target: "Linux-x64", Dial: p.dial, Identity: &said})
			var closed *session.ClosedError
			if !errors.As(err, &closed) || closed.Answered {
				t.Errorf("error %v", err)
			}
			if p.work.Wait(); p.faults != 1 {
				t.Errorf("%d hellos fitted nothing", p.faults)
			}
		})
	}
	bubble(t, "a later minor version of C1", func(t *testing.T) {
		opt, wait := play(t, netproto.C1, func(p *peer) {
			if _, err := p.conn.Read(); err != nil {
				t.Error(err)
			}
			later := netproto.NewAnswer(compat.Judgement{Verdict: compat.Accept})
			if err := later.Tell(fullAnswer()); err != nil {
				t.Error(err)
			}
			later.Version, later.Tags = netproto.VersionC1+1, later.Tags.With(netproto.TagServerBranch, make([]byte, 99)) // in another layout
			p.say(later)
		})
		started := time.Now()
		opt.Identity, opt.Manifest = &said, clientManifest()
		c := connect(t, opt)
		if want := (compat.Judgement{Verdict: compat.UpdaterMismatch, Rule: compat.RuleUpdater}); c.Judgement() != want || c.Told().Manifest || c.Told().Revision != 0 || !time.Now().Equal(started) {
			t.Errorf("judgement %+v, told %+v, after %v", c.Judgement(), c.Told(), time.Since(started))
		}
		c.Close()
		wait()
	})
}

// TestMaintenanceWithFiles lists and fetches under maintenance where the server lets its clients, and does not where it does not.
func TestMaintenanceWithFiles(t *testing.T) {
	for name, fetch := range map[string]bool{"files": true, "no files": false} {
		bubble(t, name, func(t *testing.T) {
			files := testFiles()
			opt, wait := play(t, netproto.C1, func(p *peer) {
				if _, err := p.conn.Read(); err != nil {
					t.Error(err)
				}
				answer := &netproto.HandshakeAnswer{Version: netproto.VersionC1, Capabilities: 1, Verdict: compat.Maintenance, Rule: compat.RuleMaintenance, MaxPortion: 1000, MaxInFlight: 4}
				if err := answer.Tell(netproto.AnswerTags{RetryAfter: 60, Fetch: fetch}); err != nil {
					t.Error(err)
				}
				if p.say(answer); fetch {
					p.list(files)
					p.serve(files, 1000)
				}
			})
			c := connect(t, opt)
			if c.Transfers() != fetch || c.Judgement().Verdict != compat.Maintenance || c.Judgement().RetryAfter != 60 {
				t.Errorf("transfers %t, judgement %+v", c.Transfers(), c.Judgement())
			}
			offers, err := c.List(t.Context())
			if (err == nil) != fetch || fetch && len(offers) == 0 {
				t.Errorf("%d offers, %v", len(offers), err)
			}
			if fetch {
				if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 100_123}}); !bytes.Equal(got[0], files[0].data) {
					t.Errorf("%d bytes", len(got[0]))
				}
			}
			time.Sleep(time.Second)
			c.Close()
			wait()
		})
	}
}
