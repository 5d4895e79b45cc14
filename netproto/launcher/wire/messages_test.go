package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// TestVectors reads and writes every recorded message, and compares the fields with those that were read by other means.
func TestVectors(t *testing.T) {
	for _, v := range launchertest.Vectors(t, filepath.Join("testdata", "vectors")) {
		t.Run(v.Name, func(t *testing.T) {
			m, err := wire.Decode(v.Dialect(t), v.From(), v.Data)
			if err != nil {
				t.Fatal(err)
			}
			if got := reflect.TypeOf(m).Elem().Name(); got != v.Head["message"] {
				t.Errorf("is a %s, want %s", got, v.Head["message"])
			}
			if m.Code() != v.Data[0] {
				t.Errorf("has code %d, want %d", m.Code(), v.Data[0])
			}
			if got := launchertest.Fields(t, m); got != v.Head["fields"] {
				t.Errorf("fields\n got %s\nwant %s", got, v.Head["fields"])
			}
			data, err := wire.Encode(v.Dialect(t), m)
			if err != nil || !bytes.Equal(data, v.Data) {
				t.Errorf("encoded again, with error %v\n got %x\nwant %x", err, data, v.Data)
			}
			if size, err := wire.Size(v.Dialect(t), m); size != len(v.Data) || err != nil {
				t.Errorf("Size is %d, %v; want %d", size, err, len(v.Data))
			}
		})
	}
}

// openEnded are the messages whose last field takes whatever is left.
var openEnded = []uint8{wire.CodeSendFileData, wire.CodeFileBlock}

// TestShortMessages cuts every vector at every byte: each cut is a fault of the peer, with a place.
func TestShortMessages(t *testing.T) {
	for _, v := range launchertest.Vectors(t, filepath.Join("testdata", "vectors")) {
		if v.Head["message"] == "Unknown" {
			continue
		}
		for n := range min(len(v.Data), 400) {
			m, err := wire.Decode(v.Dialect(t), v.From(), v.Data[:n])
			if err == nil && slices.Contains(openEnded, m.Code()) && n >= len(v.Data)-dataLen(m) {
				continue
			}
			var fault *wire.FormatError
			if !errors.As(err, &fault) || fault.Field == "" || fault.Offset > n {
				t.Fatalf("%s cut at %d: %T, %v", v.Name, n, m, err)
			}
		}
	}
}

func dataLen(m wire.Message) int {
	switch m := m.(type) {
	case *wire.SendFileData:
		return len(m.Data) + 1<<20
	case *wire.FileBlock:
		return len(m.Data) + 1<<20
	}
	return 0
}

// TestReservedBytes adds bytes behind every message, as a later version may.
func TestReservedBytes(t *testing.T) {
	for _, v := range launchertest.Vectors(t, filepath.Join("testdata", "vectors")) {
		if slices.Contains(openEnded, v.Data[0]) || v.Head["message"] == "Unknown" {
			continue
		}
		m, err := wire.Decode(v.Dialect(t), v.From(), append(slices.Clone(v.Data), 0xde, 0xad))
		if err != nil || launchertest.Fields(t, m) != v.Head["fields"] {
			t.Errorf("%s with two bytes more: %v", v.Name, err)
		}
	}
}

func TestUnknownMessages(t *testing.T) {
	layout := []byte{wire.CodeRequestFileLayout}
	cases := []struct {
		name    string
		dialect wire.Dialect
		from    wire.Side
		data    []byte
		unknown bool
	}{
		{"an unknown code", wire.Released, wire.FromDesk, []byte{77, 1, 2}, true},
		{"code 0", wire.Released, wire.FromDevice, []byte{0}, true},
		{"from the right side", wire.Released, wire.FromDesk, layout, false},
		{"from the wrong side", wire.Released, wire.FromDevice, layout, true},
		{"keep-alive of a desk", wire.Released, wire.FromDesk, []byte{20}, false},
		{"keep-alive of a device", wire.Released, wire.FromDevice, []byte{20}, false},
		{"keep-alive in Draft", wire.Draft, wire.FromDevice, []byte{20}, true},
		{"our own in Draft", wire.Draft, wire.FromDesk, []byte{wire.CodeCloseFile, 1, 0, 0, 0}, true},
	}
	for _, c := range cases {
		m, err := wire.Decode(c.dialect, c.from, c.data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		u, is := m.(*wire.Unknown)
		if is != c.unknown || is && (u.Code() != c.data[0] || !bytes.Equal(u.Rest, c.data[1:])) {
			t.Errorf("%s: %T %+v", c.name, m, m)
		}
	}
	if _, err := wire.Decode(wire.Released, wire.FromDesk, nil); err == nil {
		t.Error("a message without a byte is read")
	}
}

func TestWrongSignature(t *testing.T) {
	data, err := wire.Encode(wire.Released, &wire.ConnectAccepted{})
	if err != nil {
		t.Fatal(err)
	}
	data[16] = '1'
	var fault *wire.FormatError
	if _, err = wire.Decode(wire.Released, wire.FromDesk, data); !errors.As(err, &fault) || fault.Field != "Signature" {
		t.Errorf("signature of another version: %v", err)
	}
}

// TestLies declares more than there is, or than is allowed.
func TestLies(t *testing.T) {
	cases := []struct {
		name, hex string
		from      wire.Side
	}{
		{"four billion files", "04ffffffff", wire.FromDevice},
		{"a file too many for the bytes", "0402000000" + "0000" + "0000000000000000" + "00", wire.FromDevice},
		{"200001 files", "04410d0300" + strings.Repeat("00", 200_001*11), wire.FromDevice},
		{"a million and one hashes", "060000" + "01001000" + strings.Repeat("00", 1<<20+1), wire.FromDevice},
		{"a hash of 3 digits", "0d0000" + "03" + "616263", wire.FromDesk},
		{"a hash that is none", "0d0000" + "40" + strings.Repeat("7a", 64), wire.FromDesk},
		{"a path beyond the end", "07ff00616263", wire.FromDesk},
		{"nine digests", "c009000000" + strings.Repeat("00", 9*32), wire.FromDesk},
		{"a file larger than a batch", "c20000000001000000" + "0000" + strings.Repeat("00", 32) + "01000400", wire.FromDesk},
	}
	for _, c := range cases {
		data, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var fault *wire.FormatError
		if m, err := wire.Decode(wire.Released, c.from, data); !errors.As(err, &fault) {
			t.Errorf("%s: %T, %v", c.name, m, err)
		}
	}
}

// TestHashSpelling: uppercase is read, lowercase written, and none stays none.
func TestHashSpelling(t *testing.T) {
	want := wire.HashOf([]byte("hello\n"))
	text := strings.ToUpper(want.String())
	data := append(append([]byte{wire.CodeRequestFinishWriteFile, 0, 0, 64}, text...), 0)
	m, err := wire.Decode(wire.Released, wire.FromDesk, data)
	if err != nil || m.(*wire.RequestFinishWriteFile).Hash != want {
		t.Fatalf("uppercase: %+v, %v", m, err)
	}
	if again, _ := wire.Encode(wire.Released, m); !bytes.Contains(again, []byte(want.String())) {
		t.Errorf("written as %q", again)
	}
	if _, err := wire.ParseHash("12"); err == nil {
		t.Error("two digits are a hash")
	}
}

func TestEncodeRefusesWhatDoesNotFit(t *testing.T) {
	long := strings.Repeat("x", wire.MaxName+1)
	longer := strings.Repeat("x", wire.MaxText+1)
	for _, m := range []wire.Message{
		&wire.ConnectRequest{Name: long},
		&wire.RequestSystemProperty{Property: long},
		&wire.Logs{Source: long},
		&wire.Logs{Message: longer},
		&wire.RequestDeleteFile{Path: longer},
		&wire.StartApplication{GameConfig: longer},
		&wire.RequestTree{Known: make([]wire.Hash, wire.MaxDigests+1)},
	} {
		var fault *wire.EncodeError
		if data, err := wire.Encode(wire.Released, m); !errors.As(err, &fault) || data != nil {
			t.Errorf("%T: %d bytes, %v", m, len(data), err)
		}
	}
}

func TestNames(t *testing.T) {
	if d, err := wire.ParseDialect("draft"); d != wire.Draft || err != nil {
		t.Error(d, err)
	}
	if _, err := wire.ParseDialect("Released"); err == nil {
		t.Error("a dialect has two names")
	}
	for got, want := range map[string]string{
		wire.Released.String():        "released",
		wire.Dialect(9).String():      "dialect 9",
		wire.Success.String():         "success",
		wire.HashMismatch.String():    "hash mismatch",
		wire.Result(9).String():       "result 9",
		wire.LogLevel(9).String():     "info",
		wire.LevelError.String():      "error",
		wire.LevelWarning.String():    "warning",
		wire.HashOf(nil).String()[:8]: "e3b0c442",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShortestEntries: lists of entries without any text pass the check of how many can follow.
func TestShortestEntries(t *testing.T) {
	for _, c := range []struct {
		from wire.Side
		m    wire.Message
	}{
		{wire.FromDevice, &wire.ResponseFileLayout{Files: make([]wire.File, 2)}},
		{wire.FromDevice, &wire.ResponseFileBlockHashes{Hashes: make([]wire.Hash, 2)}},
		{wire.FromDesk, &wire.RequestTree{Known: make([]wire.Hash, wire.MaxDigests)}},
		{wire.FromDevice, &wire.ResponseTree{Removed: make([]string, 2)}},
		{wire.FromDevice, &wire.ResponseTree{Files: make([]wire.File, 2)}},
		{wire.FromDevice, &wire.ResponseTree{Parts: make([]wire.FilePart, 2)}},
		{wire.FromDesk, &wire.PutFiles{Files: make([]wire.PutFile, 2)}},
		{wire.FromDesk, &wire.DeleteFiles{Paths: make([]string, 2)}},
		{wire.FromDevice, &wire.BatchReport{Failures: make([]wire.BatchFailure, 2)}},
		{wire.FromDevice, &wire.ResponseBlocks{Hashes: make([]wire.Hash, 2)}},
		{wire.FromDevice, &wire.LogLines{Lines: make([]wire.TimedLine, 2)}},
	} {
		data, err := wire.Encode(wire.Released, c.m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.Decode(wire.Released, c.from, data); err != nil || launchertest.Fields(t, got) == "" {
			t.Errorf("%T: %v", c.m, err)
		}
	}
}
