package server_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// workshop is a developer's server whose components are Camera, Mailbox and Wallet.
func workshop(t testing.TB) config.Settings {
	t.Helper()
	set := servertest.VersionedSettings(t)
	set.Compat.Development = true
	set.Compat.Manifest = filepath.Join(t.TempDir(), "manifest.json")
	servertest.WriteManifest(t, set.Compat.Manifest, 8, map[string]uint64{"Camera": 1, "Mailbox": 2, "Wallet": 3})
	return set
}

// developer connects with a real client whose components are others, and gives back what it made of the server.
func developer(t testing.TB, addr string, m compat.Manifest) (*session.Client, *servertest.Log) {
	t.Helper()
	log := &servertest.Log{}
	ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	c, err := session.Dial(ctx, session.Options{
		Addr: addr, Compatibility: compat.Derived(m.Build.Logic, m.Build.Components), Target: "Linux-x64", Manifest: &m, Log: zerolog.New(log),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, log
}

// theirs is the client's: no Mailbox, another Camera, a Spell of its own, and Wallet under another id.
func theirs(t testing.TB) compat.Manifest {
	t.Helper()
	m := compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: 8, Time: 1_769_000_000, Seq: 790, ID: "client", Branch: "main"}}
	m.Entries = []compat.Entry{{Name: "Camera", WireID: 1, Hash: 9}, {Name: "Spell", WireID: 5, Hash: 4}, {Name: "Wallet", WireID: 7, Hash: 3}}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestT5Exchange shows both ends the same differences, in every mode and under both policies.
func TestT5Exchange(t *testing.T) {
	t.Parallel()
	for _, mode := range []compat.ManifestMode{compat.ManifestFull, compat.ManifestHashes, compat.ManifestNone} {
		for _, policy := range []compat.Policy{compat.PolicyEnforce, compat.PolicyWarn} {
			t.Run(fmt.Sprint(mode, " ", policy), func(t *testing.T) {
				set := workshop(t)
				h, o := servertest.StartWithToken(t, set)
				servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Manifest, s.Components = mode, policy })
				c, _ := developer(t, h.Addr, theirs(t))
				j, d := c.Judgement(), c.Differences()
				if plays := policy == compat.PolicyWarn; j.Plays() != plays || !plays && j.Verdict != compat.ComponentsMismatch {
					t.Fatalf("judged %+v", j)
				}
				if policy == compat.PolicyWarn {
					if _, err := c.List(t.Context()); err != nil {
						t.Errorf("the conversation does not go on: %v", err)
					}
				}
				line := h.Log.WaitFor(t, `"result":"replied"`)
				if mode == compat.ManifestNone {
					if !d.Untold || strings.Contains(line, "Mailbox") {
						t.Errorf("the client knows %+v, the log %s", d, line)
					}
					return
				}
				want := map[string]compat.Class{"Camera": compat.ClassModified, "Mailbox": compat.ClassAdded, "Spell": compat.ClassRemoved, "Wallet": compat.ClassRenumbered}
				if d.Untold || len(d.Items) != len(want) || d.Age != compat.ClientOlder {
					t.Fatalf("the client knows %+v", d)
				}
				for _, item := range d.Items {
					name := item.Name
					if mode == compat.ManifestHashes && name[0] == '#' {
						name = "Mailbox"
					}
					if want[name] != item.Class {
						t.Errorf("%s is %s, want %s", item.Name, item.Class, want[name])
					}
				}
				for _, part := range []string{"age=client_older", fmt.Sprintf("rule=%d ", j.Rule), "only_client=", "differs=", "renumbered=", "peer=127.0.0.1"} {
					if !strings.Contains(line, part) {
						t.Errorf("%s lacks %s", line, part)
					}
				}
				if mode == compat.ManifestFull && (!strings.Contains(line, "only_server=Mailbox") || !strings.Contains(line, "only_client=Spell") || !strings.Contains(line, "differs=Camera") || !strings.Contains(line, "renumbered=Wallet")) {
					t.Errorf("the line is %s", line)
				}
			})
		}
	}
}

// mismatched is the hello of a client whose components are others.
func mismatched(flags compat.Flags) *netproto.Handshake {
	return servertest.VersionHandshake(8, "Linux-x64", func(s *netproto.HelloTags) { s.Build.Components, s.Flags = 77, flags })
}

// TestT5Silence waits 2 s for a client that was asked, and says so.
func TestT5Silence(t *testing.T) {
	testlevel.Slow(t)
	h, o := servertest.StartWithToken(t, workshop(t))
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Components = compat.PolicyEnforce })
	began := time.Now()
	p := h.Expect(t, mismatched(compat.FlagManifest), compat.ComponentsMismatch, compat.RuleComponents)
	if shown := servertest.Next[*netproto.ComponentManifest](p); len(shown.Manifest.Entries) != 3 {
		t.Errorf("shown %+v", shown)
	}
	said := p.ReadToEnd()
	if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseComponents {
		t.Errorf("the last words were %+v", said)
	}
	if waited := time.Since(began); waited < 1900*time.Millisecond {
		t.Errorf("waited %v", waited)
	}
	if line := h.Log.WaitFor(t, `"result":"timeout"`); !strings.Contains(line, "verdict=COMPONENTS_MISMATCH") {
		t.Error(line)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Components = compat.PolicyWarn })
	p = h.Expect(t, mismatched(compat.FlagManifest), compat.Accept, compat.RuleAccept)
	servertest.Next[*netproto.ComponentManifest](p)
	servertest.Next[*netproto.FileList](p)
	servertest.Next[*netproto.Ping](p)
	p.Send(&netproto.Ping{})
	servertest.Next[*netproto.Ping](p) // the exchange continues without a wait
}

// TestT5Unasked refuses unrequested components, and a second set of them.
func TestT5Unasked(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, workshop(t))
	m := theirs(t)
	message := &netproto.ComponentManifest{Manifest: m}
	for name, flags := range map[string]compat.Flags{"equal": 0, "asked and told twice": compat.FlagManifest} {
		p, j := h.Ask(t, mismatched(flags))
		if !j.Plays() {
			t.Fatalf("%s: %+v", name, j)
		}
		if flags != 0 {
			servertest.Next[*netproto.ComponentManifest](p)
		}
		servertest.Next[*netproto.FileList](p)
		servertest.Next[*netproto.Ping](p)
		p.Send(message)
		if flags != 0 {
			p.Send(message)
		}
		said := p.ReadToEnd()
		if refusal, is := said[len(said)-1].(*netproto.Refuse); !is || refusal.Reason != netproto.RefuseMalformed {
			t.Errorf("%s: %+v", name, said)
		}
	}
	plain := servertest.Start(t, servertest.Settings(t))
	p := plain.Dial(t, netproto.C1)
	p.Greet(servertest.Handshake(netproto.C1))
	p.Send(message)
	p.ReadToEnd()
	plain.Log.Has(t, "warn", "unrequested components")
	_ = o
}

// TestT5Production shows nothing, whatever a client says of itself.
func TestT5Production(t *testing.T) {
	t.Parallel()
	set := workshop(t)
	set.Compat.Development = false
	h, o := servertest.StartWithToken(t, set)
	for _, flags := range []compat.Flags{0, compat.FlagManifest, compat.FlagManifest | compat.FlagDevelopment} {
		p, j := h.Ask(t, mismatched(flags))
		if j.Rule != compat.RuleComponents || j.Verdict != compat.UpdateBinaries {
			t.Errorf("judged %+v", j)
		}
		servertest.Next[*netproto.FileList](p) // and nothing before it
		p.Raw.Close()
	}
	if s := o.Snapshot(); s.Manifest != compat.ManifestNone || s.Policy != compat.PolicyEnforce {
		t.Errorf("%+v", s)
	}
}

// TestT5RateLimit shows an address no more than its share.
func TestT5RateLimit(t *testing.T) {
	t.Parallel()
	set := workshop(t)
	set.Limits.ExemptAddresses = []string{}
	set.Limits.ConnectionsPerSecondPerAddress = 1000
	h, _ := servertest.StartWithToken(t, set)
	shown := 0
	for range 30 {
		p, _ := h.Ask(t, mismatched(compat.FlagManifest))
		m, err := p.Wire.Read()
		if err != nil {
			t.Fatal(err)
		}
		if _, is := m.(*netproto.ComponentManifest); is {
			shown++
		}
		p.Raw.Close()
	}
	if shown < 5 || shown > 15 {
		t.Errorf("%d of 30 were shown", shown)
	}
}

// TestCompatMetrics counts, with labels that clients have no say in.
func TestCompatMetrics(t *testing.T) {
	t.Parallel()
	set := workshop(t)
	h, o := servertest.StartWithToken(t, set)
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64"), compat.Accept, compat.RuleAccept)
	for i := range 20 {
		p, _ := h.Ask(t, servertest.VersionHandshake(int32(1000+i), fmt.Sprint("Target-", i)))
		p.Raw.Close()
	}
	developer(t, h.Addr, theirs(t))
	h.Log.WaitFor(t, `"result":"replied"`)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	var m origin.Monitor
	m.Watch(h.Server)
	_, text := servertest.AskMonitor(&m, "GET", "/metrics")
	for _, want := range []string{
		`compat_verdict_total{logic="7",rule="11",target="Linux-x64",verdict="ACCEPT"} 1`,
		`compat_verdict_total{logic="other",rule="4",target="other",verdict="CLIENT_TOO_NEW"} 20`,
		`compat_settings_revision 2`, `compat_active_logic{end="min"} 6`, `compat_manifest_exchange_total{result="replied"} 1`,
		`compat_manifest_exchange_total{result="timeout"} 0`, `compat_settings_applied_total 2`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if n := strings.Count(text, "compat_verdict_total{"); n != 3 {
		t.Errorf("%d series", n)
	}
}

// TestOnVerdict is told of every client once, with what differs where that was exchanged.
func TestOnVerdict(t *testing.T) {
	t.Parallel()
	set := workshop(t)
	h := servertest.New()
	o := h.OpenWithOperator(t, set, operator.Options{})
	met := make(chan compat.Meeting, 10)
	h.OnVerdict(func(m compat.Meeting) { met <- m })
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, listener)
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64"), compat.Accept, compat.RuleAccept)
	if m := <-met; m.Judgement.Verdict != compat.Accept || m.Target != "Linux-x64" || m.Peer != "127.0.0.1" || !m.Differences.Untold {
		t.Errorf("%+v", m)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Components = compat.PolicyEnforce })
	developer(t, h.Addr, theirs(t))
	if m := <-met; m.Judgement.Verdict != compat.ComponentsMismatch || len(m.Differences.Items) != 4 {
		t.Errorf("%+v", m)
	}
	if len(met) != 0 {
		t.Errorf("told of %+v, too", <-met)
	}
}

// TestT12Redirect sends a client on once.
func TestT12Redirect(t *testing.T) {
	t.Parallel()
	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	next := compat.Endpoint{Host: "next.example", Port: 4443, TLS: true, BaseURL: "https://next.example/packs/"}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) {
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: next.Host, Port: next.Port, TLS: next.TLS, BaseURL: next.BaseURL}
		s.StoreURLs = map[string]string{"Android-*": "market://details?id=game"}
		s.Messages = map[string]string{compat.PopupNewer: "We are working on it."}
	})
	p, j := h.Ask(t, servertest.VersionHandshake(9, "Linux-x64"))
	if j.Verdict != compat.Redirect || j.Endpoint == nil || *j.Endpoint != next {
		t.Errorf("sent to %+v", j)
	}
	p.ReadToEnd()
	p = h.Dial(t, netproto.C1)
	p.Send(servertest.VersionHandshake(9, "Linux-x64", func(s *netproto.HelloTags) { s.Flags = compat.FlagRedirected }))
	answer := nextAnswer(p)
	if told := answer.Told(); answer.Verdict != compat.ClientTooNew || told.MessageKey != compat.PopupNewer || told.Message != "We are working on it." || told.Active.Max != 8 {
		t.Errorf("the second time: %v %+v", answer.Verdict, told)
	}
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 8 })
	p = h.Dial(t, netproto.C1)
	p.Send(servertest.VersionHandshake(7, "Android-arm64"))
	if told := nextAnswer(p).Told(); told.StoreURL != "market://details?id=game" {
		t.Errorf("%+v", told)
	}
}

func nextAnswer(p *servertest.Peer) *netproto.HandshakeAnswer {
	return servertest.Next[*netproto.HandshakeAnswer](p)
}
