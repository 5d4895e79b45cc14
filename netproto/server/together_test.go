package server_test

import (
	"encoding/binary"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

const (
	askedAtOnce = 8         // requests that a downloading client has unanswered
	askedSize   = 256 << 10 // bytes of each
)

// downloadUntil fetches a file from its begin again and again until the time is over, and returns how many bytes came.
func downloadUntil(p *servertest.Peer, size uint64, until time.Time) (total int64) {
	p.Raw.SetDeadline(until)
	offset := uint64(0)
	ask := func() error {
		if offset+askedSize > size {
			offset = 0
		}
		offset += askedSize
		return p.Wire.Write(&netproto.GetRange{Offset: offset - askedSize, Length: askedSize})
	}
	for range askedAtOnce {
		if ask() != nil {
			return total
		}
	}
	head := make([]byte, rangeFrame)
	for {
		if _, err := io.ReadFull(p.Raw, head); err != nil {
			return total
		}
		n, err := io.CopyN(io.Discard, p.Raw, int64(binary.LittleEndian.Uint32(head[21:])))
		if total += n; err != nil || ask() != nil {
			return total
		}
		runtime.Gosched() // these clients share processors as no real ones do
	}
}

// shares are what came of a crowd: bytes that an idle connection takes, and the rates of those that download, in bytes
// a second, from the slowest on.
type shares struct {
	idle  int64
	rates []float64
}

// together connects clients of all generations to a server in a process of its own, and then lets some more download at
// the same time. A client that is refused fails the test.
func together(tb testing.TB, idle, downloading int, d time.Duration) (s shares) {
	tb.Helper()
	if allowed, need := server.Descriptors(), uint64(idle+downloading+100); allowed != 0 && allowed < need {
		tb.Skipf("the system allows %d open files, %d are needed", allowed, need)
	}
	const size = 64 << 20
	root := tb.TempDir()
	sparse(tb, filepath.Join(root, "Resources", "Big.zip"), size)
	a := startAlone(tb, root)
	generations := []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b}
	plain := way{addr: a.tcp}
	a.crowd(tb, plain, netproto.G1, 50)
	before := a.resident(tb)
	for _, g := range generations {
		a.crowd(tb, plain, g, idle/len(generations))
	}
	s.idle = (a.resident(tb) - before) / int64(idle)
	h := &servertest.Server{Addr: a.tcp}
	peers := make([]*servertest.Peer, downloading)
	for i := range peers {
		peers[i] = h.Dial(tb, netproto.C1)
		peers[i].Greet(servertest.Handshake(netproto.C1))
	}
	s.rates = make([]float64, downloading)
	until := time.Now().Add(d)
	var work sync.WaitGroup
	for i, p := range peers {
		work.Go(func() { s.rates[i] = float64(downloadUntil(p, size, until)) / d.Seconds() })
	}
	work.Wait()
	slices.Sort(s.rates)
	return s
}

// TestNoClientStarves is BenchmarkCrowd in small. Where the machine is so slow that all had little, it gives more time: to
// have nothing beside others who had enough is to starve.
func TestNoClientStarves(t *testing.T) {
	testlevel.Lab(t)
	const enough, longest = 4 * askedAtOnce * askedSize, 32 * time.Second
	for d := 500 * time.Millisecond; ; d *= 4 {
		s := together(t, 200, 40, d)
		if s.rates[0] > 0 {
			return
		}
		if s.rates[len(s.rates)/2]*d.Seconds() >= enough || d >= longest {
			t.Fatalf("a client had nothing in %v: %.0f", d, s.rates)
		}
	}
}

// BenchmarkCrowd is 5000 clients at once, of which 200 download. None may be refused, and none may have less than half
// of what is usual; an idle one may take 40 KB.
func BenchmarkCrowd(b *testing.B) {
	const connected, downloading, least, most = 5000, 200, 0.5, 40 << 10
	for b.Loop() {
		s := together(b, connected-downloading, downloading, 5*time.Second)
		sum := 0.0
		for _, rate := range s.rates {
			sum += rate
		}
		slowest := s.rates[0] / s.rates[downloading/2]
		b.ReportMetric(slowest, "slowest/median")
		b.ReportMetric(sum/1e6, "MB/s")
		b.ReportMetric(float64(s.idle)/1024, "KB/idle")
		b.ReportMetric(0, "ns/op")
		if slowest < least {
			b.Errorf("the slowest has %.2f of the median, at least %v is the bound", slowest, least)
		}
		if s.idle > most {
			b.Errorf("an idle connection takes %d bytes, at most %d is the bound", s.idle, most)
		}
	}
}
