package proxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"collet/build/qa/proxy"
)

// numbered returns data in which every byte differs from its neighbours.
func numbered(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*7 + i/251)
	}
	return data
}

// inverted flips the bytes from a to b.
func inverted(data []byte, a, b int) []byte {
	data = slices.Clone(data)
	for i := a; i < b; i++ {
		data[i] ^= 0xFF
	}
	return data
}

func joinBytes(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Each fault changes exactly its bytes, in both directions.
func TestFaultsChangeExactlyTheirBytes(t *testing.T) {
	data := numbered(100_000)
	for _, test := range []struct {
		name   string
		faults []proxy.Fault
		want   []byte
	}{
		{"none", nil, data},
		{"corrupt the first byte", []proxy.Fault{{Kind: proxy.Corrupt, At: 0, Bytes: 1}}, inverted(data, 0, 1)},
		{"corrupt across reads", []proxy.Fault{{Kind: proxy.Corrupt, At: 16_000, Bytes: 40_000}}, inverted(data, 16_000, 56_000)},
		{"swallow one", []proxy.Fault{{Kind: proxy.Swallow, At: 77, Bytes: 1}}, joinBytes(data[:77], data[78:])},
		{"swallow across reads", []proxy.Fault{{Kind: proxy.Swallow, At: 1000, Bytes: 50_000}}, joinBytes(data[:1000], data[51_000:])},
		{"swallow beyond the end", []proxy.Fault{{Kind: proxy.Swallow, At: 99_990, Bytes: 1000}}, data[:99_990]},
		{"duplicate one", []proxy.Fault{{Kind: proxy.Duplicate, At: 5, Bytes: 1}}, joinBytes(data[:6], data[5:])},
		{"duplicate across reads", []proxy.Fault{{Kind: proxy.Duplicate, At: 10_000, Bytes: 30_000}}, joinBytes(data[:40_000], data[10_000:])},
		{"truncate", []proxy.Fault{{Kind: proxy.Truncate, At: 12_345}}, data[:12_345]},
		{"truncate at once", []proxy.Fault{{Kind: proxy.Truncate, At: 0}}, nil},
		{"cut", []proxy.Fault{{Kind: proxy.Cut, At: 33_333}}, data[:33_333]},
		{"two, the later first", []proxy.Fault{{Kind: proxy.Swallow, At: 200, Bytes: 10}, {Kind: proxy.Corrupt, At: 100, Bytes: 5}},
			joinBytes(inverted(data, 100, 105)[:200], data[210:])},
		{"a stall loses nothing", []proxy.Fault{{Kind: proxy.Stall, At: 50_000, For: 20 * time.Millisecond}}, data},
	} {
		for _, way := range []proxy.Direction{proxy.Up, proxy.Down} {
			t.Run(test.name+" "+way.String(), func(t *testing.T) {
				faults := slices.Clone(test.faults)
				for i := range faults {
					faults[i].Direction = way
				}
				got := carried(t, way, faults, data)
				if !bytes.Equal(got, test.want) {
					t.Errorf("%d bytes arrived, want %d; first difference at %d", len(got), len(test.want), firstDifference(got, test.want))
				}
			})
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// carried sends data one way through a proxy with a fault and returns what arrives.
func carried(t *testing.T, way proxy.Direction, faults []proxy.Fault, data []byte) []byte {
	t.Helper()
	arrived := make(chan []byte, 1)
	target := serve(t, func(c *net.TCPConn) {
		if way == proxy.Down {
			c.Write(data) // some faults end the connection before all is written
			c.CloseWrite()
			return
		}
		c.SetDeadline(time.Now().Add(patience))
		got, _ := io.ReadAll(c) // a cut may be seen as a reset; what arrived before is what counts
		arrived <- got
	})
	p := start(t, proxy.Options{Target: target, Faults: func(int) []proxy.Fault { return faults }})
	c := dial(t, p)
	if way == proxy.Up {
		send(t, c, data)
		return <-arrived
	}
	got, _ := io.ReadAll(c)
	return got
}

// Truncating one direction does not affect the other.
func TestTruncateIsOneSided(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t), Faults: func(int) []proxy.Fault {
		return []proxy.Fault{{Kind: proxy.Truncate, Direction: proxy.Up, At: 10}}
	}})
	c := dial(t, p)
	send(t, c, numbered(1000))
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, numbered(10)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A half-open connection carries nothing in either direction until the reset.
func TestHalfOpenIsSilentBothWays(t *testing.T) {
	p := start(t, proxy.Options{Target: echo(t), Faults: func(int) []proxy.Fault {
		return []proxy.Fault{{Kind: proxy.HalfOpen, Direction: proxy.Up, At: 100, For: 50 * time.Millisecond}}
	}})
	c := dial(t, p)
	send(t, c, numbered(500))
	got, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) || len(got) > 100 {
		t.Errorf("%d bytes, %v; want at most 100 and a reset", len(got), err)
	}
	if up := p.Records()[0].Up; up != 100 {
		t.Errorf("%d bytes reached the target, want 100", up)
	}
}

// A black hole accepts the connection and never connects to the target.
func TestBlackHole(t *testing.T) {
	reached := make(chan struct{}, 1)
	target := serve(t, func(*net.TCPConn) { reached <- struct{}{} })
	p := start(t, proxy.Options{Target: target, Faults: func(int) []proxy.Fault {
		return []proxy.Fault{{Kind: proxy.BlackHole, For: 20 * time.Millisecond}}
	}})
	c := dial(t, p)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
	select {
	case <-reached:
		t.Error("the target was reached")
	default:
	}
}

// A fault without a time ends with the proxy.
func TestEndlessFaultsEndWithTheProxy(t *testing.T) {
	for _, kind := range []proxy.Kind{proxy.Stall, proxy.HalfOpen, proxy.BlackHole} {
		p := start(t, proxy.Options{Target: echo(t), Faults: func(int) []proxy.Fault {
			return []proxy.Fault{{Kind: kind, Direction: proxy.Up, At: 1}}
		}})
		c := dial(t, p)
		if _, err := c.Write(numbered(10)); err != nil {
			t.Fatal(err)
		}
		p.Close()
		if got, err := io.ReadAll(c); len(got) > 1 {
			t.Errorf("%s: %d bytes came back, %v", kind, len(got), err)
		}
	}
}
