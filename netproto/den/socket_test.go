package den

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

func TestRunsOfOneSize(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  []int
	}{
		{[]int{5}, []int{1}},
		{[]int{5, 5, 5}, []int{3}},
		{[]int{5, 5, 3}, []int{3}},
		{[]int{5, 3, 3}, []int{2, 1}},
		{[]int{3, 5, 5, 0, 5}, []int{1, 3, 1}},
	} {
		var ends []int
		at := 0
		for _, n := range c.sizes {
			at += n
			ends = append(ends, at)
		}
		var got []int
		for start := 0; len(ends) > 0; {
			n := run(ends, start)
			got = append(got, n)
			start = ends[n-1]
			ends = ends[n:]
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v goes as %v, want %v", c.sizes, got, c.want)
		}
	}
}

// TestBatchesKeepTheirDatagrams sends batches of mixed sizes through sockets of the system, with and without its help to
// send several at once.
func TestBatchesKeepTheirDatagrams(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s single %v", address, single), func(t *testing.T) {
				server, err := listenUDP(netip.MustParseAddrPort(address))
				if err != nil {
					t.Skip(err)
				}
				conn, err := dialUDP(server.local())
				if err != nil {
					t.Fatal(err)
				}
				in, out := newSocket(server, true), newSocket(conn, true)
				if single {
					out.most = 0
				}
				got := make(chan []byte, 1000)
				go in.run(func(from netip.AddrPort, d []byte, _ time.Time) {
					if from == conn.local() {
						got <- bytes.Clone(d)
					}
				})
				var b batch
				var want [][]byte
				for i, n := range []int{4, 4, 4, 1372, 1372, 1372, 900, 1, 1, 30000, 1372, 8, 8, 8} {
					d := bytes.Repeat([]byte{byte(i)}, n)
					want = append(want, d)
					b.buf = append(b.buf, d...)
					b.close()
				}
				out.send(server.local(), &b)
				for i := range want {
					select {
					case d := <-got:
						if !bytes.Equal(d, want[i]) {
							t.Fatalf("datagram %d has %d bytes, want %d", i, len(d), len(want[i]))
						}
					case <-time.After(time.Minute):
						t.Fatalf("datagram %d did not arrive", i)
					}
				}
				for _, s := range []*socket{in, out} {
					if err := s.close(); err != nil {
						t.Error(err)
					}
				}
				in.wait()
			})
		}
	}
}

func TestBatchesAreBounded(t *testing.T) {
	var b batch
	for b.add(&message{Payload: make([]byte, 1371)}) {
	}
	if len(b.ends) != batchBytes/1372 || len(b.buf) > batchBytes {
		t.Errorf("%d datagrams, %d bytes", len(b.ends), len(b.buf))
	}
	b.reset()
	for b.add(&reliableAck{}) {
	}
	if len(b.ends) != batchDatagrams {
		t.Errorf("%d datagrams", len(b.ends))
	}
	b.reset()
	if !b.add(&message{Payload: make([]byte, MaxUnreliable)}) {
		t.Error("an empty batch has no room for the longest message")
	}
}

func TestBufferGivesWhatWasWritten(t *testing.T) {
	var s streamBuffer
	var all []byte
	for i := range 20 {
		b := bytes.Repeat([]byte{byte(i)}, 50_000)
		s.write(b)
		all = append(all, b...)
		if got := s.read(nil, s.base, s.held()); !bytes.Equal(got, all[s.base:]) {
			t.Fatalf("after %d bytes: got others", len(all))
		}
		s.release(s.base + uint64(i*4000))
	}
	s.release(s.end + 5)
	if s.held() != 0 || len(s.chunks) > 1 {
		t.Errorf("%d bytes, %d chunks are left", s.held(), len(s.chunks))
	}
}
