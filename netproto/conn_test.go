package netproto_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"sync"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// TestPassedOver sends messages without use for the reader, and checks that the cipher stays in step.
func TestPassedOver(t *testing.T) {
	noise := []netproto.Message{
		&netproto.Unknown{Number: 200, Body: bytes.Repeat([]byte{7}, 1234)},
		&netproto.Unknown{Number: 111}, // RemoteCall, without a body
		&netproto.HashList{Strings: []string{"alpha", "beta"}},
		&netproto.Unknown{Number: netproto.IDFileList, Body: []byte("another generation's message")},
		&netproto.Unknown{Number: netproto.IDGetUpdateFile, Body: []byte("the other side's message")},
	}
	for _, compressed := range []bool{false, true} {
		var wire bytes.Buffer
		server := serverConn(frame(t, netproto.G1, hello(netproto.G1)), &wire, netproto.WithZlib(compressed))
		if _, err := server.Read(); err != nil {
			t.Fatal(err)
		}
		messages := []netproto.Message{&netproto.HandshakeAnswer{Key: netproto.NewKey()}}
		for i, m := range noise {
			messages = append(messages, m, &netproto.TimeSync{Time: int64(i)})
		}
		if err := server.Write(messages...); err != nil {
			t.Fatal(err)
		}
		client := clientConn(t, netproto.G1, wire.Bytes(), nil)
		got := readAll(t, client)
		if len(got) != len(messages) {
			t.Fatalf("%d messages, want %d", len(got), len(messages))
		}
		for i := range noise {
			over, sync := got[1+2*i], got[2+2*i]
			if u, isUnknown := over.(*netproto.Unknown); !isUnknown || u.ID() != noise[i].ID() {
				t.Errorf("noise %d arrives as %+v", i, over)
			}
			if s, isSync := sync.(*netproto.TimeSync); !isSync || s.Time != int64(i) {
				t.Errorf("behind noise %d: %+v", i, sync)
			}
		}
		if u := got[1].(*netproto.Unknown); u.Size != 1234 {
			t.Errorf("size %d", u.Size)
		}
	}
}

// TestHeaderFaults covers faults of a frame's header.
func TestHeaderFaults(t *testing.T) {
	ping := string(frame(t, netproto.C1, &netproto.Ping{}))
	answer := string(frame(t, netproto.C1, netproto.NewAnswer(compat.Judgement{})))
	tests := []struct {
		name, input string
		side        netproto.Side
		id          netproto.MessageID
		text        string
		offset      int64
	}{
		{"signature", "\x23" + ping[1:], netproto.ClientSide, 0, "signature", 0},
		{"signature of a later frame", ping + "HTTP/1.1 400", netproto.ClientSide, 0, "signature", 10},
		{"length below a header", ping[:4] + "\x08\x00\x00\x00" + ping[8:], netproto.ClientSide, 0, "below the 9", 4},
		{"length 0", ping[:4] + "\x00\x00\x00\x00" + ping[8:], netproto.ClientSide, 0, "below the 9", 4},
		{"length above the cap", ping[:4] + "\xff\xff\xff\x7f" + ping[8:], netproto.ClientSide, 0, "above the limit", 4},
		{"hello above its cap", "\x22\x94\x1e\x01\x01\x40\x00\x00\x01", netproto.ServerSide, 0, "above the limit", 4},
		{"no hello first", ping, netproto.ServerSide, netproto.IDPing, "must be a handshake", 8},
		{"two answers", answer + answer, netproto.ClientSide, netproto.IDHandshakeAnswer, "second time", int64(len(answer)) + 8},
		{"a bool of 2", ping[:9] + "\x02", netproto.ClientSide, netproto.IDPing, "0 or 1", 9},
		{"bytes behind the fields", ping[:4] + "\x0b\x00\x00\x00\x0f\x00\x00", netproto.ClientSide, netproto.IDPing, "left over", 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn := serverConn([]byte(test.input), nil)
			if test.side == netproto.ClientSide {
				conn = clientConn(t, netproto.C1, []byte(test.input), nil)
			}
			_, err := conn.Read()
			for err == nil {
				_, err = conn.Read()
			}
			wantFault(t, err, test.id, test.text)
			var fault *netproto.FormatError
			if errors.As(err, &fault) && fault.Offset != test.offset {
				t.Errorf("%v: offset %d, want %d", err, fault.Offset, test.offset)
			}
			if _, again := conn.Read(); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
}

// TestSecondHello checks that a client can't change its key or generation later.
func TestSecondHello(t *testing.T) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		var wire bytes.Buffer
		client := clientConn(t, g, nil, &wire)
		if err := client.Write(hello(g), &netproto.Ping{}, hello(g)); err != nil {
			t.Fatal(err)
		}
		server := serverConn(wire.Bytes(), nil)
		for range 2 {
			if _, err := server.Read(); err != nil {
				t.Fatal(err)
			}
		}
		_, err := server.Read()
		wantFault(t, err, netproto.IDHandshake, "second time")
	}
}

// TestCompressionDetected covers the first two bytes of a server.
func TestCompressionDetected(t *testing.T) {
	answer := frame(t, netproto.G1, &netproto.HandshakeAnswer{Key: 1})
	tests := []struct {
		name  string
		input []byte
		text  string // of the fault; empty is success
	}{
		{"plain", answer, ""},
		{"level 1", deflate(t, 1, answer, false), ""},
		{"another level", deflate(t, 6, answer, false), ""},
		{"a finished stream", deflate(t, 1, answer, true), "was finished"},
		{"neither", []byte("SSH-2.0-x\r\n"), "signature"},
		{"a header and garbage", []byte{0x78, 0x01, 0xff, 0xff, 0xff, 0xff}, "compressed stream"},
		{"a preset dictionary", []byte{0x78, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8}, "signature"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn := clientConn(t, netproto.G1, test.input, nil)
			m, err := conn.Read()
			if _, answered := m.(*netproto.HandshakeAnswer); test.text == "" && !answered {
				t.Fatalf("%+v, %v", m, err)
			}
			if _, err = conn.Read(); test.text == "" {
				if err != io.EOF {
					t.Errorf("then %v", err)
				}
				return
			}
			wantFault(t, err, 0, test.text)
		})
	}
}

// TestC1IsNeverCompressed checks both ends.
func TestC1IsNeverCompressed(t *testing.T) {
	var out bytes.Buffer
	server := serverConn(frame(t, netproto.C1, hello(netproto.C1)), &out, netproto.WithZlib(true))
	if _, err := server.Read(); err != nil {
		t.Fatal(err)
	}
	answer := netproto.NewAnswer(compat.Judgement{})
	if err := server.Write(answer); err != nil {
		t.Fatal(err)
	}
	if want := frame(t, netproto.C1, answer); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%x\nwant\n%x", out.Bytes(), want)
	}
	_, err := clientConn(t, netproto.C1, deflate(t, 1, out.Bytes(), false), nil).Read()
	wantFault(t, err, 0, "signature")
}

// TestWriteRefusesOurMistakes checks that an unsendable message leaves the connection, and its cipher, unchanged.
func TestWriteRefusesOurMistakes(t *testing.T) {
	var wire bytes.Buffer
	client := clientConn(t, netproto.G1, nil, &wire)
	zero := hello(netproto.G1)
	zero.Key = 0
	for _, mistake := range []netproto.Message{zero, &netproto.GetRange{}, &netproto.TimeSync{}, &netproto.FileList{}} {
		err := client.Write(&netproto.Ping{}, mistake)
		var fault *netproto.FormatError
		if err == nil || errors.As(err, &fault) {
			t.Errorf("%T: %v", mistake, err)
		}
	}
	if wire.Len() != 0 {
		t.Fatalf("%x was sent", wire.Bytes())
	}
	if err := client.Write(hello(netproto.G1), &netproto.Ping{}); err != nil {
		t.Fatal(err)
	}
	server := serverConn(wire.Bytes(), nil)
	if got := readAll(t, server); len(got) != 2 {
		t.Errorf("%d messages", len(got))
	}
	if err := server.Write(&netproto.InitData{Properties: make([][]byte, math.MaxUint16+1)}); err == nil {
		t.Error("more properties than can be counted were sent")
	}
}

// TestGenerationIsChosenOnce covers which side sets the generation, which values are valid, and repeated calls.
func TestGenerationIsChosenOnce(t *testing.T) {
	client := netproto.NewConn(stream{}, netproto.ClientSide, netproto.Limits{})
	if err := client.Write(&netproto.Ping{}); err == nil {
		t.Error("written without a generation")
	}
	if _, err := netproto.NewConn(stream{}, netproto.ClientSide, netproto.Limits{}).Read(); err == nil || err == io.EOF {
		t.Errorf("read without a generation: %v", err)
	}
	for _, g := range []netproto.Generation{0, 5, 255} {
		if err := client.SetGeneration(g); err == nil || g.Spoken() || g.Version() != 0 {
			t.Errorf("%v was taken", g)
		}
	}
	if err := client.SetGeneration(netproto.C1); err != nil {
		t.Error(err)
	}
	if err := client.SetGeneration(netproto.G1); err == nil {
		t.Error("chosen twice")
	}
	server := serverConn(nil, nil)
	if err := server.SetGeneration(netproto.G1); err == nil {
		t.Error("a server chose")
	}
	if err := server.Write(&netproto.Ping{Answer: true}); err == nil {
		t.Error("a server wrote before the hello")
	}
}

// brokenPipe fails after some bytes.
type brokenPipe struct{ left int }

var errBroken = errors.New("broken")

func (b *brokenPipe) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	if b.left -= n; n < len(p) {
		return n, errBroken
	}
	return n, nil
}

// TestBrokenStreamStaysBroken checks that nothing is written after a lost piece.
func TestBrokenStreamStaysBroken(t *testing.T) {
	pipe := &brokenPipe{left: 30}
	client := clientConn(t, netproto.C1, nil, pipe)
	if err := client.Write(hello(netproto.C1)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	pipe.left = 1000
	if err := client.Write(&netproto.Ping{}); !errors.Is(err, errBroken) {
		t.Errorf("then %v", err)
	}
	if pipe.left != 1000 {
		t.Error("bytes went out behind a loss")
	}
}

// TestConcurrentWrites checks that batches don't interleave. The cipher would detect it.
func TestConcurrentWrites(t *testing.T) {
	testlevel.Slow(t)
	const writers, each = 8, 50
	var wire bytes.Buffer
	server := serverConn(frame(t, netproto.G1, hello(netproto.G1)), &wire, netproto.WithZlib(true))
	if _, err := server.Read(); err != nil {
		t.Fatal(err)
	}
	if err := server.Write(&netproto.HandshakeAnswer{Key: 99}); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for i := range each {
				data := bytes.Repeat([]byte{byte(w)}, i*97)
				if err := server.Write(&netproto.UpdateFileData{Data: data}, &netproto.TimeSync{Time: int64(w)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	got := readAll(t, clientConn(t, netproto.G1, wire.Bytes(), nil))[1:]
	if len(got) != 2*writers*each {
		t.Fatalf("%d messages", len(got))
	}
	for i := 0; i < len(got); i += 2 {
		data, sync := got[i].(*netproto.UpdateFileData).Data, got[i+1].(*netproto.TimeSync)
		if len(data) > 0 && int64(data[0]) != sync.Time {
			t.Fatalf("batch of writer %d ends with that of %d", data[0], sync.Time)
		}
	}
}

// TestRoundTrip sends messages with every kind of field through both generations.
func TestRoundTrip(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	tags := netproto.Tags(nil).With(5, []byte("five")).With(2, nil).With(65535, []byte{1})
	messages := map[netproto.Generation][]netproto.Message{
		netproto.G1: {
			&netproto.InfoMessage{Code: 513, Text: "an example"},
			&netproto.UpdateFileData{Data: long},
			&netproto.InitData{Descriptor: []byte{}, Properties: [][]byte{{1}, {}}, Time: -5},
			&netproto.TimeSync{Time: math.MinInt64},
			&netproto.Ping{Answer: true},
		},
		netproto.C1: {
			&netproto.RangeData{Request: math.MaxUint32, Offset: math.MaxUint64, Data: long},
			&netproto.FileList{Files: []netproto.ListedFile{{Path: "a/b", Size: 1 << 60, Role: 200, Index: 7, Tags: tags}}, Tags: tags},
			&netproto.Refuse{Reason: 255, Request: 1, Text: "x"},
			&netproto.NoObject{Request: math.MaxUint32},
			&netproto.Ping{},
		},
	}
	for g, all := range messages {
		for _, compressed := range []bool{false, true} {
			var wire bytes.Buffer
			server := serverConn(frame(t, g, hello(g)), &wire, netproto.WithZlib(compressed))
			if _, err := server.Read(); err != nil {
				t.Fatal(err)
			}
			answer := &netproto.HandshakeAnswer{Version: netproto.VersionC1, Tags: netproto.Tags{}}
			if g.Engine() {
				answer = &netproto.HandshakeAnswer{Key: netproto.NewKey()}
			}
			sent := append([]netproto.Message{answer}, all...)
			if err := server.Write(sent...); err != nil {
				t.Fatal(err)
			}
			for i, m := range readAll(t, clientConn(t, g, wire.Bytes(), nil)) {
				if !sameMessage(m, sent[i]) {
					t.Errorf("%v: %+v arrives as %+v", g, sent[i], m)
				}
			}
		}
	}
}

// sameMessage ignores the difference between nothing and an empty list.
func sameMessage(a, b netproto.Message) bool {
	if list, ok := b.(*netproto.FileList); ok && list.Tags == nil {
		list.Tags = netproto.Tags{}
	}
	return reflect.DeepEqual(a, b)
}

// TestClose passes the close on.
func TestClose(t *testing.T) {
	closed := false
	conn := netproto.NewConn(stream{closed: &closed}, netproto.ServerSide, netproto.Limits{})
	if err := conn.Close(); err != nil || !closed {
		t.Errorf("%v, closed %t", err, closed)
	}
}
