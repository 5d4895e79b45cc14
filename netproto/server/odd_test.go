package server_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server/servertest"
	"collet/platform/testwait"
)

// goldenHello is a handshake of G1 (docs/PROTOCOL.md, "G1"): compatibility "0123456789abcdef", target "Linux-x64".
const goldenHello = "22941e013200000001100000003031323334353637383961626364656601000000090000004c696e75782d78363478563412"

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// patched returns the golden hello with some bytes replaced.
func patched(t testing.TB, at int, with ...byte) []byte {
	t.Helper()
	b := unhex(t, goldenHello)
	copy(b[at:], with)
	return b
}

// recorded is a server like that of the recordings: G1 without compression.
func recorded(t testing.TB) *servertest.Server {
	t.Helper()
	set := servertest.Settings(t)
	set.Network.DisableZlibCompression = true
	set.Limits.HandshakeTime = 2 * testwait.Limit
	return servertest.Start(t, set)
}

// TestMalformedBytesCloseTheConnection sends what the prober of the recordings sent, and worse. Each server goes on
// serving others.
func TestMalformedBytesCloseTheConnection(t *testing.T) {
	t.Parallel()
	ownHello := "22941e01" + "2a000000" + "01" // a C1 hello, up to its fields
	tests := []struct {
		name string
		data []byte
		line string
	}{
		{"request before the handshake", unhex(t, "22941e0115000000130300000040420f0000000000"), "Invalid handshake data"},
		{"ping before the handshake", unhex(t, "22941e010a0000000f00"), "Invalid handshake data"},
		{"unknown message before the handshake", unhex(t, "22941e0109000000c8"), "Invalid handshake data"},
		{"bad signature", patched(t, 0, 0x23), "Invalid handshake data"},
		{"a web browser", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "Invalid handshake data"},
		{"length below the header's", patched(t, 4, 8, 0, 0, 0), "Invalid handshake data"},
		{"two megabytes announced", patched(t, 4, 0, 0, 0x20, 0), "Invalid handshake data"},
		{"four gigabytes announced", patched(t, 4, 0xff, 0xff, 0xff, 0xff), "Invalid handshake data"},
		{"text of 4 GB in a small hello", patched(t, 9, 0xf0, 0xff, 0xff, 0xff), "Invalid handshake data"},
		{"text beyond the end", patched(t, 9, 0x30, 0, 0, 0), "Invalid handshake data"},
		{"bytes left over", patched(t, 9, 0x0f, 0, 0, 0), "Invalid handshake data"},
		{"key 0", patched(t, 46, 0, 0, 0, 0), "zero encrypt key"},
		{"own hello cut short", unhex(t, ownHello+"01004c43"+strings.Repeat("ff", 29)), "Invalid handshake data"},
	}
	h := recorded(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := h.Dial(t, netproto.G1)
			if _, err := p.Raw.Write(test.data); err != nil {
				t.Fatal(err)
			}
			before := time.Now()
			if last := p.ReadToEnd(); len(last) != 0 {
				t.Errorf("got %v before the close", last)
			}
			if took := time.Since(before); took > testwait.Limit {
				t.Errorf("closed only after %v", took)
			}
			h.Log.Has(t, "warn", test.line+"")
		})
	}
	p := h.Dial(t, netproto.G1)
	p.Greet(servertest.Handshake(netproto.G1))
}

func TestRecordedAnswersToTheHandshake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		change         func(*netproto.Handshake)
		compat, update bool
		files          int // -1: no list
	}{
		{"normal", func(*netproto.Handshake) {}, false, false, 5},
		{"compat mismatch", func(m *netproto.Handshake) { m.Compatibility = "compat-B" }, true, false, 5},
		{"unknown target", func(m *netproto.Handshake) { m.Target = "Nothing-here" }, false, false, 3},
		{"unknown target, compat mismatch", func(m *netproto.Handshake) { m.Target, m.Compatibility = "x", "y" }, true, false, 3},
		{"store target, compat mismatch", func(m *netproto.Handshake) { m.Target, m.Compatibility = "Android-arm64", "y" }, true, false, 4},
		{"empty texts", func(m *netproto.Handshake) { m.Target, m.Compatibility = "", "" }, true, false, 3},
		{"key with only its low byte", func(m *netproto.Handshake) { m.Key = 1 }, false, false, 5},
		{"updater two up", func(m *netproto.Handshake) { m.Version = 3 }, false, true, -1},
		{"updater one down", func(m *netproto.Handshake) { m.Version = 0 }, false, true, -1},
		{"updater and compat", func(m *netproto.Handshake) { m.Version, m.Compatibility = 3, "y" }, true, true, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := recorded(t)
			p := h.Dial(t, netproto.G1)
			m := servertest.Handshake(netproto.G1)
			test.change(m)
			p.Send(m)
			answer := servertest.Next[*netproto.HandshakeAnswer](p)
			if answer.CompatibilityOutdated != test.compat || answer.UpdaterOutdated != test.update || answer.Key == 0 {
				t.Errorf("got %+v", answer)
			}
			if test.files < 0 {
				servertest.Next[*netproto.Disconnect](p)
				p.ExpectSilence(50 * time.Millisecond) // it waits for the client to close
				h.Log.Has(t, "info", "has outdated updater version", "for binary target")
				return
			}
			init := servertest.Next[*netproto.InitData](p)
			if files := servertest.ListOf(t, init.Descriptor); len(files) != test.files || len(init.Properties) != 0 || init.Time < 0 {
				t.Errorf("%d files, %d properties, time %d", len(files), len(init.Properties), init.Time)
			}
			if servertest.Next[*netproto.Ping](p).Answer {
				t.Error("an answer for a question")
			}
		})
	}
}

func TestAnswerIsInTheRecordedLayout(t *testing.T) {
	t.Parallel()
	p := recorded(t).Dial(t, netproto.G1)
	if _, err := p.Raw.Write(unhex(t, goldenHello)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 15)
	if _, err := p.Raw.Read(answer); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(answer[:11], unhex(t, "22941e010f000000030100")) || binary.LittleEndian.Uint32(answer[11:]) == 0 {
		t.Errorf("got %x", answer)
	}
}

func TestServerStreamIsCompressedUnlessDisabled(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		set := servertest.Settings(t)
		set.Network.DisableZlibCompression = plain
		p := servertest.Start(t, set).Dial(t, netproto.G1)
		p.Raw.Write(unhex(t, goldenHello))
		first := make([]byte, 2)
		if _, err := p.Raw.Read(first); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{false: "7801", true: "2294"}[plain]; hex.EncodeToString(first) != want {
			t.Errorf("plain %v: stream begins %x, want %s", plain, first, want)
		}
	}
}

func TestRecordedReactionsAfterTheHandshake(t *testing.T) {
	t.Parallel()
	h := recorded(t)
	fresh := func(t *testing.T) *servertest.Peer {
		p := h.Dial(t, netproto.G1)
		p.Greet(servertest.Handshake(netproto.G1))
		return p
	}
	portion := func(t *testing.T, p *servertest.Peer, index uint32, offset uint64, want int) {
		t.Helper()
		if got := p.FetchPortion(index, offset); len(got) != want {
			t.Errorf("index %d at %d: %d bytes, want %d", index, offset, len(got), want)
		}
	}
	t.Run("offset equals size", func(t *testing.T) { portion(t, fresh(t), 0, 280, 0) })
	t.Run("file of another target", func(t *testing.T) { portion(t, fresh(t), 6, 0, 14) })
	t.Run("empty file", func(t *testing.T) { portion(t, fresh(t), 5, 0, 0) })
	t.Run("portion limit", func(t *testing.T) { portion(t, fresh(t), 1, 0, 1000) })
	t.Run("rest of a file", func(t *testing.T) { portion(t, fresh(t), 1, 2000, 400) })
	t.Run("three pipelined requests", func(t *testing.T) {
		p := fresh(t)
		p.Send(&netproto.GetUpdateFile{Index: 0}, &netproto.GetUpdateFile{Index: 1}, &netproto.GetUpdateFile{Index: 2, Offset: 1})
		for i, want := range []int{280, 1000, 3} {
			if got := servertest.Next[*netproto.UpdateFileData](p); len(got.Data) != want {
				t.Errorf("answer %d: %d bytes, want %d", i, len(got.Data), want)
			}
		}
	})
	t.Run("a flood of requests is answered to the last", func(t *testing.T) {
		p := fresh(t)
		flood := make([]netproto.Message, 500)
		for i := range flood {
			flood[i] = &netproto.GetUpdateFile{Index: 2}
		}
		p.Send(flood...)
		for range flood {
			servertest.Next[*netproto.UpdateFileData](p)
		}
	})
	t.Run("request right behind the handshake", func(t *testing.T) {
		p := h.Dial(t, netproto.G1)
		p.Send(servertest.Handshake(netproto.G1), &netproto.GetUpdateFile{Index: 0}, &netproto.Ping{})
		servertest.Next[*netproto.HandshakeAnswer](p)
		servertest.Next[*netproto.InitData](p)
		servertest.Next[*netproto.Ping](p)
		if got := servertest.Next[*netproto.UpdateFileData](p); len(got.Data) != 280 {
			t.Errorf("%d bytes", len(got.Data))
		}
	})
	t.Run("unknown message", func(t *testing.T) {
		p := fresh(t)
		p.Send(&netproto.Unknown{Number: 200})
		p.ExpectSilence(50 * time.Millisecond)
		portion(t, p, 0, 0, 280)
	})
	t.Run("ping question", func(t *testing.T) {
		p := fresh(t)
		p.Send(&netproto.Ping{})
		if !servertest.Next[*netproto.Ping](p).Answer {
			t.Error("a question for a question")
		}
		servertest.Next[*netproto.TimeSync](p)
	})
	t.Run("ping answer", func(t *testing.T) {
		p := fresh(t)
		p.Send(&netproto.Ping{Answer: true})
		servertest.Next[*netproto.TimeSync](p)
		p.ExpectSilence(50 * time.Millisecond)
	})
	t.Run("second handshake", func(t *testing.T) {
		p := fresh(t)
		p.Send(servertest.Handshake(netproto.G1))
		expectRefusal(p, netproto.G1, 0, 0)
		h.Log.Has(t, "warn", "Invalid network data from host '127.0.0.1'", "Handshake")
	})
	t.Run("second handshake of our generation", func(t *testing.T) {
		p := h.Dial(t, netproto.C1)
		p.Greet(servertest.Handshake(netproto.C1))
		p.Send(servertest.Handshake(netproto.C1))
		expectRefusal(p, netproto.C1, netproto.RefuseMalformed, 0)
	})
	t.Run("two megabytes announced", func(t *testing.T) {
		p := h.Dial(t, netproto.C1)
		p.Greet(servertest.Handshake(netproto.C1))
		p.Raw.Write(unhex(t, "22941e01000020000f"))
		expectRefusal(p, netproto.C1, netproto.RefuseMalformed, 0)
	})
}

func TestTimeSyncRises(t *testing.T) {
	t.Parallel()
	p := recorded(t).Dial(t, netproto.G1)
	p.Greet(servertest.Handshake(netproto.G1))
	var last int64
	for rises := 0; rises < 3; { // the clock that is read counts milliseconds; the deadline of dial ends this if it stands
		p.Send(&netproto.Ping{Answer: true})
		now := servertest.Next[*netproto.TimeSync](p).Time
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		if now > last {
			rises++
		}
		last = now
	}
}
