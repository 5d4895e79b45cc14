package session_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"collet/netproto"
	"collet/netproto/compat"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// halves is a connection made of two halves.
type halves struct {
	io.Reader
	io.Writer
}

func (halves) Close() error { return nil }

// frame encodes one plain frame, as the side that sends it.
func frame(t testing.TB, g netproto.Generation, m netproto.Message) []byte {
	t.Helper()
	var out, greeting bytes.Buffer
	client := netproto.NewConn(halves{nil, &out}, netproto.ClientSide, netproto.Limits{})
	if err := client.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	if client.Write(m) == nil {
		return out.Bytes()
	}
	other := netproto.NewConn(halves{nil, &greeting}, netproto.ClientSide, netproto.Limits{})
	if err := other.SetGeneration(g); err != nil {
		t.Fatal(err)
	}
	if err := other.Write(hello(g)); err != nil {
		t.Fatal(err)
	}
	server := netproto.NewConn(halves{&greeting, &out}, netproto.ServerSide, netproto.Limits{})
	if _, err := server.Read(); err != nil {
		t.Fatal(err)
	}
	if err := server.Write(m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// hello is a valid hello of g.
func hello(g netproto.Generation) *netproto.Handshake {
	h := &netproto.Handshake{Version: g.Version(), Compatibility: "compat-A", Target: "Linux-x64"}
	if g.Engine() {
		h.Key = 0x12345678
	} else {
		h.Capabilities = netproto.CapPipeline
	}
	return h
}

// rawFrame puts a header before body.
func rawFrame(id netproto.MessageID, body string) []byte {
	n := len(body) + 9
	return append([]byte{0x22, 0x94, 0x1e, 0x01, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), byte(id)}, body...)
}

// wantFault checks that err is the peer's fault and says what it should.
func wantFault(t testing.TB, err error, id netproto.MessageID, text string) {
	t.Helper()
	var fault *netproto.FormatError
	if !errors.As(err, &fault) {
		t.Fatalf("error %v, want a FormatError", err)
	}
	if fault.Message != id || !strings.Contains(err.Error(), text) {
		t.Errorf("error %q about %v, want %q about %v", err, fault.Message, text, id)
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Two builds: the server's, with the hashes of docs/COMPATIBILITY.md, "What is hashed", and a client's whose Camera was
// declared differently.
const (
	cameraHash  = 0xa64fc12a8e0c1b84
	cameraOther = 0xdf1301673469e89d
	walletHash  = 0x344f237d92ca82f0
	serverSet   = 0x4c37681f163b1204
	clientSet   = 0x536c49c90dc3ebf0
)

// serverManifest is what a developer's server shows.
func serverManifest() *compat.Manifest {
	return &compat.Manifest{
		Mode:  compat.ManifestFull,
		Build: compat.Build{Logic: 7, Components: serverSet, Time: 1772460300, Seq: 841, ID: "9f31c2e", Branch: "main"},
		Entries: []compat.Entry{
			{Name: "Camera", WireID: 1, Hash: cameraHash, ChangedAt: 1772400000},
			{Name: "Wallet", WireID: 2, Hash: walletHash, ChangedAt: 1750000000, Since: 6},
		},
	}
}

// clientManifest is what an older client shows.
func clientManifest() *compat.Manifest {
	m := serverManifest()
	m.Build = compat.Build{Logic: 7, Components: clientSet, Time: 1770802200, Seq: 812, ID: "77ab01d", Branch: "main"}
	m.Entries[0].Hash, m.Entries[0].ChangedAt = cameraOther, 1768000000
	return m
}

// fullHello says everything that a hello can.
func fullHello() netproto.HelloTags {
	return netproto.HelloTags{
		Build: clientManifest().Build, Patch: 3, Count: 2, Content: "c3ab8ff13720e8ad", Account: "player-17",
		Flags: compat.FlagDevelopment | compat.FlagManifest,
	}
}

// fullAnswer tells everything that an answer can.
func fullAnswer() netproto.AnswerTags {
	return netproto.AnswerTags{
		Reasons: compat.ReasonOf(compat.RuleTooOld) | compat.ReasonOf(compat.RuleComponents), Warnings: compat.WarnNewer,
		Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Active: compat.Range{Min: 6, Max: 7}, Floor: 7, MinPatch: 3,
		Redirect: &compat.Endpoint{Host: "next.example", Port: 4000, TLS: true, BaseURL: "https://packs.example/8/"},
		StoreURL: "https://store.example/game", MessageKey: compat.PopupMaintenance, Message: "Back at noon.", Revision: 12,
		RetryAfter: 600, Age: compat.ClientOlder, Manifest: true, Fetch: true, Content: "packs-12", Server: serverManifest().Build,
	}
}

// production is a server that tells no more than it must.
func production() *compat.Snapshot {
	return &compat.Snapshot{
		Revision: 12, Compatibility: "L7-4c37681f163b1204", Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Active: compat.Range{Min: 6, Max: 7},
		Components: serverSet, Baselines: map[int32]uint64{6: 66, 7: serverSet}, Build: serverManifest().Build, Policy: compat.PolicyEnforce,
		Manifest: compat.ManifestNone, Targets: map[string]compat.Target{"Windows-win64": {Payloads: []compat.Payload{{Logic: 7, Components: serverSet}}}},
		StoreURLs: map[string]string{"Android-*": "https://store.example/game"}, Messages: map[string]string{compat.PopupStore: "Get it there.", compat.PopupMaintenance: "At noon."},
	}
}

// development is a developer's.
func development() *compat.Snapshot {
	s := production()
	s.Development, s.Manifest = true, compat.ManifestFull
	return s
}

// shown is the message that shows m in a mode.
func shown(t testing.TB, m *compat.Manifest, mode compat.ManifestMode) *netproto.ComponentManifest {
	t.Helper()
	message, err := netproto.NewComponentManifest(m, mode)
	if err != nil {
		t.Fatal(err)
	}
	return message
}
