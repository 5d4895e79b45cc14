package host

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/session"
)

// TestForcedGenerationIsNamed: a server that speaks another generation than the one asked for closes, or calls the client
// outdated; either end names the generation and says what to do.
func TestForcedGenerationIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		outdated bool
		code     int
	}{"closes": {false, 21}, "updater outdated": {true, 14}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := otherGeneration(t, test.outdated)
			var out, aside bytes.Buffer
			code, _ := Run(t.Context(), Options{
				Headless: true, Dir: t.TempDir(), Server: addr, Generation: "g1", RuntimeName: "Lathe", Target: "Linux-x64", Lang: "en", LogLevel: "info", Compat: testCompatibility,
			}, &out, &aside)
			if code != test.code || !strings.Contains(out.String(), "This client is set to the protocol G1,") {
				t.Errorf("exit code %d, %s", code, &out)
			}
		})
	}
}

// otherGeneration is a server that does not speak what it hears, as the engine's do: it closes, or says that the updater is outdated.
func otherGeneration(t *testing.T, outdated bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			conn := netproto.NewConn(raw, netproto.ServerSide, netproto.DefaultServerLimits())
			if _, err := conn.Read(); err == nil && outdated {
				_ = conn.Write(&netproto.HandshakeAnswer{UpdaterOutdated: true, Key: netproto.NewKey()}, &netproto.Disconnect{})
				_, _ = conn.Read() // until the client has gone
			}
			_ = raw.Close()
		}
	})
	t.Cleanup(func() { _ = listener.Close(); work.Wait() })
	return listener.Addr().String()
}

// TestMisspelledEntryIsLeftOut: one name in the form NFD in an engine's list leaves the others to be fetched, and is named. One that
// leaves the folder stays in the list, which is refused for it.
func TestMisspelledEntryIsLeftOut(t *testing.T) {
	descriptor, err := netproto.EncodeDescriptor([]netproto.Entry{
		{Name: "Core.zip", Size: 4, Hash: 1}, {Name: "Cafe\u0301.zip", Size: 4, Hash: 2, Index: 1}, {Name: "../Caf\u00e9.zip", Size: 4, Hash: 3, Index: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	var work sync.WaitGroup
	work.Go(func() {
		defer theirs.Close()
		conn := netproto.NewConn(theirs, netproto.ServerSide, netproto.DefaultServerLimits())
		_, err := conn.Read()
		if err == nil {
			err = conn.Write(&netproto.HandshakeAnswer{Key: netproto.NewKey()}, &netproto.InitData{Descriptor: descriptor})
		}
		for err == nil {
			_, err = conn.Read()
		}
	})
	var log bytes.Buffer
	s := &source{options: session.Options{
		Addr: "pipe:1", Generation: netproto.G1, Compatibility: testCompatibility, Target: "Linux-x64", Log: zerolog.New(&log),
		Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil },
	}}
	defer func() { _ = s.Close(); work.Wait() }()
	if _, err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := s.List(t.Context())
	if err != nil || len(files) != 2 || files[0].Path != "Core.zip" || files[1].Path != "../Caf\u00e9.zip" {
		t.Errorf("%+v, %v", files, err)
	}
	if !strings.Contains(log.String(), `"file":"Cafe`) {
		t.Errorf("not named: %s", &log)
	}
}
