package netproto_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

func TestGenerations(t *testing.T) {
	for name, want := range map[string]struct {
		g       netproto.Generation
		number  uint8
		spoken  bool
		engine  bool
		version uint32
	}{
		"G1":  {netproto.G1, 1, true, true, 1},
		"G2a": {netproto.G2a, 2, true, true, 2},
		"G2b": {netproto.G2b, 3, true, true, 2},
		"C1":  {netproto.C1, 4, true, false, 0x434C0001},
	} {
		g, err := netproto.ParseGeneration(name)
		if (err == nil) != want.spoken || g != want.g || uint8(g) != want.number || g.String() != name {
			t.Errorf("%s: %v (%d), %v", name, g, uint8(g), err)
		}
		if g.Spoken() != want.spoken || g.Engine() != want.engine || g.Version() != want.version {
			t.Errorf("%s: spoken %t, engine %t, version %#x", name, g.Spoken(), g.Engine(), g.Version())
		}
	}
	for _, name := range []string{"", "g1", "G3", "C2"} {
		if g, err := netproto.ParseGeneration(name); err == nil {
			t.Errorf("%q is %v", name, g)
		}
	}
	if got := netproto.Generation(9).String(); got != "generation 9" {
		t.Errorf("an unknown one prints as %q", got)
	}
}

// TestKeysHaveNoZeroByte draws keys as the engine does.
func TestKeysHaveNoZeroByte(t *testing.T) {
	seen := make(map[uint32]bool)
	for range 2000 {
		key := netproto.NewKey()
		seen[key] = true
		if bytes.IndexByte(binary.LittleEndian.AppendUint32(nil, key), 0) >= 0 {
			t.Fatalf("key %#08x", key)
		}
	}
	if len(seen) < 1990 {
		t.Errorf("%d different keys of 2000", len(seen))
	}
}

// TestDescriptorFaults covers every rule of the list of files.
func TestDescriptorFaults(t *testing.T) {
	entry := "\x01\x00a" + strings.Repeat("\x00", 8+8+1+4)
	tests := []struct {
		name, data, text string
		offset           int64
	}{
		{"no end mark", entry, "beyond the end", 24},
		{"half an end mark", entry + "\xff", "beyond the end", 24},
		{"bytes behind the end mark", "\xff\xff\x00", "left over", 2},
		{"an entry behind the end mark", "\xff\xff" + entry, "left over", 2},
		{"name length 0", "\x00\x00" + entry, "1 to 32767", 0},
		{"name length -2", "\xfe\xff" + entry, "1 to 32767", 0},
		{"name length -32768", "\x00\x80" + entry, "1 to 32767", 0},
		{"name beyond the end", "\xff\x7fa", "beyond the end", 2},
		{"entry cut short", entry[:20] + "\xff\xff", "beyond the end", 20},
		{"one byte", "\xff", "beyond the end", 0},
		{"too many", strings.Repeat(entry, 5) + "\xff\xff", "5 is above the limit of 4", 5*24 - 22 - 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, err := netproto.ParseDescriptor([]byte(test.data), netproto.Limits{List: 4})
			wantFault(t, err, netproto.IDInitData, test.text)
			var fault *netproto.FormatError
			if errors.As(err, &fault) && fault.Offset != test.offset {
				t.Errorf("%v: offset %d, want %d", err, fault.Offset, test.offset)
			}
			if entries != nil {
				t.Errorf("%d entries beside the error", len(entries))
			}
		})
	}
}

// TestDescriptorAccepts accepts unusual but valid lists.
func TestDescriptorAccepts(t *testing.T) {
	for _, entries := range [][]netproto.Entry{
		{},
		{{Name: "a", Size: math.MaxUint64, Hash: math.MaxUint64, Role: 255, Index: math.MaxUint32}},
		{{Name: strings.Repeat("n", math.MaxInt16)}, {Name: "same"}, {Name: "same"}},
	} {
		data, err := netproto.EncodeDescriptor(entries)
		if err != nil {
			t.Fatal(err)
		}
		again, err := netproto.ParseDescriptor(data, netproto.Limits{})
		if err != nil || !slices.Equal(again, entries) {
			t.Errorf("%d entries become %d, %v", len(entries), len(again), err)
		}
	}
	if entries, err := netproto.ParseDescriptor(nil, netproto.Limits{}); entries != nil || err != nil {
		t.Errorf("an empty descriptor: %v, %v", entries, err)
	}
	if data, err := netproto.EncodeDescriptor(nil); err != nil || !bytes.Equal(data, []byte{0xff, 0xff}) {
		t.Errorf("no files: %x, %v", data, err)
	}
	for _, name := range []string{"", strings.Repeat("n", math.MaxInt16+1), strings.Repeat("n", math.MaxUint16+2)} {
		if _, err := netproto.EncodeDescriptor([]netproto.Entry{{Name: name}}); err == nil {
			t.Errorf("a name of %d bytes was written", len(name))
		}
	}
}

func TestTags(t *testing.T) {
	var tail netproto.Tags
	for _, tag := range []uint16{7, 1, 300, 7, 0} {
		tail = tail.With(tag, fmt.Append(nil, "v", tag))
	}
	var order []uint16
	for tag, value := range tail.All() {
		order = append(order, tag)
		if string(value) != fmt.Sprint("v", tag) {
			t.Errorf("tag %d is %q", tag, value)
		}
	}
	if !slices.Equal(order, []uint16{0, 1, 7, 300}) {
		t.Errorf("order %v", order)
	}
	for range tail.All() {
		break // a walk may be left
	}
	if _, found := tail.Get(8); found {
		t.Error("a tag that is not there was found")
	}
	if v, found := tail.With(300, nil).Get(300); !found || len(v) != 0 {
		t.Errorf("replaced by nothing: %q, %t", v, found)
	}
}

// TestTagFaults covers invalid tails, for reading and writing.
func TestTagFaults(t *testing.T) {
	for name, test := range map[string]struct{ tail, text string }{
		"repeated":     {"\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00", "repeated or out of order"},
		"out of order": {"\x02\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00", "repeated or out of order"},
		"cut short":    {"\x01\x00\x02\x00\x00\x00x", "beyond the end of its tail"},
		"half a head":  {"\x01\x00\x00\x00\x00\x00\x02", "beyond the end of its tail"},
	} {
		t.Run(name, func(t *testing.T) {
			body := "\x00\x00\x00\x00" + test.tail
			_, err := clientConn(t, netproto.C1, rawFrame(netproto.IDFileList, body), nil).Read()
			wantFault(t, err, netproto.IDFileList, test.text)

			entry := strings.Repeat("\x00", 4+8+32+1+4) + string(rune(len(test.tail))) + "\x00" + test.tail
			_, err = clientConn(t, netproto.C1, rawFrame(netproto.IDFileList, "\x01\x00\x00\x00"+entry), nil).Read()
			wantFault(t, err, netproto.IDFileList, test.text)

			var fault *netproto.FormatError
			_, err = netproto.EncodeFrame(netproto.C1, 0, 0, &netproto.FileList{Tags: netproto.Tags(test.tail)})
			if err == nil || errors.As(err, &fault) {
				t.Errorf("written: %v", err)
			}
		})
	}
}

// TestJudgementsTravel checks a client's result for every verdict in each generation.
func TestJudgementsTravel(t *testing.T) {
	for v := compat.Accept; v <= compat.Maintenance; v++ {
		j := compat.Judgement{Verdict: v, Rule: compat.RuleString, Compatibility: "V", RetryAfter: 600}
		if got := netproto.NewAnswer(j).Judgement(netproto.C1); got != j {
			t.Errorf("C1: %+v becomes %+v", j, got)
		}
		want := compat.Judgement{Verdict: compat.UpdateBinaries}
		switch v {
		case compat.Accept, compat.UpdateResources:
			want.Verdict = compat.Accept
		case compat.UpdaterMismatch:
			want.Verdict = compat.UpdaterMismatch
		}
		for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
			if got := netproto.NewAnswer(j).Judgement(g); got != want {
				t.Errorf("%v: %+v becomes %+v, want %+v", g, j, got, want)
			}
		}
	}
	later := netproto.NewAnswer(compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept})
	later.Version++
	if got := later.Judgement(netproto.C1); got.Verdict != compat.UpdaterMismatch || got.Rule != compat.RuleUpdater {
		t.Errorf("another minor version: %+v", got)
	}
	odd := netproto.NewAnswer(compat.Judgement{Verdict: compat.Maintenance})
	odd.Tags = odd.Tags.With(netproto.TagRetryAfter, []byte{1, 2})
	if got := odd.Judgement(netproto.C1); got.RetryAfter != 0 {
		t.Errorf("a tag of two bytes is %d seconds", got.RetryAfter)
	}
}

// TestTransferVerdicts: files may be fetched behind the verdicts 0, 1 and 2, whatever the tags (docs/PROTOCOL.md, "C1").
func TestTransferVerdicts(t *testing.T) {
	for v := range 256 {
		want := v == 0 || v == 1 || v == 2
		if got := netproto.AllowsTransfer(compat.Verdict(v)); got != want {
			t.Errorf("verdict %d: %t", v, got)
		}
	}
}

// TestErrorTexts keeps the words short, complete and one per fact.
func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[string]error{
		"frame at byte 4: length: cause":          &netproto.FormatError{Field: "length", Offset: 4, Err: cause},
		"RangeData (66) at byte 9: offset: cause": &netproto.FormatError{Message: 66, Field: "offset", Offset: 9, Err: cause},
		"message 200 at byte 9: x: cause":         &netproto.FormatError{Message: 200, Field: "x", Offset: 9, Err: cause},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%q hides its cause", err)
		}
	}
}

// TestRefuseReasons names every reason that PROTOCOL.md lists.
func TestRefuseReasons(t *testing.T) {
	doc := protocolDoc(t)
	for r := netproto.RefuseIndex; r <= netproto.RefuseComponents; r++ {
		if row := fmt.Sprintf("| %d | %v |", r, r); !strings.Contains(doc, row) {
			t.Errorf("PROTOCOL.md has no row %q", row)
		}
	}
}

// TestProtocolDocument fails when the vectors of C1 in the document are not those of testdata, or one is missing.
func TestProtocolDocument(t *testing.T) {
	doc := protocolDoc(t)
	blocks := strings.Split(doc, "\n```vector ")[1:]
	shown := make(map[string]string)
	for _, block := range blocks {
		name, rest, _ := strings.Cut(block, "\n")
		text, _, closed := strings.Cut(rest, "```")
		if !closed {
			t.Fatalf("block %s is not closed", name)
		}
		shown["testdata/vectors/"+name] = text
	}
	vectors := readVectors(t, "vectors/c1/*.txt")
	for _, v := range vectors {
		text, err := os.ReadFile(v.file)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(string(text), "\r", ""); shown[v.file] != want {
			t.Errorf("%s in PROTOCOL.md is\n%s\nwant\n%s", v.file, shown[v.file], want)
		}
	}
	if len(shown) != len(vectors) {
		t.Errorf("PROTOCOL.md shows %d vectors, testdata has %d", len(shown), len(vectors))
	}
}

// TestProtocolNamesMessages checks that every message stands in the document under its number.
func TestProtocolNamesMessages(t *testing.T) {
	doc := protocolDoc(t)
	for id := range netproto.Kinds() {
		name, _, _ := strings.Cut(id.String(), " ")
		if row := fmt.Sprintf("| %d | %s |", id, name); !strings.Contains(doc, row) {
			t.Errorf("PROTOCOL.md has no row %q", row)
		}
	}
}

// TestProtocolStatesVerdictsAndLimits compares the remaining numbers of the document with the code.
func TestProtocolStatesVerdictsAndLimits(t *testing.T) {
	doc := protocolDoc(t)
	server, client := netproto.DefaultServerLimits(), netproto.DefaultClientLimits()
	rows := []string{
		fmt.Sprintf("| hello | %d KiB | – |", server.Hello>>10),
		fmt.Sprintf("| any other frame | %d MiB | %d MiB |", server.Frame>>20, client.Frame>>20),
		fmt.Sprintf("| one string | %d KiB | %d KiB |", server.String>>10, client.String>>10),
		fmt.Sprintf("| entries of a list | %d 000 | %d 000 |", server.List/1000, client.List/1000),
	}
	for v := compat.Accept; v <= compat.Maintenance; v++ {
		rows = append(rows, fmt.Sprintf("| %d | %v |", v, v))
	}
	for _, row := range rows {
		if !strings.Contains(doc, row) {
			t.Errorf("PROTOCOL.md has no row %q", row)
		}
	}
}

func protocolDoc(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r", "")
}

// TestOfferKey: offers differ from keys of engine clients, and are accepted by engine servers.
func TestOfferKey(t *testing.T) {
	if got := netproto.OfferKey(netproto.CapPipeline); got != 0xC1000101 {
		t.Errorf("an offer has key %#08x", got)
	}
	for range 1000 {
		if key := netproto.NewKey(); key>>16 == 0xC100 {
			t.Fatalf("key %#08x of an engine client is an offer", key)
		}
	}
	offer := &netproto.Handshake{Version: 2, Compatibility: "compat-A", Target: "Linux-x64", Key: 0xC1000101}
	m, err := serverConn(frame(t, netproto.G2a, offer), nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	got := m.(*netproto.Handshake)
	want := netproto.Handshake{Version: netproto.VersionC1, Capabilities: netproto.CapPipeline, Compatibility: "compat-A", Target: "Linux-x64", Offer: netproto.G2a}
	if got.Version != want.Version || got.Capabilities != want.Capabilities || got.Key != 0 || got.Offer != want.Offer {
		t.Errorf("read as %+v, want %+v", got, want)
	}
	if again := frame(t, netproto.G2a, netproto.Offered(got)); !slices.Equal(again, frame(t, netproto.G2a, offer)) {
		t.Errorf("back to %x", again)
	}
}
