package server_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// sparse makes a file of zeros that takes no room on the disk.
func sparse(t testing.TB, path string, size int64) {
	t.Helper()
	servertest.WriteFile(t, path, "")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// mapped is how many bytes this process has from the system for Go's memory, less what it gave back.
func mapped() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// rangeFrame is the head of a RangeData frame before its data: header, request, offset, length.
const rangeFrame = 9 + 4 + 8 + 4

// drainFile asks for a whole file with a window of requests and throws it away without using memory.
func drainFile(p *servertest.Peer, tb testing.TB, index uint32, size, portion int64, window int) {
	tb.Helper()
	asked := int64(0)
	ask := func() {
		if asked < size {
			p.Send(&netproto.GetRange{Request: uint32(asked / portion), Index: index, Offset: uint64(asked), Length: uint32(portion)})
			asked += portion
		}
	}
	for range window {
		ask()
	}
	head := make([]byte, rangeFrame)
	for taken := int64(0); taken < size; ask() {
		if _, err := io.ReadFull(p.Raw, head); err != nil {
			tb.Fatalf("after %d bytes: %v", taken, err)
		}
		n := int64(binary.LittleEndian.Uint32(head[21:]))
		if head[8] != byte(netproto.IDRangeData) || n != min(portion, size-taken) {
			tb.Fatalf("after %d bytes: frame %x", taken, head)
		}
		if _, err := io.CopyN(io.Discard, p.Raw, n); err != nil {
			tb.Fatalf("after %d bytes: %v", taken, err)
		}
		taken += n
	}
}

// TestLargeFileFromDiskNeedsBoundedMemory serves a large file and looks at what the process took from the system meanwhile.
func TestLargeFileFromDiskNeedsBoundedMemory(t *testing.T) {
	testlevel.Lab(t)
	const size = int64(200_000_000) // far above the bound, which does not depend on it
	const bound = 16 << 20
	root := t.TempDir()
	sparse(t, filepath.Join(root, "Resources", "Big.zip"), size)
	runtime.GC()
	before := mapped()
	h := servertest.Start(t, config.ForFolder(root, servertest.Compatibility))
	if grown := int64(mapped()) - int64(before); grown > bound {
		t.Errorf("opening took %d bytes of memory", grown)
	}
	p := h.Dial(t, netproto.C1)
	p.RemoveDeadline()
	answer, files := p.Greet(servertest.Handshake(netproto.C1))
	if int64(files[0].Size) != size {
		t.Fatalf("announced %d bytes", files[0].Size)
	}
	drainFile(p, t, 0, size, int64(answer.MaxPortion), int(answer.MaxInFlight))
	grown := int64(mapped()) - int64(before)
	if grown > bound {
		t.Errorf("serving took %d bytes of memory", grown)
	}
	t.Logf("serving %d bytes took %d bytes of memory", size, grown)
}

// TestStalledEngineClientsNeedBoundedMemory: a client that asks for a portion and takes nothing of it costs the pieces that are
// under way, whatever the size of a portion.
func TestStalledEngineClientsNeedBoundedMemory(t *testing.T) {
	testlevel.Lab(t)
	const stalled, bound = 64, 320 << 10 // bytes for each
	root := t.TempDir()
	noise := make([]byte, 2<<20) // which no compression makes smaller
	rand.NewChaCha8([32]byte{}).Read(noise)
	servertest.WriteFile(t, filepath.Join(root, "Resources", "Big.zip"), string(noise))
	set := config.ForFolder(root, servertest.Compatibility)
	set.Limits.ProgressTime, set.Limits.PingTime = time.Hour, time.Hour
	h, line := servertest.Open(t, set), newPipes()
	h.ServeOn(t, line)
	peers := make([]*servertest.Peer, stalled)
	for i := range peers {
		peers[i] = servertest.NewPeer(t, line.connect(), netproto.G1)
		peers[i].Greet(servertest.Handshake(netproto.G1))
	}
	runtime.GC()
	before := mapped()
	for _, p := range peers {
		p.Send(&netproto.GetUpdateFile{Index: 0})
		if _, err := io.ReadFull(p.Raw, make([]byte, 1)); err != nil { // the first of the portion, whose rest waits
			t.Fatal(err)
		}
	}
	each := (int64(mapped()) - int64(before)) / stalled
	t.Logf("a stalled client takes %d bytes, of a portion of %d", each, set.Network.UpdateFileMaxPortionSize)
	if each > bound {
		t.Errorf("more than %d", bound)
	}
	runtime.KeepAlive(peers)
}
