package trust_test

import (
	"context"
	"fmt"
	"testing"

	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// crowded is a folder with n releases, one of them for the client.
func crowded(b *testing.B, n int) *stage {
	s := newStage(b)
	e := s.entry(7)
	entries := []release.Entry{e}
	for i := range n - 1 {
		e.Target, e.Number = fmt.Sprintf("target-%d", i/100), uint64(1+i%100)
		entries = append(entries, e)
	}
	s.must(s.repo.SetEntries(entries, s.keys.online()))
	return s
}

// BenchmarkNothingNew is what a start costs beside the network: open what was verified, check the timestamp, choose.
func BenchmarkNothingNew(b *testing.B) {
	for _, n := range []int{20, 1000, release.MaxEntries} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := crowded(b, n)
			s.wants(7)
			b.ReportAllocs()
			for b.Loop() {
				s.wants(7)
			}
		})
	}
}

// BenchmarkFirstRefresh takes everything anew.
func BenchmarkFirstRefresh(b *testing.B) {
	for _, n := range []int{20, 1000, release.MaxEntries} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := crowded(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s.store = &trust.MemoryStore{}
				if _, err := s.start().Refresh(context.Background(), s.net, query(0)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.net.bytes)/float64(b.N), "B/fetched")
		})
	}
}
