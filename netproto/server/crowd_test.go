package server_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// TestManyClientsWhileReloading lets real clients of both generations fetch everything, resumed at odd places, while the
// catalogue is replaced under them by one with the same files and others in front.
func TestManyClientsWhileReloading(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	for _, inMemory := range []bool{false, true} {
		set := servertest.Settings(t)
		set.ServerNetwork.UpdateFilesInMemory = inMemory
		h := servertest.Start(t, set)
		var clients sync.WaitGroup
		for i := range 12 {
			clients.Go(func() {
				g := []netproto.Generation{netproto.G1, netproto.C1}[i%2]
				if err := fetchAll(t, h.Addr, g, int64(37*i)); err != nil {
					t.Errorf("client %d, %v, %s: %v", i, g, set.Storage(), err)
				}
			})
		}
		for i := range 5 {
			servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, fmt.Sprintf("Added%d.zip", i)), "in front")
			if err := h.Reload(t.Context(), set); err != nil {
				t.Error(err)
			}
		}
		clients.Wait()
	}
}

// fetchAll gets everything from an offset and compares content and digests with the fixture.
func fetchAll(t *testing.T, addr string, g netproto.Generation, from int64) error {
	client, err := session.Dial(t.Context(), session.Options{
		Addr: addr, Generation: g, Compatibility: servertest.Compatibility, Target: "Linux-x64", Log: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	defer client.Close()
	offers, err := client.List(t.Context())
	if err != nil {
		return err
	}
	var ranges []session.FetchRange
	for _, o := range offers {
		ranges = append(ranges, session.FetchRange{Index: o.Index, Offset: min(from, o.Size), Size: o.Size})
	}
	got := make([]bytes.Buffer, len(offers))
	if err := client.Fetch(t.Context(), ranges, func(i int, data []byte) error {
		got[i].Write(data)
		return nil
	}); err != nil {
		return err
	}
	for i, o := range offers {
		want := content("Linux-x64", netproto.ListedFile{Path: o.Path, Role: o.Role})
		sum := fnv.New64a()
		sum.Write([]byte(want))
		if len(want) == 0 && o.Size != 0 {
			continue // one of those that were added
		}
		if got[i].String() != want[ranges[i].Offset:] || !o.HasSHA256 && o.FNV != sum.Sum64() {
			return fmt.Errorf("%s from %d: %d bytes", o.Path, ranges[i].Offset, got[i].Len())
		}
	}
	return nil
}

// FuzzConversation sends anything to a server, before and after a good handshake. Whatever it is, the server lets go of
// the connection when the client does, and serves the next one.
func FuzzConversation(f *testing.F) {
	for _, greeted := range []bool{false, true} {
		f.Add(greeted, unhex(f, goldenHello))
		f.Add(greeted, unhex(f, "22941e01110000000f00"))
		f.Add(greeted, unhex(f, "22941e011d00000041"+"01000000"+"00000000"+"0000000000000000"+"ff000000"))
		f.Add(greeted, unhex(f, "22941e0130000000450100000017000000"+hex.EncodeToString([]byte("metadata/timestamp.json"))+"000000000000000000010000"))
		f.Add(greeted, unhex(f, "22941e010a0000000f01"+"22941e010a0000000f00"+"22941e0109000000c8"))
	}
	set := config.ForFolder(servertest.WriteFolder(f, servertest.Files()), servertest.Compatibility)
	pipes := newPipes()
	h := servertest.Open(f, set).ServeOn(f, pipes)
	f.Fuzz(func(t *testing.T, greeted bool, data []byte) {
		p := servertest.NewPeer(t, pipes.connect(), netproto.C1)
		if greeted {
			p.Greet(servertest.Handshake(netproto.C1))
		}
		p.Raw.SetDeadline(time.Now().Add(5 * time.Second))
		var writing sync.WaitGroup
		writing.Go(func() {
			p.Raw.Write(data) // the server may close at any byte
			p.Wire.Write(&netproto.Unknown{Number: 200})
			p.Raw.SetReadDeadline(time.Now())
		})
		for buf := make([]byte, 4096); ; {
			if _, err := p.Raw.Read(buf); err != nil {
				break
			}
		}
		writing.Wait()
		p.Raw.Close()
		for deadline := time.Now().Add(servertest.Patience); h.Connections() != 0; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatal("the server keeps the connection")
			}
		}
	})
}

func TestListenErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tests := []struct{ addr, want string }{
		{taken.Addr().String(), "another program listens on that port"},
		{"4000", "want HOST:PORT"},
		{"127.0.0.1:70000", "want HOST:PORT"},
	}
	for _, test := range tests {
		listener, err := server.Listen(t.Context(), test.addr)
		if err == nil {
			listener.Close()
			t.Errorf("%s: no error", test.addr)
			continue
		}
		if text := err.Error(); !bytes.Contains([]byte(text), []byte(test.want)) || !bytes.HasPrefix([]byte(text), []byte("listen on "+test.addr)) {
			t.Errorf("%s: %q, want …%q…", test.addr, text, test.want)
		}
	}
}
