package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// meeting is a scripted server that judges by rules and exchanges manifests (docs/PROTOCOL.md, "What a verdict is
// made of"), with its results.
type meeting struct {
	t        *testing.T
	snapshot *compat.Snapshot
	own      *compat.Manifest
	behind   func(p *peer) // replaces sending its manifest and reading the client's; nil is both
	announce bool          // announces a manifest regardless of the rules

	hello       *netproto.Handshake
	differences compat.Differences
	reply       *netproto.ComponentManifest // the client's
	took        time.Duration               // until the reply came, or the client had gone
}

// play is one connection.
func (s *meeting) play(p *peer) {
	m, err := p.conn.Read()
	if err != nil {
		s.t.Errorf("hello: %v", err)
		return
	}
	s.hello = m.(*netproto.Handshake)
	h := s.hello.Hello(p.conn.Generation())
	j := compat.Evaluate(s.snapshot, &h)
	answer := netproto.NewAnswer(j)
	tags := netproto.TagsFor(s.snapshot, &h, j)
	tags.Manifest = tags.Manifest || s.announce
	if err := answer.Tell(tags); err != nil {
		s.t.Error(err)
	}
	answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, 1000, 4
	p.say(answer)
	started := time.Now()
	switch {
	case s.behind != nil:
		s.behind(p)
	case answer.Told().Manifest:
		s.exchange(p)
	}
	s.took = time.Since(started)
	if answer.Transfers(netproto.C1) {
		p.waitForClient()
	}
}

// exchange sends the server's manifest, reads the client's, and closes after a verdict that forbids play.
func (s *meeting) exchange(p *peer) {
	p.say(shown(s.t, s.own, s.snapshot.Manifest))
	if h := s.hello.Hello(netproto.C1); compat.Evaluate(s.snapshot, &h).Plays() {
		p.list(testFiles())
	}
	reply, isManifest := p.next().(*netproto.ComponentManifest)
	if !isManifest {
		return
	}
	s.reply = reply
	s.differences = compat.DiffManifests(s.own, &reply.Manifest)
	p.say(&netproto.Refuse{Reason: netproto.RefuseComponents})
}

// verdicts collects what OnVerdict is told.
type verdicts struct {
	judgements  []compat.Judgement
	differences []compat.Differences
}

func (v *verdicts) take(j compat.Judgement, d compat.Differences) {
	v.judgements, v.differences = append(v.judgements, j), append(v.differences, d)
}

// meet dials s with a manifest and returns the client, its verdict, and its log.
func meet(t *testing.T, s *meeting, own *compat.Manifest) (c *session.Client, told *verdicts, log *bytes.Buffer, wait func()) {
	t.Helper()
	s.t = t
	opt, wait := play(t, netproto.C1, s.play)
	told, log = new(verdicts), new(bytes.Buffer)
	opt.Compatibility, opt.Target = "L7-536c49c90dc3ebf0", "Windows-win64"
	opt.Manifest, opt.OnVerdict, opt.Log = own, told.take, zerolog.New(zerolog.SyncWriter(log))
	return connect(t, opt), told, log, wait
}

// fourDifferences is a client's manifest with every kind of difference from a server's.
func fourDifferences(t *testing.T) (server, client *compat.Manifest) {
	t.Helper()
	server = &compat.Manifest{Mode: compat.ManifestFull, Build: serverManifest().Build, Entries: []compat.Entry{
		{Name: "Camera", WireID: 1, Hash: cameraHash, ChangedAt: 1772400000}, {Name: "Mailbox", WireID: 2, Hash: 5}, {Name: "Quest", WireID: 3, Hash: 6}, {Name: "Same", WireID: 4, Hash: 7},
	}}
	client = &compat.Manifest{Mode: compat.ManifestFull, Build: clientManifest().Build, Entries: []compat.Entry{
		{Name: "Camera", WireID: 1, Hash: cameraOther, ChangedAt: 1768000000}, {Name: "Bank", WireID: 2, Hash: 8}, {Name: "Quest", WireID: 9, Hash: 6}, {Name: "Same", WireID: 4, Hash: 7},
	}}
	for _, m := range []*compat.Manifest{server, client} {
		if err := m.Seal(); err != nil {
			t.Fatal(err)
		}
	}
	return server, client
}

// TestT5BothEndsSayTheSame exchanges manifests with every kind of difference, in every mode.
func TestT5BothEndsSayTheSame(t *testing.T) {
	for _, mode := range []compat.ManifestMode{compat.ManifestFull, compat.ManifestHashes, compat.ManifestNone} {
		bubble(t, string(mode), func(t *testing.T) {
			own, theirs := fourDifferences(t)
			s := &meeting{snapshot: development(), own: own}
			s.snapshot.Manifest, s.snapshot.Components = mode, own.Build.Components
			s.snapshot.Baselines = map[int32]uint64{7: own.Build.Components}
			c, told, log, wait := meet(t, s, theirs)
			c.Close()
			wait()
			d := c.Differences()
			if c.Judgement().Verdict != compat.ComponentsMismatch || len(told.judgements) != 1 || told.judgements[0] != c.Judgement() || !reflect.DeepEqual(told.differences[0], d) {
				t.Fatalf("judgement %+v, told %+v", c.Judgement(), told)
			}
			if said := s.hello.Said(); said.Flags != compat.FlagManifest || said.Count != 4 || said.Build.Components != theirs.Build.Components {
				t.Errorf("said %+v", said)
			}
			if s.reply == nil || s.reply.Manifest.Mode != mode {
				t.Fatalf("the client shows %+v", s.reply)
			}
			if d.Server != own.Build || d.Client != theirs.Build || s.differences.Server != own.Build || s.differences.Client != theirs.Build || d.Age != compat.ClientOlder {
				t.Errorf("builds %+v and %+v", d, s.differences)
			}
			switch mode {
			case compat.ManifestFull:
				checkFour(t, d)
				if !reflect.DeepEqual(d, s.differences) {
					t.Errorf("the client finds\n%+v\nthe server\n%+v", d, s.differences)
				}
				for _, word := range []string{"verdict=COMPONENTS_MISMATCH rule=9", "only_server=Mailbox", "only_client=Bank", "differs=Camera", "renumbered=Quest", "rev=12"} {
					if !strings.Contains(log.String(), word) {
						t.Errorf("the log has no %q: %s", word, log)
					}
				}
			case compat.ManifestHashes:
				a, b, m, r := d.Counts()
				if w, x, y, z := s.differences.Counts(); [4]int{a, b, m, r} != [4]int{1, 1, 1, 1} || [4]int{w, x, y, z} != [4]int{1, 1, 1, 1} {
					t.Errorf("the client finds\n%+v\nthe server\n%+v", d, s.differences)
				}
			case compat.ManifestNone:
				if !d.Untold || !s.differences.Untold || len(d.Items) != 0 {
					t.Errorf("the client finds\n%+v\nthe server\n%+v", d, s.differences)
				}
			}
		})
	}
}

// checkFour checks the four differences of fourDifferences: the server is newer.
func checkFour(t *testing.T, d compat.Differences) {
	t.Helper()
	want := []struct {
		name  string
		class compat.Class
		side  compat.Side
	}{
		{"Bank", compat.ClassRemoved, compat.OnClient}, {"Camera", compat.ClassModified, compat.OnBoth},
		{"Mailbox", compat.ClassAdded, compat.OnServer}, {"Quest", compat.ClassRenumbered, compat.OnBoth},
	}
	if len(d.Items) != len(want) || d.Unchanged != 1 || d.Untold {
		t.Fatalf("differences %+v", d)
	}
	for i, w := range want {
		if got := d.Items[i]; got.Name != w.name || got.Class != w.class || got.Side != w.side {
			t.Errorf("difference %+v, want %+v", got, w)
		}
	}
}

// TestT5NoNamesLeak inspects both directions of the wire in the modes without names.
func TestT5NoNamesLeak(t *testing.T) {
	for mode, leaks := range map[compat.ManifestMode]bool{compat.ManifestNone: false, compat.ManifestHashes: false, compat.ManifestFull: true} {
		bubble(t, string(mode), func(t *testing.T) {
			s := &meeting{t: t, snapshot: development(), own: serverManifest()}
			s.snapshot.Manifest = mode
			opt, wait := play(t, netproto.C1, s.play)
			var mu sync.Mutex
			var wire bytes.Buffer
			inner := opt.Dial
			opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := inner(ctx, network, addr)
				return &tapped{Conn: nc, mu: &mu, to: &wire}, err
			}
			opt.Manifest = clientManifest()
			connect(t, opt).Close()
			wait()
			for _, name := range []string{"Camera", "Wallet"} {
				if bytes.Contains(wire.Bytes(), []byte(name)) != leaks {
					t.Errorf("the name %s is on the wire: %t", name, !leaks)
				}
			}
			if s.reply == nil {
				t.Error("nothing was exchanged")
			}
		})
	}
}

// tapped records the traffic.
type tapped struct {
	net.Conn
	mu *sync.Mutex
	to io.Writer
}

func (c *tapped) note(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.to.Write(p) // a buffer in memory
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note(p[:n])
	return n, err
}

func (c *tapped) Write(p []byte) (int, error) {
	c.note(p)
	return c.Conn.Write(p)
}

// TestExchangeAndPlay continues after an exchange if the server tolerates the differences.
func TestExchangeAndPlay(t *testing.T) {
	bubble(t, "warn", func(t *testing.T) {
		s := &meeting{snapshot: development(), own: serverManifest()}
		s.snapshot.Policy = compat.PolicyWarn
		s.behind = func(p *peer) {
			p.say(shown(t, s.own, compat.ManifestFull))
			p.list(testFiles())
			reply, _ := p.next().(*netproto.ComponentManifest)
			s.reply = reply
			p.serve(testFiles(), 1000)
		}
		c, told, _, wait := meet(t, s, clientManifest())
		if j := c.Judgement(); !j.Plays() || j.Warnings&compat.WarnComponents == 0 || len(told.judgements) != 1 {
			t.Errorf("judgement %+v", j)
		}
		if onServer, onClient, differ, renumbered := c.Differences().Counts(); [4]int{onServer, onClient, differ, renumbered} != [4]int{0, 0, 1, 0} {
			t.Errorf("differences %+v", c.Differences())
		}
		if _, err := c.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := fetchAll(t, c, []session.FetchRange{{Index: 12, Size: 700}}); len(got[0]) != 700 {
			t.Errorf("%d bytes", len(got[0]))
		}
		c.Close()
		wait()
		if s.reply == nil || s.reply.Manifest.Build != clientManifest().Build {
			t.Errorf("the client shows %+v", s.reply)
		}
	})
}

// TestT5Silence: either side falls silent in the middle of an exchange. The other waits no longer than its limit, and
// still reports what is known.
func TestT5Silence(t *testing.T) {
	bubble(t, "announced and not shown", func(t *testing.T) {
		s := &meeting{snapshot: development(), behind: func(p *peer) { p.list(testFiles()) }}
		s.snapshot.Policy = compat.PolicyWarn
		started := time.Now()
		c, told, log, wait := meet(t, s, clientManifest())
		if took := time.Since(started); took != 4*time.Second {
			t.Errorf("Dial took %v", took)
		}
		if d := c.Differences(); !d.Untold || d.Server.Components != serverSet || d.Client.Components != clientSet || len(told.differences) != 1 {
			t.Errorf("differences %+v", d)
		}
		if offers, err := c.List(t.Context()); err != nil || len(offers) == 0 || !strings.Contains(log.String(), "did not show them") {
			t.Errorf("%d offers, %v, log %s", len(offers), err, log)
		}
		c.Close()
		wait()
	})
	bubble(t, "shown too late", func(t *testing.T) {
		s := &meeting{snapshot: development(), own: serverManifest(), behind: func(p *peer) {
			p.list(testFiles())
			time.Sleep(5 * time.Second)
			p.say(shown(t, serverManifest(), compat.ManifestFull))
		}}
		s.snapshot.Policy = compat.PolicyWarn
		c, _, _, wait := meet(t, s, clientManifest())
		time.Sleep(3 * time.Second)
		if _, err := c.List(t.Context()); err != nil || !c.Differences().Untold {
			t.Errorf("%v, differences %+v", err, c.Differences())
		}
		c.Close()
		wait()
	})
	bubble(t, "the server does not close", func(t *testing.T) {
		s := &meeting{snapshot: development(), behind: func(p *peer) {
			p.say(shown(t, serverManifest(), compat.ManifestFull))
			p.waitForClient()
		}}
		started := time.Now()
		c, _, _, wait := meet(t, s, clientManifest())
		if took := time.Since(started); took != 4*time.Second || c.Differences().Untold {
			t.Errorf("Dial took %v, differences %+v", took, c.Differences())
		}
		c.Close()
		wait()
	})
	bubble(t, "the verdict is known before", func(t *testing.T) {
		s := &meeting{t: t, snapshot: development(), behind: func(p *peer) { p.waitForClient() }}
		opt, wait := play(t, netproto.C1, s.play)
		var answered []time.Duration
		started := time.Now()
		opt.Manifest, opt.OnAnswer = clientManifest(), func() { answered = append(answered, time.Since(started)) }
		c := connect(t, opt)
		if took := time.Since(started); took != 4*time.Second || len(answered) != 1 || answered[0] != 0 {
			t.Errorf("Dial took %v, and the verdict was known after %v", took, answered)
		}
		c.Close()
		wait()
	})
	bubble(t, "the connection breaks", func(t *testing.T) {
		s := &meeting{snapshot: development(), behind: func(*peer) {}}
		started := time.Now()
		c, told, log, wait := meet(t, s, clientManifest())
		if took := time.Since(started); took != 0 || c.Judgement().Plays() || !c.Differences().Untold || len(told.differences) != 1 {
			t.Errorf("Dial took %v, %+v, differences %+v, told %d times", took, c.Judgement(), c.Differences(), len(told.differences))
		}
		if !strings.Contains(log.String(), "the connection was lost before") {
			t.Errorf("log %s", log)
		}
		c.Close()
		wait()
	})
	bubble(t, "the caller gives up", func(t *testing.T) {
		for name, behind := range map[string]func(*peer){
			"before": func(p *peer) { p.waitForClient() },
			"behind": func(p *peer) { p.say(shown(t, serverManifest(), compat.ManifestFull)); p.waitForClient() },
			"during": func(p *peer) { p.say(shown(t, serverManifest(), compat.ManifestFull)); time.Sleep(time.Minute) },
		} {
			s := &meeting{t: t, snapshot: development(), behind: behind}
			opt, wait := play(t, netproto.C1, s.play)
			opt.Manifest, opt.OnVerdict = clientManifest(), func(compat.Judgement, compat.Differences) { t.Error("told") }
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := session.Dial(ctx, opt); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s the manifest: %v", name, err)
			}
			cancel()
			wait()
		}
	})
}

// TestT5Unsolicited sends manifests that were not announced or are not awaited.
func TestT5Unsolicited(t *testing.T) {
	manifest := func(t *testing.T, p *peer) { p.say(shown(t, serverManifest(), compat.ManifestFull)) }
	tests := []struct {
		name string
		own  *compat.Manifest
		s    func() *compat.Snapshot
		send func(t *testing.T, p *peer)
	}{
		{"announced to a client without one", nil, func() *compat.Snapshot { s := development(); s.Policy = compat.PolicyOff; return s }, manifest},
		{"not announced", clientManifest(), func() *compat.Snapshot { s := production(); s.Policy = compat.PolicyWarn; return s }, manifest},
		{"to a client without one", nil, func() *compat.Snapshot { s := development(); s.Policy = compat.PolicyOff; return s }, manifest},
		{"twice", clientManifest(), func() *compat.Snapshot { s := development(); s.Policy = compat.PolicyWarn; return s }, func(t *testing.T, p *peer) { manifest(t, p); manifest(t, p) }},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			s := &meeting{snapshot: test.s(), announce: strings.HasPrefix(test.name, "announced"), behind: func(p *peer) {
				p.list(nil)
				test.send(t, p)
				p.waitForClient()
			}}
			c, _, _, wait := meet(t, s, test.own)
			time.Sleep(time.Second)
			err := c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 1}}, nil)
			wantFault(t, err, netproto.IDComponentManifest, "was not requested")
			c.Close()
			wait()
		})
	}
	bubble(t, "broken", func(t *testing.T) {
		swapped := strings.NewReplacer("Camera", "Wallet", "Wallet", "Camera")
		unsorted := []byte(swapped.Replace(string(frame(t, netproto.C1, shown(t, serverManifest(), compat.ManifestFull)))))
		s := &meeting{snapshot: development(), behind: func(p *peer) {
			if _, err := p.net.Write(unsorted); err != nil {
				t.Error(err)
			}
			p.waitForClient()
		}}
		s.snapshot.Policy = compat.PolicyWarn
		c, _, _, wait := meet(t, s, clientManifest())
		_, err := c.List(t.Context())
		wantFault(t, err, netproto.IDComponentManifest, "before its place in the order")
		if !c.Differences().Untold {
			t.Errorf("differences %+v", c.Differences())
		}
		c.Close()
		wait()
	})
}

// TestFlagIsOurs: a client announces a manifest exactly if it has one, whatever its identity says, and the caller's data is unchanged.
func TestFlagIsOurs(t *testing.T) {
	for _, own := range []*compat.Manifest{nil, clientManifest()} {
		bubble(t, "", func(t *testing.T) {
			s := &meeting{t: t, snapshot: production(), behind: func(*peer) {}}
			opt, wait := play(t, netproto.C1, s.play)
			said := fullHello()
			said.Flags, said.Count = compat.FlagManifest|compat.FlagRedirected|compat.FlagAfterUpdate, 9
			opt.Identity, opt.Manifest = &said, own
			connect(t, opt).Close()
			wait()
			want := fullHello()
			if want.Flags, want.Count = 4|8, 9; own != nil {
				want.Flags, want.Count = 2|4|8, 2
			}
			if got := s.hello.Said(); got != want || said.Flags != 2|4|8 {
				t.Errorf("said %+v, want %+v; the caller's is %+v", got, want, said)
			}
		})
	}
}

// TestT15NoHandshakeBeforeSeal dials with incomplete components: there is no connection.
func TestT15NoHandshakeBeforeSeal(t *testing.T) {
	var registry compat.Registry
	registry.Register(compat.Component{Entry: compat.Entry{Name: "Camera", WireID: 1, Hash: cameraHash}})
	early, err := registry.Manifest(compat.Build{Logic: 7})
	if !errors.Is(err, compat.ErrUnsealed) {
		t.Errorf("a manifest before Seal: %v", err)
	}
	dialled := 0
	opt := session.Options{Addr: "x:1", Manifest: &early, Dial: func(context.Context, string, string) (net.Conn, error) {
		dialled++
		return nil, io.ErrClosedPipe
	}}
	var broken *compat.ManifestError
	if _, err := session.Dial(t.Context(), opt); !errors.As(err, &broken) || dialled != 0 {
		t.Errorf("dialled %d times, %v", dialled, err)
	}
	registry.Register(compat.Component{Entry: compat.Entry{Name: "Wallet", WireID: 2, Hash: walletHash}})
	if err := registry.Seal(serverSet); err != nil {
		t.Fatal(err)
	}
	late, err := registry.Manifest(compat.Build{Logic: 7})
	if err != nil {
		t.Fatal(err)
	}
	opt.Manifest = &late
	var unreachable *session.UnreachableError
	if _, err := session.Dial(t.Context(), opt); !errors.As(err, &unreachable) || dialled != 1 {
		t.Errorf("after Seal: dialled %d times, %v", dialled, err)
	}
	other := netproto.HelloTags{Build: compat.Build{Logic: 7, Components: clientSet}}
	opt.Identity = &other
	if _, err := session.Dial(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "4c37681f163b1204") || dialled != 1 {
		t.Errorf("a manifest of another build: dialled %d times, %v", dialled, err)
	}
	other.Account, opt.Manifest = strings.Repeat("a", 65), nil
	if _, err := session.Dial(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "account") || dialled != 1 {
		t.Errorf("an account that is too long: dialled %d times, %v", dialled, err)
	}
}
