package host

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
	"collet/platform"
)

// TestServersAreRemembered covers what the file keeps, in which order, and what it does not believe.
func TestServersAreRemembered(t *testing.T) {
	folder, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := &servers{fs: folder, name: "Cache/servers", log: zerolog.Nop()}
	content := func() string {
		data, _ := os.ReadFile(folder.Path(s.name))
		return string(data)
	}
	if got := s.recall("a:1"); got != 0 {
		t.Errorf("nothing is remembered as %v", got)
	}
	s.remember("a:1", netproto.C1)
	s.remember("a:1", netproto.G2a)
	if content() != "" {
		t.Errorf("%q is not worth a file", content())
	}
	s.remember("a:1", netproto.G2b)
	s.remember("b:1", netproto.G1)
	s.remember("a:1", netproto.G2b)
	s.remember("a b:1", netproto.G1)
	if content() != "b:1 G1\na:1 G2b\n" || s.recall("a:1") != netproto.G2b || s.recall("b:1") != netproto.G1 || s.recall(":1") != 0 {
		t.Errorf("%q", content())
	}
	s.remember("a:1", netproto.G1)
	if s.recall("a:1") != netproto.G1 {
		t.Errorf("%q", content())
	}
	s.remember("a:1", netproto.C1)
	s.remember("b:1", netproto.C1)
	if content() != "" {
		t.Errorf("%q is forgotten badly", content())
	}
	for i := range 3 * maxServers {
		s.remember(fmt.Sprintf("host%d:1", i), netproto.G1)
	}
	if n := strings.Count(content(), "\n"); n != maxServers || s.recall("host47:1") != netproto.G1 || s.recall("host31:1") != 0 {
		t.Errorf("%d lines: %q", n, content())
	}
	for _, odd := range []string{"a:1 G9\n", "a:1 C1\n", "a:1\n", "a:1 G1 G1\n", "a:1G1", strings.Repeat("x", maxServersFile+1), "\x00"} {
		if err := os.WriteFile(folder.Path(s.name), []byte(odd), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := s.recall("a:1"); got != 0 {
			t.Errorf("%.20q is %v", odd, got)
		}
	}
}

// TestNextStartDoesNotProbe updates twice from a server that speaks G2b alone and counts connections.
func TestNextStartDoesNotProbe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			serveEngine(t, conn)
		}
	})
	folder, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for start, want := range []int{2, 3, 4} {
		s := &source{
			servers: &servers{fs: folder, name: filepath.ToSlash(filepath.Join("Cache", serversFile)), log: zerolog.Nop()},
			options: session.Options{Addr: listener.Addr().String(), Auto: true, Compatibility: "compat-A", Target: "Linux-x64"},
		}
		judgement, err := s.Connect(context.Background())
		if err != nil || judgement.Verdict != compat.Accept || s.session().Generation() != netproto.G2b {
			t.Fatalf("start %d: %+v, %v", start, judgement, err)
		}
		if files, err := s.List(context.Background()); err != nil || len(files) != 0 {
			t.Errorf("start %d: %v, %v", start, files, err)
		}
		s.Close()
		if got := int(connections.Load()); got != want {
			t.Errorf("start %d: %d connections, want %d", start, got, want)
		}
	}
	listener.Close()
	work.Wait()
}

// serveEngine is one conversation of a server of G2b that has no files.
func serveEngine(t *testing.T, nc net.Conn) {
	defer nc.Close()
	conn := netproto.NewConn(nc, netproto.ServerSide, netproto.Limits{}, netproto.WithOnly(netproto.G2b))
	if _, err := conn.Read(); err != nil {
		return
	}
	descriptor := bytes.Repeat([]byte{0xFF}, 2)
	if err := conn.Write(&netproto.HandshakeAnswer{Key: netproto.NewKey()}, &netproto.InitData{Descriptor: descriptor}); err != nil {
		t.Error(err)
	}
	for {
		if _, err := conn.Read(); err != nil {
			return
		}
	}
}
