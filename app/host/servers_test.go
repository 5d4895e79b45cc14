package host

import (
	"bytes"
	"context"
	"net"
	"path"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/generations"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
	"collet/platform"
)

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
			servers: &generations.File{FS: folder, Name: path.Join("Cache", generations.FileName), Log: zerolog.Nop()},
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
