package server_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// large is more than sockets hold, so that a server is in the middle of a portion while its client does not read.
const large = 16 << 20

// midway starts a server of one large file, asks for all of it, takes the head of the answer and then does not read.
func midway(t *testing.T) (h *servertest.Server, p *servertest.Peer, path string) {
	t.Helper()
	root := t.TempDir()
	path = filepath.Join(root, "Resources", "Big.zip")
	sparse(t, path, large)
	touch(t, path, time.Unix(1_500_000_000, 0))
	set := config.ForFolder(root, servertest.Compatibility)
	set.Network.UpdateFileMaxPortionSize = large
	h = servertest.Start(t, set)
	p = h.Dial(t, netproto.C1)
	p.RemoveDeadline()
	p.Greet(servertest.Handshake(netproto.C1))
	p.Send(&netproto.GetRange{Request: 1, Length: large})
	if _, err := io.ReadFull(p.Raw, make([]byte, rangeFrame)); err != nil {
		t.Fatal(err)
	}
	return h, p, path
}

// TestFileThatChangesWhileItIsSent changes a file in the middle of a portion: the portion is never complete, and nothing
// follows that could be taken for the rest of it.
func TestFileThatChangesWhileItIsSent(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("a portion is read as a whole here, and then sent")
	}
	for _, test := range []struct {
		name   string
		change func(t *testing.T, path string)
	}{
		{"cut", func(t *testing.T, path string) {
			if err := os.Truncate(path, 1<<10); err != nil {
				t.Fatal(err)
			}
		}},
		{"emptied", func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"grown", func(t *testing.T, path string) {
			if err := os.Truncate(path, large+1); err != nil {
				t.Fatal(err)
			}
		}},
		{"touched", func(t *testing.T, path string) { touch(t, path, time.Unix(1_000_000_000, 0)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, p, path := midway(t)
			test.change(t, path)
			if n, _ := io.Copy(io.Discard, p.Raw); n >= large {
				t.Errorf("%d bytes of %d arrived", n, large)
			}
			h.Log.Has(t, "warn", "changed on disk since startup", "Big.zip", "file index 0, client host '127.0.0.1'")
		})
	}
}

// TestPortionOfAReplacedFileIsWhole renames another file over one of which a portion is under way.
func TestPortionOfAReplacedFileIsWhole(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a portion is read as a whole here, and then sent")
	}
	_, p, path := midway(t)
	servertest.WriteFile(t, path+".new", "another file")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, large)
	if _, err := io.ReadFull(p.Raw, rest); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rest, make([]byte, large)) {
		t.Error("other bytes arrived")
	}
}

// TestLargePortionsAreWhole takes a file in large portions at odd offsets, and looks at every byte; the bandwidth limit
// cuts them up.
func TestLargePortionsAreWhole(t *testing.T) {
	t.Parallel()
	for _, bandwidth := range []int64{0, 64 << 20} {
		root := t.TempDir()
		text := strings.Repeat("0123456789abcde", 100_000)
		servertest.WriteFile(t, filepath.Join(root, "Resources", "Big.zip"), text)
		set := config.ForFolder(root, servertest.Compatibility)
		set.Limits.TotalBandwidth = bandwidth
		p := servertest.Start(t, set).Dial(t, netproto.C1)
		p.Greet(servertest.Handshake(netproto.C1))
		for i, r := range []struct{ offset, length int }{
			{0, 1_000_000}, {1, 32 << 10}, {7, 32<<10 - 1}, {12_345, 500_001}, {len(text) - 4096, 4096}, {len(text) - 40_000, 1_000_000}, {len(text), 1},
		} {
			p.Send(&netproto.GetRange{Request: uint32(i), Offset: uint64(r.offset), Length: uint32(r.length)})
			got, want := servertest.Next[*netproto.RangeData](p), text[r.offset:min(len(text), r.offset+r.length)]
			if got.Request != uint32(i) || got.Offset != uint64(r.offset) || string(got.Data) != want {
				t.Errorf("%+v: request %d at %d, %d bytes", r, got.Request, got.Offset, len(got.Data))
			}
		}
	}
}

// TestConnectionsShareAnOpenFile lets two clients take one file in turns: each has a place of its own in it.
func TestConnectionsShareAnOpenFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	text := strings.Repeat("fedcba987654321", 50_000)
	servertest.WriteFile(t, filepath.Join(root, "Resources", "Big.zip"), text)
	h := servertest.Start(t, config.ForFolder(root, servertest.Compatibility))
	peers := []*servertest.Peer{h.Dial(t, netproto.C1), h.Dial(t, netproto.C1)}
	for _, p := range peers {
		p.Greet(servertest.Handshake(netproto.C1))
	}
	const step = 50_000
	for offset := 0; offset < len(text); offset += step {
		for i, p := range peers {
			at := offset
			if i == 1 {
				at = len(text) - step - offset
			}
			p.Send(&netproto.GetRange{Request: uint32(offset), Offset: uint64(at), Length: step})
			if got := servertest.Next[*netproto.RangeData](p); string(got.Data) != text[at:at+step] {
				t.Fatalf("client %d at %d: other bytes", i, at)
			}
		}
	}
}
