package server_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// TestObjectsOverEveryTransport takes all files of a release folder at once, by our own client.
func TestObjectsOverEveryTransport(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(2)
	r.Patch = strings.Repeat("0123456789abcdef", 200_000)
	f := published(t, releasetest.Standard(1), r)
	set := servertest.ReleaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = 50_000
	h := dock(t, set)
	for _, by := range h.ways(t) {
		t.Run(by.name, func(t *testing.T) {
			client, err := session.Dial(t.Context(), session.Options{Addr: by.addr, Compatibility: "compat-2", Target: "Linux-x64", Dial: by.dialer.DialContext, Unlisted: true})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.List(t.Context()); err == nil || !client.Objects() {
				t.Errorf("objects %t, a list: %v", client.Objects(), err)
			}
			var calls sync.WaitGroup
			for name, want := range servertest.ReadFolder(t, f.Dir) {
				calls.Go(func() {
					var got bytes.Buffer
					if err := client.Object(t.Context(), name, 0, -1, func(data []byte) error { got.Write(data); return nil }); err != nil || got.String() != want {
						t.Errorf("%s: %d bytes of %d, %v", name, got.Len(), len(want), err)
					}
				})
			}
			calls.Wait()
		})
	}
}

// clientFetcher brings metadata by an updater connection.
type clientFetcher struct{ *session.Client }

func (c clientFetcher) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	var got bytes.Buffer
	err := c.Object(ctx, name, 0, limit+1, func(data []byte) error { got.Write(data); return nil })
	switch err.(type) {
	case *session.MissingObjectError:
		return trust.Unverified{}, os.ErrNotExist
	case *session.ObjectEndError:
		err = nil
	}
	if err != nil {
		return trust.Unverified{}, err
	}
	return trust.ReadUnverified(&got, limit)
}

// TestUpToDate comes to the current release over an offer of C1. A client that has it already learns so from the answer: without a
// request, and from less than a kilobyte.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1), releasetest.Standard(2))
	set := servertest.ReleaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = 100_000
	h := servertest.Start(t, set)
	known := &trust.MemoryStore{}
	for _, test := range []struct {
		name     string
		requests string
	}{{"for the first time", "2"}, {"up to date", "2"}} {
		var line counting
		client, err := session.Dial(t.Context(), session.Options{Addr: h.Addr, Auto: true, Compatibility: "compat-2", Target: "Linux-x64", Unlisted: true, Dial: line.dial})
		if err != nil {
			t.Fatal(err)
		}
		verified, err := trust.Open(f.Repo.Root(), known, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		q := release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "an install"}
		if current, err := verified.Refresh(t.Context(), clientFetcher{client}, q); err != nil || current.Number != 2 || !current.Fresh {
			t.Errorf("%s: %+v, %v", test.name, current, err)
		}
		client.Close()
		h.WaitForNoClients(t) // a request is counted when its answer has gone
		var m origin.Monitor
		m.Watch(h.Server)
		if got := servertest.MetricValue(t, &m, `collet_requests_total{generation="C1",transport="tcp"}`); got != test.requests { // snapshot and list
			t.Errorf("%s: %s requests so far", test.name, got)
		}
		n := line.bytes.Load()
		t.Logf("%s: %d bytes came", test.name, n)
		if test.name == "up to date" && n > 1000 {
			t.Errorf("%d bytes came", n)
		}
	}
}

// counting counts what comes over a connection.
type counting struct{ bytes atomic.Int64 }

func (c *counting) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return countingConn{conn, c}, err
}

type countingConn struct {
	net.Conn
	of *counting
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.bytes.Add(int64(n))
	return n, err
}

// big is a release with a patch that does not fit into the buffers of a connection.
func big(t *testing.T) (dir, name, content string, set config.Settings) {
	t.Helper()
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 1<<20)
	f := published(t, r)
	set = servertest.ReleaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = config.MaxPortion
	return f.Dir, release.ObjectOf([]byte(r.Patch)).Path(), r.Patch, set
}

// TestObjectChangesWhileItIsSent never completes an answer of a file that was written into meanwhile.
func TestObjectChangesWhileItIsSent(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for name, spoil := range map[string]func(path string) error{
		"touched":   func(path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) },
		"truncated": func(path string) error { return os.Truncate(path, 100) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, object, content, set := big(t)
			h := servertest.Start(t, set)
			p, _ := h.DialForObjects(t, "compat-1")
			p.Send(&netproto.GetObject{Request: 1, Name: object, Length: 1 << 30})
			first := make([]byte, 1)
			if _, err := io.ReadFull(p.Raw, first); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, filepath.FromSlash(object))); err != nil {
				t.Fatal(err)
			}
			if n, _ := io.Copy(io.Discard, p.Raw); n >= int64(len(content)) {
				t.Errorf("%d bytes came", n)
			}
			h.Log.Has(t, "warn", "changed while it was handed out")
		})
	}
}
