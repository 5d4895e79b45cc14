package netproto_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"collet/netproto"
	"collet/platform/testlevel"
)

// greeted is a server of G1 behind its answer, without a cipher, which would leave nothing to compress.
func greeted(t testing.TB, out io.Writer, options ...netproto.Option) *netproto.Conn {
	t.Helper()
	server := serverConn(frame(t, netproto.G1, hello(netproto.G1)), out, append(options, netproto.WithZlib(true))...)
	if _, err := server.Read(); err != nil {
		t.Fatal(err)
	}
	if err := server.Write(&netproto.HandshakeAnswer{}); err != nil {
		t.Fatal(err)
	}
	return server
}

// text is n bytes that compress well, with repetitions near and far.
func text(n int, seed uint64) []byte {
	dice := rand.New(rand.NewPCG(seed, seed))
	var out []byte
	for len(out) < n {
		out = strconv.AppendInt(append(out, "object "...), dice.Int64N(1000), 10)
		out = append(out, " at ("...)
		out = append(out, byte('0'+dice.IntN(9)), ',', ' ', byte('0'+dice.IntN(9)))
		out = strconv.AppendInt(append(out, ") of kind "...), dice.Int64N(50), 10)
		out = append(out, ";\n"...)
	}
	return out[:n]
}

// TestSharedBuffersKeepStreamsApart writes to several connections in turn, so that each compressor changes connections.
// Every stream must inflate by itself, batch by batch, and never end.
func TestSharedBuffersKeepStreamsApart(t *testing.T) {
	var shared netproto.Buffers
	wires := make([]bytes.Buffer, 3)
	plain := make([]bytes.Buffer, len(wires))
	inflated := make([]io.Reader, len(wires))
	var servers []*netproto.Conn
	for i := range wires {
		servers = append(servers, greeted(t, &wires[i], netproto.WithBuffers(&shared)))
		plain[i].Write(frame(t, netproto.G1, &netproto.HandshakeAnswer{}))
		if !bytes.HasPrefix(wires[i].Bytes(), []byte{0x78, 0x01}) {
			t.Errorf("stream %d begins % x", i, wires[i].Bytes()[:2])
		}
		zr, err := zlib.NewReader(&wires[i])
		if err != nil {
			t.Fatal(err)
		}
		inflated[i] = zr
	}
	for turn, size := range []int{0, 1, 300, 65536, 65537, 65536 - 13, 1_000_000, 5, 200_000} {
		m := &netproto.UpdateFileData{Data: text(size, uint64(turn))}
		framed := frame(t, netproto.G1, m)
		for i, server := range servers {
			if err := server.Write(m, &netproto.TimeSync{Time: int64(i)}); err != nil {
				t.Fatal(err)
			}
			plain[i].Write(framed)
			plain[i].Write(frame(t, netproto.G1, &netproto.TimeSync{Time: int64(i)}))
			if end := wires[i].Bytes()[wires[i].Len()-4:]; !bytes.Equal(end, []byte{0, 0, 0xff, 0xff}) {
				t.Errorf("turn %d of stream %d is not flushed: % x", turn, i, end)
			}
			want := plain[i].Next(plain[i].Len())
			got := make([]byte, len(want))
			if _, err := io.ReadFull(inflated[i], got); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("turn %d of stream %d: other bytes, %v", turn, i, err)
			}
		}
	}
	for i := range inflated {
		if n, err := inflated[i].Read(make([]byte, 1)); n != 0 || err != io.ErrUnexpectedEOF {
			t.Errorf("stream %d ends with %d bytes and %v", i, n, err)
		}
	}
}

// TestPiecesCostLittle compares with a single compressor over the whole data.
func TestPiecesCostLittle(t *testing.T) {
	var wire bytes.Buffer
	server := greeted(t, &wire)
	data := text(1_000_000, 1)
	if err := server.Write(&netproto.UpdateFileData{Data: data}); err != nil {
		t.Fatal(err)
	}
	whole := len(deflate(t, zlib.BestSpeed, data, false))
	t.Logf("%d bytes in pieces, %d as a whole", wire.Len(), whole)
	if wire.Len() > whole*103/100 {
		t.Errorf("%d bytes, as a whole %d", wire.Len(), whole)
	}
}

// lossy takes some bytes and then fails.
type lossy struct{ left int }

var errLost = errors.New("lost")

func (l *lossy) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errLost
	}
	return len(p), nil
}

// TestLossLeavesSharedBuffersUsable breaks a connection inside a batch. Its leftovers must not reach another connection.
func TestLossLeavesSharedBuffersUsable(t *testing.T) {
	var shared netproto.Buffers
	long := text(300_000, 2)
	for range 20 {
		broken := greeted(t, &lossy{left: 500}, netproto.WithBuffers(&shared))
		if err := broken.Write(&netproto.UpdateFileData{Data: long}); !errors.Is(err, errLost) {
			t.Fatalf("got %v", err)
		}
		if err := broken.Write(&netproto.TimeSync{}); !errors.Is(err, errLost) {
			t.Fatalf("behind the loss: %v", err)
		}
		var wire bytes.Buffer
		whole := greeted(t, &wire, netproto.WithBuffers(&shared))
		if err := whole.Write(&netproto.TimeSync{Time: 7}); err != nil {
			t.Fatal(err)
		}
		got := readAll(t, clientConn(t, netproto.G1, wire.Bytes(), nil))
		if len(got) != 2 || got[1].(*netproto.TimeSync).Time != 7 {
			t.Fatalf("arrives: %+v", got)
		}
	}
}

// TestIdleConnHoldsNoBuffers measures the buffers of idle connections that were used before.
func TestIdleConnHoldsNoBuffers(t *testing.T) {
	testlevel.Slow(t)
	const bound = 4 << 10
	conns := int64(500 / testlevel.Stride(5, 20))
	var shared netproto.Buffers
	one := func() *netproto.Conn {
		server := greeted(t, io.Discard, netproto.WithBuffers(&shared))
		if err := server.Write(&netproto.UpdateFileData{Data: make([]byte, 100_000)}); err != nil {
			t.Fatal(err)
		}
		return server
	}
	one()
	before := heap()
	var idle []*netproto.Conn
	for range conns {
		idle = append(idle, one())
	}
	each := (heap() - before) / conns
	t.Logf("%d bytes for each", each)
	if each > bound {
		t.Errorf("%d bytes for each, at most %d are allowed", each, bound)
	}
	runtime.KeepAlive(idle)
}

// heap is how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	for range 3 { // what a pool lets go of is gone with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
