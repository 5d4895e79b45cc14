package netproto_test

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"collet/netproto"
	"collet/netproto/session"
)

// recorded is what the engine's own client asked for in a trace.
var recorded = map[string][]session.FetchRange{
	"G1 cold-download": {{Index: 0, Size: 257}, {Index: 1, Size: 1016}, {Index: 2, Size: 1616}, {Index: 3, Size: 102}, {Index: 5}},
	"G1 binary-update": {{Index: 5}, {Index: 6, Size: 700}},

	"G2b cold-download": {{Index: 0, Size: 281}, {Index: 1, Size: 1016}, {Index: 2, Size: 1616}, {Index: 3, Size: 102}},
	"G2b binary-update": {{Index: 5}, {Index: 6, Size: 700}},
	"G2b resume":        {{Index: 1, Offset: 500, Size: 1016}, {Index: 2, Size: 1616}},
}

// TestReplayServer plays the recorded servers, byte for byte, to our client. The client asks for what the engine's client
// asked for. Where the recorded client had sent its ping with its hello, as ours does, all that ours sends is compared,
// byte for byte; in the other traces everything but the pings, whose moment is chance.
func TestReplayServer(t *testing.T) {
	for _, tr := range readTraces(t) {
		name := tr.generation.String() + " " + tr.name
		bubble(t, name, func(t *testing.T) {
			ranges, known := recorded[name]
			if !known {
				t.Fatal("the request is not given")
			}
			said := readAll(t, connOf(t, tr.generation, netproto.ServerSide, bytes.NewReader(tr.client)))
			hello := said[0].(*netproto.Handshake)
			script := tr.messageByMessage
			if tr.generation == netproto.G2b {
				script = tr.byteByByte
			}
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() { defer close(done); defer far.Close(); script(t, far) }()
			c, err := session.Dial(t.Context(), session.Options{
				NewKey: func() uint32 { return hello.Key },
				Addr:   "update.example:4000", Generation: tr.generation, Compatibility: hello.Compatibility, Target: hello.Target,
				Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.List(t.Context()); err != nil {
				t.Error(err)
			}
			var sums []uint32
			got := make([][]byte, len(ranges))
			if err := c.Fetch(t.Context(), ranges, func(i int, data []byte) error { got[i] = append(got[i], data...); return nil }); err != nil {
				t.Fatal(err)
			}
			for _, data := range got {
				sums = append(sums, crc32.ChecksumIEEE(data))
			}
			if want := tr.sums(t, ranges); !slices.Equal(sums, want) {
				t.Errorf("files have sums %x, want %x", sums, want)
			}
			c.Close()
			<-done
		})
	}
}

// sums are those of the ranges, put together from the recorded portions.
func (tr trace) sums(t *testing.T, ranges []session.FetchRange) (sums []uint32) {
	var portions [][]byte
	for _, m := range readAll(t, clientConn(t, tr.generation, tr.server, nil)) {
		if data, is := m.(*netproto.UpdateFileData); is {
			portions = append(portions, data.Data)
		}
	}
	for _, r := range ranges {
		var file []byte
		for missing, first := r.Size-r.Offset, true; first || missing > 0; first = false {
			file, missing = append(file, portions[0]...), missing-int64(len(portions[0]))
			portions = portions[1:]
		}
		sums = append(sums, crc32.ChecksumIEEE(file))
	}
	return sums
}

// byteByByte plays the chunks in their order and takes nothing from the client but the recorded bytes.
func (tr trace) byteByByte(t *testing.T, conn net.Conn) {
	for i, chunk := range tr.chunks {
		if !chunk.client {
			if _, err := conn.Write(chunk.data); err != nil {
				t.Errorf("chunk %d: %v", i, err)
			}
			continue
		}
		got := make([]byte, len(chunk.data))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, chunk.data) {
			t.Errorf("chunk %d: the client sends\n%x, %v; the engine's client sent\n%x", i, got, err, chunk.data)
			return
		}
	}
	if rest, err := io.ReadAll(conn); len(rest) > 0 || err != nil {
		t.Errorf("then the client sends %x, %v", rest, err)
	}
}

// messageByMessage plays the server's chunks, each when the client has sent what was recorded before it, pings aside.
func (tr trace) messageByMessage(t *testing.T, nc net.Conn) {
	g := tr.generation
	conn := netproto.NewConn(nc, netproto.ServerSide, netproto.Limits{})
	arrived, questions, answers := make(chan netproto.Message, 100), 0, 0
	go func() {
		defer close(arrived)
		for {
			m, err := conn.Read()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				return
			}
			if ping, is := m.(*netproto.Ping); !is {
				arrived <- m
			} else if ping.Answer {
				answers++
			}
		}
	}()
	var sent []byte
	for _, chunk := range tr.chunks {
		if !chunk.client {
			if _, err := nc.Write(chunk.data); err != nil {
				t.Error(err)
			}
			continue
		}
		before := len(readAllowing(t, g, sent))
		sent = append(sent, chunk.data...)
		for _, m := range readAllowing(t, g, sent)[before:] {
			if _, is := m.(*netproto.Ping); is {
				continue
			}
			got, open := <-arrived
			if !open {
				t.Errorf("the client went before %+v", m)
				return
			}
			again, err := netproto.EncodeFrame(g, 0, 0, got)
			want, _ := netproto.EncodeFrame(g, 0, 0, m)
			if err != nil || !bytes.Equal(again, want) {
				t.Errorf("the client sends %+v, the engine's client sent %+v", got, m)
			}
		}
	}
	for m := range arrived {
		t.Errorf("then the client sends %+v", m)
	}
	for _, m := range readAll(t, clientConn(t, g, tr.server, nil)) {
		if ping, is := m.(*netproto.Ping); is && !ping.Answer {
			questions++
		}
	}
	if answers != questions {
		t.Errorf("%d of %d questions answered", answers, questions)
	}
}

// readAllowing reads what a client sent so far; it ends between two frames.
func readAllowing(t *testing.T, g netproto.Generation, sent []byte) []netproto.Message {
	if len(sent) == 0 {
		return nil
	}
	return readAll(t, connOf(t, g, netproto.ServerSide, bytes.NewReader(sent)))
}

// TestOtherRevisionsHello takes the recorded hello of a client of G2b at a server of G1, with the ping behind it: such a
// server finds no layout, and ours the right one.
func TestOtherRevisionsHello(t *testing.T) {
	chunks := readChunks(t, "testdata/traces/other/p2-client-at-p1-server.txt")
	if _, err := serverConn(chunks[0].data, nil, netproto.WithOnly(netproto.G1)).Read(); err == nil || !strings.Contains(err.Error(), "as G1") {
		t.Errorf("a server of G1 alone: %v", err)
	}
	conn := serverConn(chunks[0].data, nil)
	said := readAll(t, conn)
	if len(said) != 2 || conn.Generation() != netproto.G2b || said[0].(*netproto.Handshake).Version != 2 || said[1].(*netproto.Ping).Answer {
		t.Errorf("%v says %+v", conn.Generation(), said)
	}
}

// bubble runs a subtest in fake time; it ends only when every goroutine has.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
