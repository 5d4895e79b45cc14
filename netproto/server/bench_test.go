package server_test

import (
	"path/filepath"
	"testing"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// benchmarkSize is the size of the file that is served in benchmarks, in bytes.
const benchmarkSize = 64_000_000

// bench starts a server of one file and greets it.
func bench(b *testing.B, g netproto.Generation, change func(*config.Settings)) (*servertest.Peer, *netproto.HandshakeAnswer) {
	b.Helper()
	root := b.TempDir()
	sparse(b, filepath.Join(root, "Resources", "Big.zip"), benchmarkSize)
	set := config.ForFolder(root, servertest.Compatibility)
	change(&set)
	p := servertest.Start(b, set).Dial(b, g)
	p.RemoveDeadline()
	answer, _ := p.Greet(servertest.Handshake(g))
	b.SetBytes(benchmarkSize)
	b.ReportAllocs()
	b.ResetTimer()
	return p, answer
}

// BenchmarkOwnPortionsFromDisk is a C1 client on loopback with all its requests in flight.
func BenchmarkOwnPortionsFromDisk(b *testing.B) {
	p, answer := bench(b, netproto.C1, func(*config.Settings) {})
	for b.Loop() {
		drainFile(p, b, 0, benchmarkSize, int64(answer.MaxPortion), int(answer.MaxInFlight))
	}
}

// BenchmarkOwnPortionsFromMemory is the same without the disk.
func BenchmarkOwnPortionsFromMemory(b *testing.B) {
	p, answer := bench(b, netproto.C1, func(s *config.Settings) { s.ServerNetwork.UpdateFilesInMemory = true })
	for b.Loop() {
		drainFile(p, b, 0, benchmarkSize, int64(answer.MaxPortion), int(answer.MaxInFlight))
	}
}

// BenchmarkEnginePortionsFromDisk is a G1 client on loopback, which waits for each portion, without compression.
func BenchmarkEnginePortionsFromDisk(b *testing.B) {
	p, _ := bench(b, netproto.G1, func(s *config.Settings) { s.Network.DisableZlibCompression = true })
	for b.Loop() {
		fetchAsEngine(p, b)
	}
}

// BenchmarkEnginePortionsCompressed is the same with zlib, on content that compresses well.
func BenchmarkEnginePortionsCompressed(b *testing.B) {
	p, _ := bench(b, netproto.G1, func(*config.Settings) {})
	for b.Loop() {
		fetchAsEngine(p, b)
	}
}

func fetchAsEngine(p *servertest.Peer, b *testing.B) {
	for taken := uint64(0); taken < benchmarkSize; {
		p.Send(&netproto.GetUpdateFile{Offset: taken})
		n := len(servertest.Next[*netproto.UpdateFileData](p).Data)
		if n == 0 {
			b.Fatalf("nothing at %d", taken)
		}
		taken += uint64(n)
	}
}
