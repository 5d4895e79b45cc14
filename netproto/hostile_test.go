package netproto_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"collet/netproto"
)

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// smallCost is what a connection and a small frame may allocate, in bytes: two buffers of 64 KiB, one step of a body, and
// an inflater.
const smallCost = 512 << 10

// TestDeclaredLengthsCostNothing sends frames whose declared lengths exceed their data, field by field.
func TestDeclaredLengthsCostNothing(t *testing.T) {
	const most = "\xff\xff\xff\xff"
	hash := strings.Repeat("h", 32)
	tests := []struct {
		name string
		g    netproto.Generation // 0 is a hello, read by a server
		id   netproto.MessageID
		body string
	}{
		{"G1 compatibility", 0, netproto.IDHandshake, most},
		{"G1 target", 0, netproto.IDHandshake, "\x00\x00\x00\x00\x01\x00\x00\x00" + most},
		{"C1 compatibility", 0, netproto.IDHandshake, "\x01\x00\x4c\x43\x00\x00\x00\x00" + most},
		{"C1 target", 0, netproto.IDHandshake, "\x01\x00\x4c\x43\x00\x00\x00\x00\x00\x00\x00\x00" + most},
		{"C1 tag of the hello", 0, netproto.IDHandshake, "\x01\x00\x4c\x43" + strings.Repeat("\x00", 12) + "\x01\x00" + most},
		{"descriptor", netproto.G1, netproto.IDInitData, most},
		{"property count", netproto.G1, netproto.IDInitData, "\x00\x00\x00\x00\xff\xff"},
		{"property", netproto.G1, netproto.IDInitData, "\x00\x00\x00\x00\x01\x00" + most},
		{"portion", netproto.G1, netproto.IDUpdateFileData, "\xff\xff\xff\x7f"},
		{"negative portion", netproto.G1, netproto.IDUpdateFileData, most},
		{"info text", netproto.G1, netproto.IDInfoMessage, "\x00\x00" + most},
		{"answer compatibility", netproto.C1, netproto.IDHandshakeAnswer, "\x01\x00\x4c\x43" + strings.Repeat("\x00", 12) + most},
		{"file count", netproto.C1, netproto.IDFileList, most},
		{"file count within the cap", netproto.C1, netproto.IDFileList, "\x00\x00\x01\x00"},
		{"path", netproto.C1, netproto.IDFileList, "\x01\x00\x00\x00" + most + strings.Repeat("x", 60)},
		{"file tail", netproto.C1, netproto.IDFileList, "\x01\x00\x00\x00\x00\x00\x00\x00sizesize" + hash + "\x00\x00\x00\x00\x00\xff\xff"},
		{"range", netproto.C1, netproto.IDRangeData, "\x00\x00\x00\x00offsetof" + most},
		{"refuse text", netproto.C1, netproto.IDRefuse, "\x01\x00\x00\x00\x00" + most},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			input := rawFrame(test.id, test.body)
			var err error
			cost := allocated(func() {
				conn := serverConn(input, nil)
				if test.g != 0 {
					conn = clientConn(t, test.g, input, nil)
				}
				_, err = conn.Read()
			})
			wantFault(t, err, test.id, "")
			if cost > smallCost {
				t.Errorf("%d bytes allocated for a frame of %d", cost, len(input))
			}
		})
	}
}

// TestDeclaredFramesCostNothing declares frames of every size, up to 4 GiB, without data.
func TestDeclaredFramesCostNothing(t *testing.T) {
	for _, size := range []uint32{1 << 10, 1 << 20, 32 << 20, 32<<20 + 1, 1 << 31, 1<<32 - 1} {
		input := rawFrame(netproto.IDRangeData, "\x00\x00\x00\x00")
		binary.LittleEndian.PutUint32(input[4:], size)
		var err error
		cost := allocated(func() { _, err = clientConn(t, netproto.C1, input, nil).Read() })
		if size <= 32<<20 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if size > 32<<20 {
			wantFault(t, err, 0, "above the limit")
		}
		if cost > smallCost {
			t.Errorf("%d bytes allocated for a frame that declares %d and brings none", cost, size)
		}
	}
}

// TestBodyCostsWhatArrives sends half of a large frame: the cost follows the received bytes, not the declared ones.
func TestBodyCostsWhatArrives(t *testing.T) {
	const declared, brought = 16 << 20, 1 << 20
	input := append(rawFrame(netproto.IDRangeData, ""), make([]byte, brought)...)
	binary.LittleEndian.PutUint32(input[4:], declared)
	cost := allocated(func() { _, _ = clientConn(t, netproto.C1, input, nil).Read() })
	if cost > 5*brought {
		t.Errorf("%d bytes allocated where %d arrived", cost, brought)
	}
}

// TestZlibBombIsBounded inflates a large unknown message: it is skipped without being buffered.
func TestZlibBombIsBounded(t *testing.T) {
	answer := frame(t, netproto.G1, &netproto.HandshakeAnswer{})
	bomb := append(rawFrame(200, ""), make([]byte, 8<<20)...)
	binary.LittleEndian.PutUint32(bomb[4:], uint32(len(bomb)))
	input := deflate(t, 1, append(answer, bomb...), false)
	if len(input) > 256<<10 {
		t.Fatalf("%d bytes are no bomb", len(input))
	}
	var got []netproto.Message
	cost := allocated(func() { got = readAll(t, clientConn(t, netproto.G1, input, nil)) })
	if len(got) != 2 || got[1].(*netproto.Unknown).Size != len(bomb)-9 {
		t.Errorf("got %+v", got)
	}
	if cost > smallCost {
		t.Errorf("%d bytes allocated", cost)
	}
}

// TestFlippedBits damages enciphered frames, 5000 times. Nothing is read beyond the damaged frame: unless its length was
// hit, the next frame is intact or the connection ended with a fault.
func TestFlippedBits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	entries, err := netproto.EncodeDescriptor([]netproto.Entry{{Name: "Core.zip", Size: 6, Hash: 1}, {Name: "Game.so", Role: 1, Index: 1}})
	if err != nil {
		t.Fatal(err)
	}
	victims := []netproto.Message{
		&netproto.InitData{Descriptor: entries, Properties: [][]byte{{1, 2, 3}, nil}, Time: 1},
		&netproto.UpdateFileData{Data: []byte("foobar")},
		&netproto.InfoMessage{Code: 1, Text: "text"},
		&netproto.Ping{},
		&netproto.TimeSync{Time: 9},
	}
	const marker = 0x0123456789abcdef
	intact := 0
	for i := range 5000 {
		victim := victims[i%len(victims)]
		var wire bytes.Buffer
		server := serverConn(frame(t, netproto.G1, hello(netproto.G1)), &wire)
		if _, err := server.Read(); err != nil {
			t.Fatal(err)
		}
		if err := server.Write(&netproto.HandshakeAnswer{Key: netproto.NewKey()}, victim, &netproto.TimeSync{Time: marker}); err != nil {
			t.Fatal(err)
		}
		const answerSize, syncSize = 15, 17
		data := wire.Bytes()
		bit := random.IntN(8 * (len(data) - answerSize - syncSize))
		data[answerSize+bit/8] ^= 1 << (bit % 8)
		if throughDamage(t, data, bit/8 >= 4 && bit/8 < 8, marker) {
			intact++
		}
	}
	if intact < 1000 {
		t.Errorf("only %d of 5000 frames were passed; the test does not see what it should", intact)
	}
}

// throughDamage reads a damaged stream and reports whether the frame behind the damage came through.
func throughDamage(t *testing.T, data []byte, lengthHit bool, marker int64) bool {
	t.Helper()
	conn := clientConn(t, netproto.G1, data, nil)
	var err error
	var m netproto.Message
	for n := 0; err == nil; n++ {
		if m, err = conn.Read(); n != 2 || err != nil || lengthHit {
			continue
		}
		if s, isSync := m.(*netproto.TimeSync); !isSync || s.Time != marker {
			t.Fatalf("behind the damage: %+v", m)
		}
		return true
	}
	var fault *netproto.FormatError
	if !errors.As(err, &fault) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("unexpected %v", err)
	}
	if !errors.As(err, &fault) && !lengthHit {
		t.Fatalf("the stream ran out: %v", err)
	}
	return false
}

// TestLimitsAreKept lowers each cap below what a message needs.
func TestLimitsAreKept(t *testing.T) {
	list := &netproto.FileList{Files: []netproto.ListedFile{{Path: "abcdef"}, {Path: "ghijkl"}}}
	tests := []struct {
		lim  netproto.Limits
		m    netproto.Message
		text string
	}{
		{netproto.Limits{List: 1}, list, "2 is above the limit of 1"},
		{netproto.Limits{String: 5}, list, "6 is above the limit of 5"},
		{netproto.Limits{Frame: 100}, list, "above the limit of 100"},
		{netproto.Limits{List: 2, String: 6}, list, ""},
	}
	for _, test := range tests {
		conn := netproto.NewConn(stream{Reader: bytes.NewReader(frame(t, netproto.C1, test.m))}, netproto.ClientSide, test.lim)
		if err := conn.SetGeneration(netproto.C1); err != nil {
			t.Fatal(err)
		}
		_, err := conn.Read()
		if test.text == "" {
			if err != nil {
				t.Errorf("%+v: %v", test.lim, err)
			}
			continue
		}
		var fault *netproto.FormatError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%+v: %v, want %q", test.lim, err, test.text)
		}
	}
}

// TestServerWritesLargeDataWithoutACopy keeps the memory of a server's connection apart from the size of its portions.
func TestServerWritesLargeDataWithoutACopy(t *testing.T) {
	data := make([]byte, 8<<20)
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1} {
		server := serverConn(frame(t, g, hello(g)), io.Discard)
		if _, err := server.Read(); err != nil {
			t.Fatal(err)
		}
		answer, portion := &netproto.HandshakeAnswer{Version: netproto.VersionC1, Key: 7}, netproto.Message(&netproto.UpdateFileData{Data: data})
		if g == netproto.C1 {
			portion = &netproto.RangeData{Data: data}
		}
		if err := server.Write(answer); err != nil {
			t.Fatal(err)
		}
		cost := allocated(func() {
			if err := server.Write(portion); err != nil {
				t.Error(err)
			}
		})
		if cost > smallCost {
			t.Errorf("%v: %d bytes allocated to write %d", g, cost, len(data))
		}
	}
}
