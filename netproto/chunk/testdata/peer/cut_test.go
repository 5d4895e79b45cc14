// Package peer_test compares the cutter with another library in one run. It is a module of its own, so that the library is
// no dependency of ours: go test -bench . here.
package peer_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"testing"
	"time"

	"collet/netproto/chunk"

	chunkers "github.com/PlakarKorp/go-cdc-chunkers"
	_ "github.com/PlakarKorp/go-cdc-chunkers/chunkers/fastcdc"
)

func ours(data []byte) (n int) {
	for ; len(data) > 0; n++ {
		data = data[chunk.Coarse.Cut(data):]
	}
	return n
}

func theirs(b *testing.B, data []byte) (n int) {
	c, err := chunkers.NewChunker("fastcdc-v1.0.0", bytes.NewReader(data), &chunkers.ChunkerOpts{MinSize: 4 << 10, NormalSize: 16 << 10, MaxSize: 64 << 10})
	if err != nil {
		b.Fatal(err)
	}
	for ; ; n++ {
		if _, err := c.Next(); errors.Is(err, io.EOF) {
			return n + 1
		} else if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRatio takes turns, so that what else the machine does falls on both.
func BenchmarkRatio(b *testing.B) {
	data := make([]byte, 64<<20)
	rand.New(rand.NewSource(1)).Read(data)
	var own, peer time.Duration
	var ownChunks, peerChunks int
	for b.Loop() {
		began := time.Now()
		ownChunks = ours(data)
		middle := time.Now()
		peerChunks = theirs(b, data)
		own, peer = own+middle.Sub(began), peer+time.Since(middle)
	}
	size := float64(len(data)) * float64(b.N)
	b.ReportMetric(size/own.Seconds()/1e6, "own-MB/s")
	b.ReportMetric(size/peer.Seconds()/1e6, "peer-MB/s")
	b.ReportMetric(peer.Seconds()/own.Seconds(), "times-as-fast")
	b.ReportMetric(float64(len(data)/ownChunks), "own-average")
	b.ReportMetric(float64(len(data)/peerChunks), "peer-average")
}
