package launcher_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/launcher"
)

// vector is one file of testdata/vectors: header lines, an empty line, hex.
type vector struct {
	name string
	head map[string]string
	data []byte
}

func (v vector) dialect(t testing.TB) launcher.Dialect {
	d, err := launcher.ParseDialect(v.head["dialect"])
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	return d
}

func (v vector) from() launcher.Side {
	if v.head["from"] == "device" {
		return launcher.FromDevice
	}
	return launcher.FromDesk
}

func vectors(t testing.TB) (list []vector) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("testdata", "vectors"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		list = append(list, parseVector(t, name, string(text)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 90 {
		t.Fatalf("%d vectors, there should be more", len(list))
	}
	return list
}

func parseVector(t testing.TB, name, text string) vector {
	t.Helper()
	head, body, found := strings.Cut(text, "\n\n")
	if !found {
		t.Fatalf("%s: no empty line", name)
	}
	v := vector{name: filepath.ToSlash(name), head: map[string]string{}}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		v.head[key] = value
	}
	var err error
	if v.data, err = hex.DecodeString(strings.Join(strings.Fields(body), "")); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// TestVectors reads and writes every recorded message, and compares the fields with those that were read by other means.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			m, err := launcher.Decode(v.dialect(t), v.from(), v.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := reflect.TypeOf(m).Elem().Name(); got != v.head["message"] {
				t.Errorf("is a %s, want %s", got, v.head["message"])
			}
			if m.Code() != v.data[0] {
				t.Errorf("has code %d, want %d", m.Code(), v.data[0])
			}
			if got := fields(t, m); got != v.head["fields"] {
				t.Errorf("fields\n got %s\nwant %s", got, v.head["fields"])
			}
			data, err := launcher.Encode(v.dialect(t), m)
			if err != nil || !bytes.Equal(data, v.data) {
				t.Errorf("encoded again, with error %v\n got %x\nwant %x", err, data, v.data)
			}
			if size, err := launcher.Size(v.dialect(t), m); size != len(v.data) || err != nil {
				t.Errorf("Size is %d, %v; want %d", size, err, len(v.data))
			}
		})
	}
}

func fields(t *testing.T, m launcher.Message) string {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}

// openEnded are the messages whose last field takes whatever is left.
var openEnded = []uint8{launcher.CodeSendFileData, launcher.CodeFileBlock}

// TestShortMessages cuts every vector at every byte: each cut is a fault of the peer, with a place.
func TestShortMessages(t *testing.T) {
	for _, v := range vectors(t) {
		if v.head["message"] == "Unknown" {
			continue
		}
		for n := range min(len(v.data), 400) {
			m, err := launcher.Decode(v.dialect(t), v.from(), v.data[:n])
			if err == nil && slices.Contains(openEnded, m.Code()) && n >= len(v.data)-dataLen(m) {
				continue
			}
			var fault *launcher.FormatError
			if !errors.As(err, &fault) || fault.Field == "" || fault.Offset > n {
				t.Fatalf("%s cut at %d: %T, %v", v.name, n, m, err)
			}
		}
	}
}

func dataLen(m launcher.Message) int {
	switch m := m.(type) {
	case *launcher.SendFileData:
		return len(m.Data) + 1<<20
	case *launcher.FileBlock:
		return len(m.Data) + 1<<20
	}
	return 0
}

// TestReservedBytes adds bytes behind every message, as a later version may.
func TestReservedBytes(t *testing.T) {
	for _, v := range vectors(t) {
		if slices.Contains(openEnded, v.data[0]) || v.head["message"] == "Unknown" {
			continue
		}
		m, err := launcher.Decode(v.dialect(t), v.from(), append(slices.Clone(v.data), 0xde, 0xad))
		if err != nil || fields(t, m) != v.head["fields"] {
			t.Errorf("%s with two bytes more: %v", v.name, err)
		}
	}
}

func TestUnknownMessages(t *testing.T) {
	layout := []byte{launcher.CodeRequestFileLayout}
	cases := []struct {
		name    string
		dialect launcher.Dialect
		from    launcher.Side
		data    []byte
		unknown bool
	}{
		{"a code nobody has", launcher.Released, launcher.FromDesk, []byte{77, 1, 2}, true},
		{"code 0", launcher.Released, launcher.FromDevice, []byte{0}, true},
		{"from the right side", launcher.Released, launcher.FromDesk, layout, false},
		{"from the wrong side", launcher.Released, launcher.FromDevice, layout, true},
		{"keep-alive of a desk", launcher.Released, launcher.FromDesk, []byte{20}, false},
		{"keep-alive of a device", launcher.Released, launcher.FromDevice, []byte{20}, false},
		{"keep-alive in Draft", launcher.Draft, launcher.FromDevice, []byte{20}, true},
		{"our own in Draft", launcher.Draft, launcher.FromDesk, []byte{launcher.CodeCloseFile, 1, 0, 0, 0}, true},
	}
	for _, c := range cases {
		m, err := launcher.Decode(c.dialect, c.from, c.data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		u, is := m.(*launcher.Unknown)
		if is != c.unknown || is && (u.Code() != c.data[0] || !bytes.Equal(u.Rest, c.data[1:])) {
			t.Errorf("%s: %T %+v", c.name, m, m)
		}
	}
	if _, err := launcher.Decode(launcher.Released, launcher.FromDesk, nil); err == nil {
		t.Error("a message without a byte is read")
	}
}

func TestWrongSignature(t *testing.T) {
	data, err := launcher.Encode(launcher.Released, &launcher.ConnectAccepted{})
	if err != nil {
		t.Fatal(err)
	}
	data[16] = '1'
	var fault *launcher.FormatError
	if _, err = launcher.Decode(launcher.Released, launcher.FromDesk, data); !errors.As(err, &fault) || fault.Field != "Signature" {
		t.Errorf("signature of another version: %v", err)
	}
}

// TestLies declares more than there is, or than is allowed.
func TestLies(t *testing.T) {
	cases := []struct {
		name, hex string
		from      launcher.Side
	}{
		{"four billion files", "04ffffffff", launcher.FromDevice},
		{"a file too many for the bytes", "0402000000" + "0000" + "0000000000000000" + "00", launcher.FromDevice},
		{"200001 files", "04410d0300" + strings.Repeat("00", 200_001*11), launcher.FromDevice},
		{"a million and one hashes", "060000" + "01001000" + strings.Repeat("00", 1<<20+1), launcher.FromDevice},
		{"a hash of 3 digits", "0d0000" + "03" + "616263", launcher.FromDesk},
		{"a hash that is none", "0d0000" + "40" + strings.Repeat("7a", 64), launcher.FromDesk},
		{"a path beyond the end", "07ff00616263", launcher.FromDesk},
		{"nine digests", "c009000000" + strings.Repeat("00", 9*32), launcher.FromDesk},
		{"a file larger than a batch", "c20000000001000000" + "0000" + strings.Repeat("00", 32) + "01000400", launcher.FromDesk},
	}
	for _, c := range cases {
		data, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var fault *launcher.FormatError
		if m, err := launcher.Decode(launcher.Released, c.from, data); !errors.As(err, &fault) {
			t.Errorf("%s: %T, %v", c.name, m, err)
		}
	}
}

// TestHashSpelling: uppercase is read, lowercase written, and none stays none.
func TestHashSpelling(t *testing.T) {
	want := launcher.HashOf([]byte("hello\n"))
	text := strings.ToUpper(want.String())
	data := append(append([]byte{launcher.CodeRequestFinishWriteFile, 0, 0, 64}, text...), 0)
	m, err := launcher.Decode(launcher.Released, launcher.FromDesk, data)
	if err != nil || m.(*launcher.RequestFinishWriteFile).Hash != want {
		t.Fatalf("uppercase: %+v, %v", m, err)
	}
	if again, _ := launcher.Encode(launcher.Released, m); !bytes.Contains(again, []byte(want.String())) {
		t.Errorf("written as %q", again)
	}
	if _, err := launcher.ParseHash("12"); err == nil {
		t.Error("two digits are a hash")
	}
}

func TestEncodeRefusesWhatDoesNotFit(t *testing.T) {
	long := strings.Repeat("x", launcher.MaxName+1)
	longer := strings.Repeat("x", launcher.MaxText+1)
	for _, m := range []launcher.Message{
		&launcher.ConnectRequest{Name: long},
		&launcher.RequestSystemProperty{Property: long},
		&launcher.Logs{Source: long},
		&launcher.Logs{Message: longer},
		&launcher.RequestDeleteFile{Path: longer},
		&launcher.StartApplication{GameConfig: longer},
		&launcher.RequestTree{Known: make([]launcher.Hash, launcher.MaxDigests+1)},
	} {
		var fault *launcher.EncodeError
		if data, err := launcher.Encode(launcher.Released, m); !errors.As(err, &fault) || data != nil {
			t.Errorf("%T: %d bytes, %v", m, len(data), err)
		}
	}
}

func TestNames(t *testing.T) {
	if d, err := launcher.ParseDialect("draft"); d != launcher.Draft || err != nil {
		t.Error(d, err)
	}
	if _, err := launcher.ParseDialect("Released"); err == nil {
		t.Error("a dialect has two names")
	}
	for got, want := range map[string]string{
		launcher.Released.String():        "released",
		launcher.Dialect(9).String():      "dialect 9",
		launcher.Success.String():         "success",
		launcher.HashMismatch.String():    "hash mismatch",
		launcher.Result(9).String():       "result 9",
		launcher.LogLevel(9).String():     "info",
		launcher.LevelError.String():      "error",
		launcher.LevelWarning.String():    "warning",
		launcher.HashOf(nil).String()[:8]: "e3b0c442",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShortestEntries: lists of entries without any text pass the check of how many can follow.
func TestShortestEntries(t *testing.T) {
	for _, c := range []struct {
		from launcher.Side
		m    launcher.Message
	}{
		{launcher.FromDevice, &launcher.ResponseFileLayout{Files: make([]launcher.File, 2)}},
		{launcher.FromDevice, &launcher.ResponseFileBlockHashes{Hashes: make([]launcher.Hash, 2)}},
		{launcher.FromDesk, &launcher.RequestTree{Known: make([]launcher.Hash, launcher.MaxDigests)}},
		{launcher.FromDevice, &launcher.ResponseTree{Removed: make([]string, 2)}},
		{launcher.FromDevice, &launcher.ResponseTree{Files: make([]launcher.File, 2)}},
		{launcher.FromDevice, &launcher.ResponseTree{Parts: make([]launcher.FilePart, 2)}},
		{launcher.FromDesk, &launcher.PutFiles{Files: make([]launcher.PutFile, 2)}},
		{launcher.FromDesk, &launcher.DeleteFiles{Paths: make([]string, 2)}},
		{launcher.FromDevice, &launcher.BatchReport{Failures: make([]launcher.BatchFailure, 2)}},
		{launcher.FromDevice, &launcher.ResponseBlocks{Hashes: make([]launcher.Hash, 2)}},
		{launcher.FromDevice, &launcher.LogLines{Lines: make([]launcher.TimedLine, 2)}},
	} {
		data, err := launcher.Encode(launcher.Released, c.m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := launcher.Decode(launcher.Released, c.from, data); err != nil || fields(t, got) == "" {
			t.Errorf("%T: %v", c.m, err)
		}
	}
}
