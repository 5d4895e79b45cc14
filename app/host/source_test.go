package host

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/session"
	"collet/platform"
)

func TestRangesOfWants(t *testing.T) {
	file := func(index uint32, size int64) release.File { return release.File{Index: index, Size: size} }
	ranges, owners := rangesOf([]update.Want{
		update.WantFrom(file(7, 100), 30),
		{File: file(8, 50)},
		{File: file(9, 90), Missing: []update.Range{{Start: 0, End: 10}, {Start: 80, End: 90}}},
		{File: file(10, 0)},
	})
	want := []session.FetchRange{
		{Index: 7, Offset: 30, End: 100, Size: 100}, {Index: 8, Offset: 50, End: 50, Size: 50},
		{Index: 9, Offset: 0, End: 10, Size: 90}, {Index: 9, Offset: 80, End: 90, Size: 90}, {Index: 10},
	}
	if !reflect.DeepEqual(ranges, want) || !reflect.DeepEqual(owners, []int{0, 1, 2, 2, 3}) {
		t.Errorf("ranges %v of %v", ranges, owners)
	}
}

// counted is a connection that counts what arrives.
type counted struct {
	net.Conn
	arrived *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.arrived.Add(int64(n))
	return n, err
}

// served is a real server on loopback and a real install on disk.
type served struct {
	t          *testing.T
	generation netproto.Generation
	addr       string
	dir        string
}

const testCompatibility = "compat-A"

// newGame serves packs in one generation's portions of the default size.
func newGame(t *testing.T, g netproto.Generation, packs map[string][]byte) served {
	t.Helper()
	return newForcedGame(t, g, packs, "")
}

// newForcedGame speaks of a metadata version, whatever the packs have.
func newForcedGame(t *testing.T, g netproto.Generation, packs map[string][]byte, metadata string) served {
	t.Helper()
	root := t.TempDir()
	for name, data := range packs {
		putFile(t, filepath.Join(root, "Resources", name), data)
	}
	set := config.ForFolder(root, testCompatibility)
	set.Network.ForceMetadataVersion = metadata
	offered, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- server.New(offered, set, zerolog.Nop()).Serve(ctx, listener) }()
	t.Cleanup(func() { stop(); <-over })
	return served{t, g, listener.Addr().String(), t.TempDir()}
}

func putFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// sync runs one update of the install and returns how it ended and how many bytes came from the server.
func (g served) sync(verify bool) (update.Status, int64) {
	g.t.Helper()
	folder, err := platform.OpenDir(g.dir)
	if err != nil {
		g.t.Fatal(err)
	}
	defer folder.Close()
	dir, err := install.Open(g.t.Context(), install.Config{
		FS: folder, Verify: verify, Trust: install.TrustSHA256, Log: zerolog.Nop(),
		Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	var arrived atomic.Int64
	source := &source{options: session.Options{
		Addr: g.addr, Generation: g.generation, Compatibility: testCompatibility, Target: "Linux-x64",
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return counted{conn, &arrived}, err
		},
	}}
	u, err := update.New(update.Config{Source: source, Destination: dir, Server: g.addr})
	if err != nil {
		g.t.Fatal(err)
	}
	status := u.Run(g.t.Context())
	if status.Outcome != update.ResourcesReady {
		g.t.Errorf("%s: %v", status.Outcome, status.Fault)
	}
	if err := dir.Confirm(); err != nil {
		g.t.Error(err)
	}
	if err := dir.Close(); err != nil {
		g.t.Error(err)
	}
	return status, arrived.Load()
}

// chatter bounds what a session brings beside files: answer, list, pings, and a header for each portion.
const chatter = 16 << 10

// TestOnlyDamageTravels damages an install and counts what comes over the wire to mend it, in every kind of generation.
func TestOnlyDamageTravels(t *testing.T) {
	const block = 1 << 20
	core, maps := make([]byte, 9*block+777), make([]byte, 3*block)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(core)
	_, _ = random.Read(maps)
	tests := []struct {
		name   string
		damage func(core, maps []byte) ([]byte, []byte)
		ranges []int64 // sizes of what has to travel
	}{
		{"nothing", func(core, maps []byte) ([]byte, []byte) { return core, maps }, nil},
		{"one bit", func(core, maps []byte) ([]byte, []byte) { core[5*block+9] ^= 1; return core, maps }, []int64{block}},
		{"ends and middle", func(core, maps []byte) ([]byte, []byte) {
			core[0] ^= 1
			core[4*block-1] ^= 1
			core[4*block] ^= 1
			core[len(core)-1] ^= 1
			maps[block] ^= 1
			return core, maps
		}, []int64{block, 2 * block, 777, block}},
		{"cut", func(core, maps []byte) ([]byte, []byte) { return core[:7*block+5], maps }, []int64{2*block + 777}},
		{"grown", func(core, maps []byte) ([]byte, []byte) { return append(core, 1, 2, 3), maps }, nil},
	}
	for _, g := range []netproto.Generation{netproto.C1, netproto.G1, netproto.G2b} {
		t.Run(g.String(), func(t *testing.T) {
			play := newGame(t, g, map[string][]byte{"Core.zip": core, "Maps.zip": maps})
			if _, arrived := play.sync(false); arrived < int64(len(core)+len(maps)) {
				t.Fatalf("%d bytes arrived for the whole set", arrived)
			}
			for _, test := range tests {
				badCore, badMaps := test.damage(append([]byte(nil), core...), append([]byte(nil), maps...))
				putFile(t, filepath.Join(play.dir, "Resources", "Core.zip"), badCore)
				putFile(t, filepath.Join(play.dir, "Resources", "Maps.zip"), badMaps)
				status, arrived := play.sync(true)
				if least, most := travels(g, test.ranges); arrived < least || arrived > most+chatter {
					t.Errorf("%s: %d bytes arrived, want %d to %d", test.name, arrived, least, most)
				}
				if (status.Damage == nil) != (test.name == "nothing") || status.BytesDone != status.Bytes {
					t.Errorf("%s: %+v", test.name, status)
				}
				play.has(test.name, "Core.zip", core)
				play.has(test.name, "Maps.zip", maps)
			}
		})
	}
}

// travels is how many bytes it takes to bring ranges. An engine's server knows no ends: it always gives a whole portion.
func travels(g netproto.Generation, ranges []int64) (least, most int64) {
	for _, n := range ranges {
		least += n
		if g.Engine() {
			n = (n + config.DefaultPortion - 1) / config.DefaultPortion * config.DefaultPortion
		}
		most += n
	}
	return least, most
}

// has checks a live pack.
func (g served) has(when, name string, want []byte) {
	g.t.Helper()
	got, err := os.ReadFile(filepath.Join(g.dir, "Resources", name))
	if err != nil || string(got) != string(want) {
		g.t.Errorf("%s: %s is not what was offered (%v)", when, name, err)
	}
}
