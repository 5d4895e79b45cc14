package server_test

import (
	"context"
	"net"
	"path/filepath"
	"reflect"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
)

// firsts counts connections, and notes the number of the first message that each of them brought from the server.
type firsts struct {
	dials int
	ids   []byte
}

// dial is the options' Dial.
func (f *firsts) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	f.dials++
	return &firstFrame{Conn: nc, seen: f}, err
}

// firstFrame watches what comes first. The session's reader alone uses it.
type firstFrame struct {
	net.Conn
	seen *firsts
	head []byte
}

func (c *firstFrame) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	const idAt = 8
	if before := len(c.head); before <= idAt {
		if c.head = append(c.head, p[:n]...); len(c.head) > idAt {
			c.seen.ids = append(c.seen.ids, c.head[idAt])
		}
	}
	return n, err
}

// TestAskingForTags lets a client that finds out its server's generation meet servers with and without a use for what it has to
// say. Only the former spend a round trip on asking, and they learn all of it.
func TestAskingForTags(t *testing.T) {
	t.Parallel()
	said := netproto.HelloTags{Build: compat.Build{Logic: 6, Components: servertest.SetHash(6)}, Patch: 1}
	opt := session.Options{Auto: true, Compatibility: servertest.Compatibility, Target: "Linux-x64", Identity: &said}

	h := servertest.Start(t, servertest.Settings(t))
	var seen firsts
	opt.Addr, opt.Dial = h.Addr, seen.dial
	c, err := session.Dial(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if c.Close(); c.Judgement().Verdict != compat.Accept || seen.dials != 1 || !reflect.DeepEqual(seen.ids, []byte{byte(netproto.IDHandshakeAnswer)}) {
		t.Errorf("a server without logic versions: %+v, %+v", c.Judgement(), seen)
	}

	h, o := servertest.StartWithToken(t, servertest.VersionedSettings(t))
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.PatchRules = []compat.PatchRule{{Logic: 6, MinPatch: 2}} })
	for patch, want := range map[uint32]compat.Verdict{1: compat.UpdateBinaries, 2: compat.Accept} {
		seen = firsts{}
		said.Patch = patch
		opt.Addr, opt.Compatibility = h.Addr, compat.Derived(6, servertest.SetHash(6))
		c, err := session.Dial(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if c.Close(); c.Judgement().Verdict != want || seen.dials != 1 || !reflect.DeepEqual(seen.ids, []byte{byte(netproto.IDAskHello)}) {
			t.Errorf("patch %d: %+v, %+v", patch, c.Judgement(), seen)
		}
	}
}

// TestT5OverTheNetwork lets a developer's client meet a developer's server whose components are others: in every mode both say how
// many differ, and the client is told of it once.
func TestT5OverTheNetwork(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.Development, set.Compat.Logic, set.Compat.Build = true, "7", ""
	set.Compat.Manifest = filepath.Join(t.TempDir(), "manifest.json")
	ours := servertest.WriteManifest(t, set.Compat.Manifest, 7, map[string]uint64{"Camera": 1, "Mailbox": 2})
	theirs := servertest.WriteManifest(t, "", 6, map[string]uint64{"Camera": 3, "Wallet": 4})
	theirs.Build.Logic = 7
	h := servertest.New()
	o := h.OpenWithOperator(t, set, operator.Options{})
	heard := make(chan compat.Meeting, 100)
	h.OnVerdict(func(m compat.Meeting) { heard <- m })
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, listener)
	for _, policy := range []compat.Policy{compat.PolicyEnforce, compat.PolicyWarn} {
		for _, mode := range []compat.ManifestMode{compat.ManifestFull, compat.ManifestHashes, compat.ManifestNone} {
			servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Components, s.Manifest = policy, mode })
			told := 0
			c, err := session.Dial(t.Context(), session.Options{
				Addr: h.Addr, Auto: true, Compatibility: compat.Derived(7, theirs.Build.Components), Target: "Linux-x64", Manifest: &theirs,
				OnVerdict: func(compat.Judgement, compat.Differences) { told++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			j, d := c.Judgement(), c.Differences()
			if plays := policy == compat.PolicyWarn; j.Plays() != plays || told != 1 || plays != (j.Warnings&compat.WarnComponents != 0) || !plays != (j.Verdict == compat.ComponentsMismatch) {
				t.Errorf("%s, %s: %+v, told %d times", policy, mode, j, told)
			}
			if d.Untold != (mode == compat.ManifestNone) || d.Server.ID != ours.Build.ID || d.Client.ID != theirs.Build.ID || d.Age != compat.ClientOlder {
				t.Errorf("%s, %s: differences %+v", policy, mode, d)
			}
			if onServer, onClient, differ, renumbered := d.Counts(); mode != compat.ManifestNone && [4]int{onServer, onClient, differ, renumbered} != [4]int{1, 1, 1, 0} {
				t.Errorf("%s, %s: differences %+v", policy, mode, d)
			}
			if j.Plays() {
				if offers, err := c.List(t.Context()); err != nil || len(offers) == 0 {
					t.Errorf("%s: %d offers, %v", policy, len(offers), err)
				}
			}
			c.Close()
			m := <-heard
			m.Judgement.Payload, j.Payload = nil, nil
			if m.Judgement != j || m.Target != "Linux-x64" || m.Peer == "" || m.Differences.Untold != d.Untold || mode == compat.ManifestFull && !reflect.DeepEqual(m.Differences, d) {
				t.Errorf("%s, %s: the server hears of\n%+v\nthe client of\n%+v, %+v", policy, mode, m, j, d)
			}
		}
	}
	h.Stop()
	<-h.Done
	h.Log.Has(t, "warn", "verdict=COMPONENTS_MISMATCH rule=9", "only_server=Mailbox only_client=Wallet differs=Camera renumbered=")
}

// TestOnVerdictHearsOfEverybody greets clients of every generation, and one that leaves in the middle of an exchange: each is
// heard of once.
func TestOnVerdictHearsOfEverybody(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.Development, set.Compat.Logic = true, "7"
	set.Compat.Manifest = filepath.Join(t.TempDir(), "manifest.json")
	ours := servertest.WriteManifest(t, set.Compat.Manifest, 7, map[string]uint64{"Camera": 1})
	h := servertest.New()
	h.OpenWithOperator(t, set, operator.Options{})
	heard := make(chan compat.Meeting, 100)
	h.OnVerdict(func(m compat.Meeting) { heard <- m })
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, listener)
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		p, m := h.Dial(t, g), servertest.Handshake(g)
		m.Compatibility = compat.Derived(7, ours.Build.Components)
		p.Greet(m)
		p.Raw.Close()
		if got := <-heard; !got.Judgement.Plays() || got.Judgement.Rule != compat.RuleAccept || !got.Differences.Untold || got.Differences.Server.Logic != 7 {
			t.Errorf("%v: heard of %+v", g, got)
		}
	}
	p := h.Dial(t, netproto.C1)
	p.Send(servertest.VersionHandshake(7, "Linux-x64", func(said *netproto.HelloTags) { said.Flags, said.Build.Components = compat.FlagManifest, 99 }))
	if answer := servertest.Next[*netproto.HandshakeAnswer](p); !answer.Told().Manifest {
		t.Fatalf("told %+v", answer.Told())
	}
	servertest.Next[*netproto.ComponentManifest](p)
	p.Raw.Close()
	if got := <-heard; got.Judgement.Warnings&compat.WarnComponents == 0 || !got.Differences.Untold || got.Differences.Client.Components != 99 {
		t.Errorf("heard of %+v", got)
	}
	h.Stop()
	<-h.Done
	if len(heard) != 0 {
		t.Errorf("heard of one more: %+v", <-heard)
	}
}
