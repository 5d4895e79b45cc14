package netproto_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

// TestServerLearnsGeneration covers every hello that is known, ours and the engine's of all eras.
func TestServerLearnsGeneration(t *testing.T) {
	tests := []struct {
		name string
		body string // as a string of bytes behind the header
		want netproto.Generation
		or   string // part of the error if there is no generation
	}{
		{"G1", "\x08\x00\x00\x00compat-A\x01\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G1, ""},
		{"G1 with empty strings", "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04", netproto.G1, ""},
		{"G2a", "\x08\x00\x00\x00compat-A\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G2a, ""},
		{"layout of G1, version 3", "\x08\x00\x00\x00compat-A\x03\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G1, ""},
		{"layout of G1, version 0", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G1, ""},
		{"key 0", "\x08\x00\x00\x00compat-A\x01\x00\x00\x00\x09\x00\x00\x00Linux-x64\x00\x00\x00\x00", 0, "key is 0"},
		{"a byte too few", "\x08\x00\x00\x00compat-A\x01\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03", 0, "beyond the end"},
		{"a byte too many", "\x08\x00\x00\x00compat-A\x01\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04\x05", 0, "left over"},
		{"G2b without metadata", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G2b, ""},
		{"G2b with metadata", "\x08\x00\x00\x00compat-A\x10\x00\x00\x00fedcba9876543210\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G2b, ""},
		{"G2b with a forced metadata of one byte", "\x08\x00\x00\x00compat-A\x01\x00\x00\x00m\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G2b, ""},
		{"G2b of version 1", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x01\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04", netproto.G2b, ""},
		{"G2b with key 0", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x00\x00\x00\x00", 0, "key is 0"},
		{"G2b, a byte too few", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03", 0, "fits no generation"},
		{"G2b, a byte too many", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x02\x03\x04\x05", 0, "left over"},
		{"an offer of C1 as G1", "\x08\x00\x00\x00compat-A\x01\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x01\x00\xc1", netproto.C1, ""},
		{"an offer of C1 as G2a", "\x08\x00\x00\x00compat-A\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x01\x00\xc1", netproto.C1, ""},
		{"an offer of C1 as G2b", "\x08\x00\x00\x00compat-A\x00\x00\x00\x00\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x01\x00\xc1", netproto.C1, ""},
		{"no offer: no such version", "\x08\x00\x00\x00compat-A\x03\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x01\x00\xc1", netproto.G1, ""},
		{"no offer: the key has no zero byte", "\x08\x00\x00\x00compat-A\x02\x00\x00\x00\x09\x00\x00\x00Linux-x64\x01\x01\x01\xc1", netproto.G2a, ""},
		{"nothing", "", 0, "fits no generation"},
		{"three bytes", "\x01\x00\x4c", 0, "fits no generation"},
		{"C1", "\x01\x00\x4c\x43\x01\x00\x00\x00\x08\x00\x00\x00compat-A\x09\x00\x00\x00Linux-x64", netproto.C1, ""},
		{"C1 of a later minor version", "\x07\x01\x4c\x43\x01\x00\x00\x00\x08\x00\x00\x00compat-A\x09\x00\x00\x00Linux-x64\x05\x00\x01\x00\x00\x00x", netproto.C1, ""},
		{"C1 cut short", "\x01\x00\x4c\x43\x01\x00\x00\x00\x08\x00\x00\x00compat-A\x09\x00\x00\x00Linux-x6", 0, "beyond the end"},
		{"C1 with a damaged tail", "\x01\x00\x4c\x43\x01\x00\x00\x00\x08\x00\x00\x00compat-A\x09\x00\x00\x00Linux-x64\x05\x00\x02\x00\x00\x00x", 0, "end of its tail"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn := serverConn(rawFrame(netproto.IDHandshake, test.body), nil)
			m, err := conn.Read()
			if test.or != "" {
				wantFault(t, err, netproto.IDHandshake, test.or)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if conn.Generation() != test.want {
				t.Errorf("generation %v, want %v", conn.Generation(), test.want)
			}
			if h := m.(*netproto.Handshake); strings.Contains(test.body, "compat-A") && (h.Compatibility != "compat-A" || h.Target != "Linux-x64") {
				t.Errorf("hello %+v", h)
			}
		})
	}
}

// rawFrame puts a header before body.
func rawFrame(id netproto.MessageID, body string) []byte {
	n := len(body) + 9
	return append([]byte{0x22, 0x94, 0x1e, 0x01, byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), byte(id)}, body...)
}

// wantFault checks that err is the peer's fault and says what it should.
func wantFault(t testing.TB, err error, id netproto.MessageID, text string) {
	t.Helper()
	var fault *netproto.FormatError
	if !errors.As(err, &fault) {
		t.Fatalf("error %v, want a FormatError", err)
	}
	if fault.Message != id || !strings.Contains(err.Error(), text) {
		t.Errorf("error %q about %v, want %q about %v", err, fault.Message, text, id)
	}
}

// TestOutdatedEngineClientIsAnswered shows that another version is answered, not dropped.
func TestOutdatedEngineClientIsAnswered(t *testing.T) {
	v := readVectors(t, "vectors/g2a/ref-handshake.txt")[0]
	var out bytes.Buffer
	conn := serverConn(v.data, &out, netproto.WithOnly(netproto.G1))
	m, err := conn.Read()
	if err != nil || m.(*netproto.Handshake).Version != 2 || conn.Generation() != netproto.G1 {
		t.Fatalf("%+v, %v", m, err)
	}
	answer := netproto.NewAnswer(compat.Judgement{Verdict: compat.UpdaterMismatch})
	answer.Key = 0xdeadbeef
	if err := conn.Write(answer, &netproto.Disconnect{}); err != nil {
		t.Fatal(err)
	}
	want := append(readVectors(t, "vectors/g1/ref-answer-updater-outdated.txt")[0].data,
		readVectors(t, "vectors/g1/ref-disconnect-first.txt")[0].data...)
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%x\nwant\n%x", out.Bytes(), want)
	}
}

// TestMinorVersionOfHello checks that the version of a C1 hello reaches the server, which has to judge it.
func TestMinorVersionOfHello(t *testing.T) {
	h := hello(netproto.C1)
	h.Version = netproto.VersionC1 + 6
	conn := serverConn(frame(t, netproto.C1, h), nil)
	m, err := conn.Read()
	if err != nil || m.(*netproto.Handshake).Version != netproto.VersionC1+6 {
		t.Errorf("%+v, %v", m, err)
	}
}
