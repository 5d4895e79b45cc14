package release_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"collet/netproto/release"
)

// sequelVector is a sequel of two parts as docs/RELEASE-FORMAT.md describes it.
const sequelVector = "435101" + "02" +
	"18" + "6d657461646174612f392e736e617073686f742e6a736f6e" + "02" + // metadata/9.snapshot.json
	"17" + "6d657461646174612f372e746172676574732e6a736f6e" + "03" + // metadata/7.targets.json
	"7b7d" + "5b315d"

func sequelParts() []release.SequelPart {
	return []release.SequelPart{{Name: "metadata/9.snapshot.json", Data: []byte("{}")}, {Name: "metadata/7.targets.json", Data: []byte("[1]")}}
}

func TestSequelVector(t *testing.T) {
	t.Parallel()
	data, err := release.EncodeSequel(sequelParts())
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(data); got != sequelVector {
		t.Errorf("%s\nwant %s", got, sequelVector)
	}
	r := bufio.NewReader(bytes.NewReader(data))
	table, err := release.ReadSequelTable(r, nothingKnown)
	if err != nil || len(table) != 2 {
		t.Fatalf("%v, %v", table, err)
	}
	for i, p := range sequelParts() {
		got := make([]byte, table[i].Size)
		if _, err := io.ReadFull(r, got); err != nil || table[i].Name != p.Name || !bytes.Equal(got, p.Data) {
			t.Errorf("part %d: %+v %q, %v", i, table[i], got, err)
		}
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("%d bytes follow", len(rest))
	}
}

func TestSequelPath(t *testing.T) {
	t.Parallel()
	e := release.Entry{Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: 7}
	const want = "sequels/3d84f23299c352ef5b6d1c488f036d7164f1555eb227d8b47590a9efc22a12df.sequel" // sha256 of lathe/stable/Linux-x64/7
	if got := e.SequelPath(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSequelsThatAreNone(t *testing.T) {
	t.Parallel()
	part := func(name string, n int) release.SequelPart {
		return release.SequelPart{Name: name, Data: make([]byte, n)}
	}
	for what, parts := range map[string][]release.SequelPart{
		"too many parts":  {part("objects/a", 0), part("objects/b", 0), part("objects/c", 0), part("objects/d", 0), part("objects/e", 0), part("objects/f", 0), part("objects/g", 0), part("objects/h", 0), part("objects/i", 0)},
		"a name outside":  {part("release.toml", 1)},
		"a sequel inside": {part("sequels/x", 1)},
		"a long name":     {part("objects/"+strings.Repeat("a", 121), 1)},
		"too many bytes":  {part("objects/a", release.MaxSequel)},
	} {
		if _, err := release.EncodeSequel(parts); err == nil {
			t.Errorf("%s was written", what)
		}
	}
	good, err := hex.DecodeString(sequelVector)
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{
		"nothing":                {},
		"another format":         []byte("CP\x01\x00"),
		"another version":        []byte("CQ\x04\x00"),
		"cut in the mark":        []byte("CQ\x03\x00"),
		"nine parts":             []byte("CQ\x01\x09"),
		"a count of two bytes":   []byte("CQ\x01\x80\x00"),
		"an endless count":       []byte("CQ\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
		"a long name":            []byte("CQ\x01\x01\x81\x01" + "objects/" + strings.Repeat("a", 121) + "\x01"),
		"a name outside":         []byte("CQ\x01\x01\x07.collet\x01"),
		"more than a sequel has": []byte("CQ\x01\x01\x09objects/a\x81\x80\x60"),
		"more than one together": []byte("CQ\x01\x02\x09objects/a\x81\x80\x30\x09objects/b\x81\x80\x30"),
		"cut in the table":       good[:30],
		"cut behind a name":      good[:29],
	} {
		_, err := release.ReadSequelTable(bufio.NewReader(bytes.NewReader(data)), nothingKnown)
		var fault *release.FormatError
		if !errors.As(err, &fault) || fault.Document != "sequel" {
			t.Errorf("%s: %v", what, err)
		}
	}
	broken := errors.New("broken")
	if _, err := release.ReadSequelTable(bufio.NewReader(io.MultiReader(bytes.NewReader(good[:20]), failing{broken})), nothingKnown); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzSequel: what is read is what would be written, and never more than there may be.
func FuzzSequel(f *testing.F) {
	good, err := hex.DecodeString(sequelVector)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("CQ\x01\x00"))
	f.Add([]byte("CQ\x01\x01\x09objects/a\x80\x80\x60"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		table, err := release.ReadSequelTable(r, nothingKnown)
		if err != nil {
			var fault *release.FormatError
			if !errors.As(err, &fault) && !errors.Is(err, release.ErrOtherKnownData) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		total := int64(0)
		for i, p := range table {
			if total += p.Size; p.Size < 0 || total > release.MaxSequel {
				t.Fatalf("%d bytes", total)
			}
			table[i].Data = make([]byte, p.Size)
		}
		again, err := release.EncodeSequel(table)
		if err != nil {
			return // the table pushes it over the edge
		}
		if begin := len(again) - int(total); !bytes.Equal(again[:begin], data[:begin]) {
			t.Fatalf("%x\nwas read from %x", again[:begin], data[:begin])
		}
	})
}
