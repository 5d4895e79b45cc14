package main

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"

	"collet/netproto"
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
			code, _ := run([]string{"--headless", "--dir", t.TempDir(), "--server", addr, "--generation", "g1", "--runtime-name", "Lathe",
				"--target", "Linux-x64", "--lang", "en", "--compat", testCompatibility}, &out, &aside)
			if code != test.code || !strings.Contains(out.String(), "This client was told to speak G1.") {
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
