package host

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto"
	"collet/platform"
)

// badLine is a connection that breaks after so many bytes from the server.
type badLine struct {
	net.Conn
	left int
}

func (b *badLine) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.Join(io.ErrUnexpectedEOF, b.Close())
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// TestUpdateOverABadLine updates from a real server over a line that breaks every 20 kB, which is less than a usual
// request.
func TestUpdateOverABadLine(t *testing.T) {
	const breaks = 20_000
	core := make([]byte, 500_000)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(core)
	play := newGame(t, netproto.C1, map[string][]byte{"Core.zip": core})
	folder, err := platform.OpenDir(play.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	dir, err := install.Open(t.Context(), install.Config{
		FS: folder, Trust: install.TrustSHA256, Log: zerolog.Nop(), Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
	})
	if err != nil {
		t.Fatal(err)
	}
	connections := 0
	s := newSource(&hostWith(setup{opt: Options{Generation: "c1"}, target: "Linux-x64", log: zerolog.Nop()}, func(h *host) { h.route = route{addr: play.addr} }).updates, testCompatibility)
	s.servers = nil
	s.options.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		connections++
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &badLine{conn, breaks}, err
	}
	retry := update.DefaultRetry()
	retry.Base, retry.Cap = time.Millisecond, time.Millisecond
	u, err := update.New(update.Config{Source: s, Destination: dir, Server: play.addr, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	status := u.Run(t.Context())
	if err := errors.Join(dir.Confirm(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	if status.Outcome != update.ResourcesReady {
		t.Fatalf("%v after %d connections: %v", status.Outcome, connections, status.Fault)
	}
	if least := len(core) / breaks; connections < least || connections > 2*least {
		t.Errorf("%d connections for %d bytes", connections, len(core))
	}
	play.has("behind a bad line", "Core.zip", core)
}
