package den_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"collet/netproto/den"
)

// transfer sends b.N messages of size bytes from one end to the other.
func transfer(b *testing.B, client, server *den.Conn, size int) {
	b.Helper()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	payload := pattern(size)
	done := make(chan error, 1)
	b.ResetTimer()
	go func() {
		for range b.N {
			if err := client.Send(context.Background(), payload); err != nil {
				done <- err
				return
			}
		}
		done <- client.Flush(context.Background())
	}()
	for range b.N {
		m, err := server.Receive(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.Logf("%+v", client.Stats())
}

func BenchmarkLoopback(b *testing.B) {
	for _, protocol := range []uint16{den.ProtocolRelease, den.ProtocolCollet} {
		for _, size := range []int{200, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%#x/%d", protocol, size), func(b *testing.B) {
				client, server := pair(b, "127.0.0.1:0", den.Options{Protocols: []uint16{protocol}})
				transfer(b, client, server, size)
			})
		}
	}
}

// BenchmarkTCP is what one TCP stream does under the same conditions.
func BenchmarkTCP(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	const size = 64 << 10
	b.SetBytes(size)
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return
		}
		defer c.Close()
		payload := pattern(size)
		for range b.N {
			_, _ = c.Write(payload)
		}
	}()
	c, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, size)
	b.ResetTimer()
	for range b.N {
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}
