package session_test

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"collet/netproto"
	"collet/netproto/session"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// tcpPeer serves one connection on loopback with one buffer of zeros, whatever is asked for.
func tcpPeer(t testing.TB, g netproto.Generation, size int64, portion int) (addr string, wait func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		nc, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer ln.Close()
		conn := netproto.NewConn(nc, netproto.ServerSide, netproto.Limits{})
		defer conn.Close()
		if err := zeros(conn, size, portion); err != nil {
			t.Logf("peer: %v", err)
		}
	})
	return ln.Addr().String(), work.Wait
}

// zeros answers everything on conn until the client is gone, which is no error.
func zeros(conn *netproto.Conn, size int64, portion int) error {
	buffer := make([]byte, portion)
	for {
		m, err := conn.Read()
		if err != nil {
			return nil
		}
		switch m := m.(type) {
		case *netproto.Handshake:
			answer := netproto.NewAnswer(accept)
			answer.Key, answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.NewKey(), netproto.CapPipeline, uint32(portion), 32
			descriptor, err := netproto.EncodeDescriptor([]netproto.Entry{{Name: "big.zip", Size: uint64(size)}})
			if err != nil {
				return err
			}
			list := netproto.Message(&netproto.FileList{Files: []netproto.ListedFile{{Path: "big.zip", Size: uint64(size)}}})
			if conn.Generation().Engine() {
				list = &netproto.InitData{Descriptor: descriptor}
			}
			err = conn.Write(answer, list)
			if err != nil {
				return err
			}
		case *netproto.Ping:
			if !m.Answer {
				err = conn.Write(&netproto.Ping{Answer: true})
			}
		case *netproto.GetUpdateFile:
			err = conn.Write(&netproto.UpdateFileData{Data: buffer[:min(size-int64(m.Offset), int64(portion))]})
		case *netproto.GetRange:
			err = conn.Write(&netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: buffer[:m.Length]})
		}
		if err != nil {
			return err
		}
	}
}

// take fetches the one file of a tcpPeer and returns how many bytes came.
func take(t testing.TB, addr string, g netproto.Generation) (got int64) {
	t.Helper()
	c, err := session.Dial(t.Context(), session.Options{Addr: addr, Generation: g})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	offers, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = c.Fetch(t.Context(), []session.FetchRange{{Index: offers[0].Index, Size: offers[0].Size}}, func(_ int, data []byte) error {
		got += int64(len(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestMemoryIsBounded fetches a large file over real sockets. Both ends together allocate less than a client's memory
// limit, so portions are neither kept nor reallocated.
func TestMemoryIsBounded(t *testing.T) {
	testlevel.Slow(t)
	const portion, budget = 1_000_000, 48 << 20
	size := int64(128<<20) / int64(testlevel.Stride(2, 2))
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		t.Run(g.String(), func(t *testing.T) {
			addr, wait := tcpPeer(t, g, size, portion)
			runtime.GC()
			var got int64
			cost := allocated(func() { got = take(t, addr, g); wait() })
			if got != size {
				t.Errorf("%d bytes of %d", got, size)
			}
			if cost > budget {
				t.Errorf("%d bytes allocated to move %d", cost, size)
			}
			t.Logf("%d bytes allocated to move %d", cost, size)
		})
	}
}

// TestRefusedPort keeps the system's reason.
func TestRefusedPort(t *testing.T) {
	addr := testwait.FreeAddress(t)
	_, err := session.Dial(t.Context(), session.Options{Addr: addr})
	var unreachable *session.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Addr != addr {
		t.Fatalf("error %v", err)
	}
	if runtime.GOOS != "windows" && !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkFetch moves a file over loopback.
func BenchmarkFetch(b *testing.B) {
	const size = 256 << 20
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		b.Run(g.String(), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				addr, wait := tcpPeer(b, g, size, 1_000_000)
				take(b, addr, g)
				wait()
			}
		})
	}
}
