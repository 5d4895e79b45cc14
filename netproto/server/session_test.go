package server_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// content is what the fixture has for a listed file of a target.
func content(target string, f netproto.ListedFile) string {
	if f.Role == 0 {
		return servertest.Files()["Resources/"+f.Path]
	}
	return servertest.Files()["PlatformBinaries/"+target+"/"+f.Path]
}

// eachWay runs a test for both generations, both storages and both states of compression.
func eachWay(t *testing.T, test func(t *testing.T, g netproto.Generation, set config.Settings)) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		for _, inMemory := range []bool{false, true} {
			for _, plain := range []bool{false, true} {
				set := servertest.Settings(t)
				set.ServerNetwork.UpdateFilesInMemory, set.Network.DisableZlibCompression = inMemory, plain
				t.Run(fmt.Sprintf("%v from %s plain %v", g, set.Storage(), plain), func(t *testing.T) { test(t, g, set) })
			}
		}
	}
}

func TestClientGetsEveryFileOfItsTarget(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, g netproto.Generation, set config.Settings) {
		p := servertest.Start(t, set).Dial(t, g)
		answer, files := p.Greet(servertest.Handshake(g))
		if j := answer.Judgement(g); j.Verdict != compat.Accept {
			t.Errorf("verdict %v", j.Verdict)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Path)
			want := content("Linux-x64", f)
			if got := string(p.Fetch(f)); got != want || f.Size != uint64(len(want)) {
				t.Errorf("%s: %d bytes of %d, announced %d", f.Path, len(got), len(want), f.Size)
			}
			if g == netproto.C1 && f.SHA256 != sha256.Sum256([]byte(want)) {
				t.Errorf("%s: wrong digest", f.Path)
			}
		}
		if got, want := strings.Join(names, " "), "Core.zip Textures.zip Tiny.zip FoGame.so FoGame.so.pdb"; got != want {
			t.Errorf("offered %s, want %s", got, want)
		}
	})
}

func TestUnknownTargetGetsCommonFilesOnly(t *testing.T) {
	t.Parallel()
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		p := servertest.Start(t, servertest.Settings(t)).Dial(t, g)
		m := servertest.Handshake(g)
		m.Target = "Plan9-mips"
		if _, files := p.Greet(m); len(files) != 3 {
			t.Errorf("%v: %d files", g, len(files))
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, compat, target string
		version              uint32 // added to the right one
		verdict              compat.Verdict
		rule                 compat.Rule
		line                 string
	}{
		{"equal", servertest.Compatibility, "Linux-x64", 0, compat.Accept, compat.RuleAccept, `Connected client 127.0.0.1 for binary target \"Linux-x64\"`},
		{"equal, unknown target", servertest.Compatibility, "Plan9-mips", 0, compat.Accept, compat.RuleAccept, "for binary target"},
		{"outdated", "compat-B", "Linux-x64", 0, compat.UpdateBinaries, compat.RuleString, `has outdated compatibility version \"compat-B\" for binary target`},
		{"outdated, store only", "compat-B", "Android-arm64", 0, compat.UpdateViaStore, compat.RuleString, "outdated compatibility version"},
		{"outdated, nothing on offer", "compat-B", "Linux-arm64", 0, compat.NoNativeUpdate, compat.RuleString, "outdated compatibility version"},
		{"outdated, no module among the files", "compat-B", "macOS-arm64", 0, compat.NoNativeUpdate, compat.RuleString, "outdated compatibility version"},
		{"minor version of the wire", servertest.Compatibility, "Linux-x64", 1, compat.UpdaterMismatch, compat.RuleUpdater, "has outdated updater version 1129054210"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := servertest.Start(t, servertest.Settings(t))
			p := h.Dial(t, netproto.C1)
			m := servertest.Handshake(netproto.C1)
			m.Compatibility, m.Target, m.Version = test.compat, test.target, m.Version+test.version
			p.Send(m)
			answer := servertest.Next[*netproto.HandshakeAnswer](p)
			if answer.Verdict != test.verdict || answer.Rule != test.rule || answer.Compatibility != servertest.Compatibility ||
				answer.MaxPortion != 1000 || answer.MaxInFlight != 32 || answer.Capabilities != netproto.CapPipeline {
				t.Errorf("got %+v", answer)
			}
			if netproto.AllowsTransfer(test.verdict) {
				servertest.Next[*netproto.FileList](p)
			} else if last := p.ReadToEnd(); len(last) != 0 {
				t.Errorf("after the last word: %v", last)
			}
			h.Log.Has(t, "info", test.line)
		})
	}
}

func TestClientWithoutPipeliningIsToldSo(t *testing.T) {
	t.Parallel()
	p := servertest.Start(t, servertest.Settings(t)).Dial(t, netproto.C1)
	m := servertest.Handshake(netproto.C1)
	m.Capabilities = 1 << 31 // undefined
	if answer, _ := p.Greet(m); answer.Capabilities != 0 || answer.MaxInFlight != 1 {
		t.Errorf("got %+v", answer)
	}
}

func TestRequestsInFlightAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	p := servertest.Start(t, servertest.Settings(t)).Dial(t, netproto.C1)
	answer, files := p.Greet(servertest.Handshake(netproto.C1))
	textures := files[1]
	for round := range uint32(3) {
		var requests []netproto.Message
		for i := range uint32(answer.MaxInFlight) {
			requests = append(requests, &netproto.GetRange{Request: round<<8 | i, Index: textures.Index, Offset: uint64(70 * i), Length: 70})
		}
		p.Send(requests...)
		for i := range uint32(answer.MaxInFlight) {
			data := servertest.Next[*netproto.RangeData](p)
			want := content("", textures)[70*i : 70*i+70]
			if data.Request != round<<8|i || data.Offset != uint64(70*i) || string(data.Data) != want {
				t.Fatalf("round %d, answer %d: request %d at %d, %d bytes", round, i, data.Request, data.Offset, len(data.Data))
			}
		}
	}
}

func TestOwnRangesAreCutAtPortionAndEnd(t *testing.T) {
	t.Parallel()
	p := servertest.Start(t, servertest.Settings(t)).Dial(t, netproto.C1)
	_, files := p.Greet(servertest.Handshake(netproto.C1))
	size := files[1].Size // 2400
	tests := []struct {
		offset uint64
		length uint32
		want   int
	}{
		{0, 1, 1}, {0, 1000, 1000}, {0, 1001, 1000}, {0, 1<<32 - 1, 1000}, {2000, 1000, 400}, {2399, 5, 1}, {size, 10, 0}, {size, 0, 0},
	}
	for i, test := range tests {
		p.Send(&netproto.GetRange{Request: uint32(i), Index: 1, Offset: test.offset, Length: test.length})
		if got := servertest.Next[*netproto.RangeData](p); len(got.Data) != test.want {
			t.Errorf("%d bytes at %d: got %d, want %d", test.length, test.offset, len(got.Data), test.want)
		}
	}
	p.Send(&netproto.GetRange{Request: 99, Index: 5, Length: 10}) // the empty file
	if got := servertest.Next[*netproto.RangeData](p); len(got.Data) != 0 {
		t.Errorf("%d bytes of an empty file", len(got.Data))
	}
}

// TestHardDisconnects is the source's validation table, for both generations.
func TestHardDisconnects(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	tests := []struct {
		name    string
		portion int
		index   uint32
		offset  uint64
		length  uint32
		reason  netproto.RefuseReason
		line    string
		ownOnly bool
	}{
		{"index beyond the list", 1000, 999, 0, 10, netproto.RefuseIndex, "Wrong file index 999, from host '127.0.0.1'", false},
		{"index one too high", 1000, 8, 0, 10, netproto.RefuseIndex, "Wrong file index 8, from host '127.0.0.1'", false},
		{"index with the top bit", 1000, 1 << 31, 0, 10, netproto.RefuseIndex, "Wrong file index 2147483648, from host", false},
		{"offset behind the end", 1000, 1, 2401, 10, netproto.RefuseOffset, "Wrong update file offset 2401, file index 1, client host '127.0.0.1'", false},
		{"largest offset", 1000, 1, 1<<64 - 1, 10, netproto.RefuseOffset, "Wrong update file offset 18446744073709551615, file index 1, client host", false},
		{"portion of zero", 0, 1, 0, 10, netproto.RefuseChanged, "Wrong update file max portion size 0, client host '127.0.0.1'", false},
		{"portion below zero", -1, 1, 0, 10, netproto.RefuseChanged, "Wrong update file max portion size -1, client host", false},
		{"no bytes asked for", 1000, 1, 0, 0, netproto.RefuseMalformed, "a request for no bytes of file index 1", true},
	}
	for _, test := range tests {
		for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
			if test.ownOnly && g != netproto.C1 {
				continue
			}
			t.Run(fmt.Sprintf("%s, %v", test.name, g), func(t *testing.T) {
				h := misconfigured(t, test.portion)
				p := h.Dial(t, g)
				p.Greet(servertest.Handshake(g))
				if g.Engine() {
					p.Send(&netproto.GetUpdateFile{Index: test.index, Offset: test.offset})
				} else {
					p.Send(&netproto.GetRange{Request: 7, Index: test.index, Offset: test.offset, Length: test.length})
				}
				expectRefusal(p, g, test.reason, 7)
				h.Log.Has(t, "warn", test.line)
			})
		}
	}
}

// misconfigured runs a server with a portion size that settings would refuse.
func misconfigured(t *testing.T, portion int) *servertest.Server {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := servertest.Open(t, servertest.Settings(t))
	set := servertest.Settings(t)
	set.Network.UpdateFileMaxPortionSize = portion
	h.Server = server.New(h.Catalogue(), set, h.Logger())
	return h.ServeOn(t, listener)
}

// expectRefusal checks a hard disconnect: the engine's clients see nothing, ours the reason.
func expectRefusal(p *servertest.Peer, g netproto.Generation, reason netproto.RefuseReason, request uint32) {
	p.T.Helper()
	last := p.ReadToEnd()
	if g.Engine() {
		if len(last) != 0 {
			p.T.Errorf("before closing: %v", last)
		}
		return
	}
	if len(last) != 1 {
		p.T.Fatalf("before closing: %v", last)
	}
	refuse, ok := last[0].(*netproto.Refuse)
	if !ok || refuse.Reason != reason || refuse.Request != request || refuse.Text == "" {
		p.T.Errorf("got %+v, want reason %v for request %d", last[0], reason, request)
	}
}

func TestOurPingsAreAnsweredWithoutTimeSync(t *testing.T) {
	t.Parallel()
	p := servertest.Start(t, servertest.Settings(t)).Dial(t, netproto.C1)
	p.Greet(servertest.Handshake(netproto.C1))
	for range 3 {
		p.Send(&netproto.Ping{})
		if !servertest.Next[*netproto.Ping](p).Answer {
			t.Fatal("a question for a question")
		}
	}
	p.Send(&netproto.Ping{Answer: true})
	p.ExpectSilence(50 * time.Millisecond)
}

func TestUnknownMessagesAndTagsAreSkipped(t *testing.T) {
	t.Parallel()
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		p := servertest.Start(t, servertest.Settings(t)).Dial(t, g)
		m := servertest.Handshake(g)
		if g == netproto.C1 {
			m.Tags = m.Tags.With(27, []byte("of a later version")).With(40_000, nil)
		}
		_, files := p.Greet(m)
		p.Send(&netproto.Unknown{Number: 200, Body: []byte(strings.Repeat("x", 5000))}, &netproto.Unknown{Number: 250})
		if got := string(p.Fetch(files[0])); got != content("", files[0]) {
			t.Errorf("%v: %d bytes after unknown messages", g, len(got))
		}
	}
}

// TestSpreadIsNotGranted serves a client of an earlier version, which offers several connections.
func TestSpreadIsNotGranted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		h := servertest.Open(t, servertest.Settings(t))
		h.ServeOn(t, pipes)
		p := servertest.NewPeer(t, pipes.connectFrom("192.0.2.1:1"), netproto.C1)
		greeting := servertest.Handshake(netproto.C1)
		greeting.Capabilities |= netproto.CapSpread
		answer, files := p.Greet(greeting)
		if answer.Capabilities != netproto.CapPipeline {
			t.Errorf("capabilities %#x", answer.Capabilities)
		}
		p.Send(&netproto.GetRange{Request: 1, Index: files[0].Index, Length: 10})
		servertest.Next[*netproto.RangeData](p)
	})
}
