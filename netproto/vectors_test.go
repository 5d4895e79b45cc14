package netproto_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

// vector is one file of testdata: header lines, an empty line, hex.
type vector struct {
	file string
	head map[string][]string
	data []byte
}

func (v vector) one(key string) string {
	if len(v.head[key]) != 1 {
		return ""
	}
	return v.head[key][0]
}

func (v vector) generation(t testing.TB) netproto.Generation {
	g, err := netproto.ParseGeneration(v.one("generation"))
	if err != nil {
		t.Fatalf("%s: %v", v.file, err)
	}
	return g
}

// cipher is where in which stream the frame stands; 0, 0 for a plain one.
func (v vector) cipher(t testing.TB) (key uint32, offset int) {
	if v.one("key") == "" {
		return 0, 0
	}
	k, err := strconv.ParseUint(v.one("key"), 0, 32)
	if err != nil {
		t.Fatalf("%s: key: %v", v.file, err)
	}
	if v.one("offset") != "" {
		if offset, err = strconv.Atoi(v.one("offset")); err != nil {
			t.Fatalf("%s: offset: %v", v.file, err)
		}
	}
	return uint32(k), offset
}

func (v vector) side() netproto.Side {
	if v.one("from") == "client" {
		return netproto.ClientSide
	}
	return netproto.ServerSide
}

// parseVector splits the text of a vector file.
func parseVector(t testing.TB, file string, text []byte) vector {
	t.Helper()
	head, body, found := strings.Cut(string(text), "\n\n")
	if !found {
		t.Fatalf("%s: no empty line", file)
	}
	v := vector{file: file, head: make(map[string][]string)}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		v.head[key] = append(v.head[key], value)
	}
	data, err := hex.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	v.data = data
	return v
}

// readVectors reads the files that match pattern below testdata; there must be some.
func readVectors(t testing.TB, pattern string) []vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	var all []vector
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parseVector(t, filepath.ToSlash(file), bytes.ReplaceAll(text, []byte("\r"), nil)))
	}
	return all
}

// describe states the fields of a message as the vectors do.
func describe(t testing.TB, g netproto.Generation, m netproto.Message) []string {
	t.Helper()
	f := fmt.Sprintf
	switch m := m.(type) {
	case *netproto.Handshake:
		if g.Engine() {
			lines := []string{f("compatibility=%s", m.Compatibility), f("version=%d", m.Version), f("target=%s", m.Target), f("key=0x%08x", m.Key)}
			if g.Metadata() {
				lines = slices.Insert(lines, 1, f("metadata=%s", m.Metadata))
			}
			return lines
		}
		return []string{f("version=0x%08x", m.Version), f("capabilities=0x%08x", m.Capabilities),
			f("compatibility=%s", m.Compatibility), f("target=%s", m.Target), f("tail=%x", []byte(m.Tags))}
	case *netproto.HandshakeAnswer:
		if g.Engine() {
			lines := []string{f("compatibility outdated=%t", m.CompatibilityOutdated), f("updater outdated=%t", m.UpdaterOutdated), f("key=0x%08x", m.Key)}
			if g.Metadata() {
				lines = slices.Insert(lines, 2, f("metadata outdated=%t", m.MetadataOutdated), f("metadata=%s", m.Metadata))
			}
			return lines
		}
		return []string{f("version=0x%08x", m.Version), f("capabilities=0x%08x", m.Capabilities), f("verdict=%d", uint8(m.Verdict)),
			f("rule=%d", m.Rule), f("max portion=%d", m.MaxPortion), f("max in flight=%d", m.MaxInFlight),
			f("compatibility=%s", m.Compatibility), f("tail=%x", []byte(m.Tags))}
	case *netproto.InitData:
		return describeInitData(t, m)
	case *netproto.FileList:
		var lines []string
		for _, l := range m.Files {
			lines = append(lines, f("file %s size=%d sha256=%x role=%d index=%d tail=%x", l.Path, l.Size, l.SHA256, l.Role, l.Index, []byte(l.Tags)))
		}
		return append(lines, f("tail=%x", []byte(m.Tags)))
	case *netproto.Ping:
		return []string{f("answer=%t", m.Answer)}
	case *netproto.GetUpdateFile:
		return []string{f("index=%d", m.Index), f("offset=%d", m.Offset)}
	case *netproto.UpdateFileData:
		return []string{f("portion=%d crc32=%08x", len(m.Data), crc32.ChecksumIEEE(m.Data))}
	case *netproto.GetRange:
		return []string{f("request=%d", m.Request), f("index=%d", m.Index), f("offset=%d", m.Offset), f("length=%d", m.Length)}
	case *netproto.RangeData:
		return []string{f("request=%d", m.Request), f("offset=%d", m.Offset), f("data=%d crc32=%08x", len(m.Data), crc32.ChecksumIEEE(m.Data))}
	case *netproto.Refuse:
		return []string{f("reason=%d", uint8(m.Reason)), f("request=%d", m.Request), f("text=%s", m.Text)}
	case *netproto.Spread:
		return []string{f("connections=%d", m.Connections)}
	case *netproto.GetObject:
		return []string{f("request=%d", m.Request), f("name=%s", m.Name), f("offset=%d", m.Offset), f("length=%d", m.Length)}
	case *netproto.NoObject:
		return []string{f("request=%d", m.Request)}
	case *netproto.TimeSync:
		return []string{f("time=%d", m.Time)}
	case *netproto.HashList:
		var lines []string
		for _, s := range m.Strings {
			lines = append(lines, f("string=%s", s))
		}
		return lines
	case *netproto.InfoMessage:
		return []string{f("code=%d", m.Code), f("text=%s", m.Text)}
	case *netproto.Disconnect, *netproto.AskHello:
		return nil
	case *netproto.ComponentManifest:
		return describeManifest(&m.Manifest)
	default:
		t.Fatalf("no description of %T", m)
		return nil
	}
}

func describeManifest(m *compat.Manifest) []string {
	b := m.Build
	lines := []string{
		fmt.Sprintf("mode=%s", m.Mode),
		fmt.Sprintf("build logic=%d set=%016x time=%d number=%d id=%s branch=%s", b.Logic, b.Components, b.Time, b.Seq, b.ID, b.Branch),
	}
	for _, e := range m.Entries {
		name := e.Name
		if name == "" {
			name = fmt.Sprintf("#%016x", e.NameHash)
		}
		lines = append(lines, fmt.Sprintf("component %s id=%d hash=%016x changed=%d since=%d", name, e.WireID, e.Hash, e.ChangedAt, e.Since))
	}
	return lines
}

func describeInitData(t testing.TB, m *netproto.InitData) []string {
	lines := []string{fmt.Sprintf("descriptor=%d bytes", len(m.Descriptor))}
	entries, err := netproto.ParseDescriptor(m.Descriptor, netproto.DefaultClientLimits())
	if err != nil {
		t.Fatalf("descriptor: %v", err)
	}
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("entry %s size=%d hash=%016x role=%d index=%d", e.Name, e.Size, e.Hash, e.Role, e.Index))
	}
	for _, p := range m.Properties {
		lines = append(lines, fmt.Sprintf("property=%x", p))
	}
	return append(lines, fmt.Sprintf("time=%d", m.Time))
}

// TestVectors parses every recorded frame, compares what it says with what the recording says, and encodes it again.
func TestVectors(t *testing.T) {
	for _, v := range readVectors(t, "vectors/*/*.txt") {
		t.Run(v.file, func(t *testing.T) {
			g := v.generation(t)
			if folder := filepath.Base(filepath.Dir(v.file)); folder != strings.ToLower(g.String()) {
				t.Errorf("a vector of %v lies in %s", g, folder)
			}
			key, offset := v.cipher(t)
			m, err := netproto.DecodeFrame(g, key, offset, netproto.DefaultClientLimits(), v.data)
			if err != nil {
				t.Fatal(err)
			}
			if name, _, _ := strings.Cut(m.ID().String(), " "); name != v.one("message") {
				t.Errorf("message %s, want %s", name, v.one("message"))
			}
			if got := describe(t, g, m); !slices.Equal(got, v.head["want"]) {
				t.Errorf("fields\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(v.head["want"], "\n"))
			}
			again, err := netproto.EncodeFrame(g, key, offset, m)
			if err != nil || !bytes.Equal(again, v.data) {
				t.Errorf("encoded again: %v\n%x\nwant\n%x", err, again, v.data)
			}
		})
	}
}

// TestVectorsCoverEveryMessage fails when a layout is added without its bytes.
func TestVectorsCoverEveryMessage(t *testing.T) {
	seen := make(map[string]bool)
	for _, v := range readVectors(t, "vectors/*/*.txt") {
		seen[v.one("message")] = true
	}
	// InfoMessage was never recorded and has no vector; TestRoundTrip covers it.
	seen["InfoMessage"] = true
	for id := range netproto.Kinds() {
		if name, _, _ := strings.Cut(id.String(), " "); !seen[name] {
			t.Errorf("no vector of %v", id)
		}
	}
}

// TestDescriptorsEncodeToThemselves takes the descriptors out of the recorded lists.
func TestDescriptorsEncodeToThemselves(t *testing.T) {
	found := 0
	for _, v := range readVectors(t, "vectors/g1/*.txt") {
		key, offset := v.cipher(t)
		m, err := netproto.DecodeFrame(netproto.G1, key, offset, netproto.DefaultClientLimits(), v.data)
		if err != nil {
			t.Fatal(err)
		}
		list, isList := m.(*netproto.InitData)
		if !isList {
			continue
		}
		found++
		entries, err := netproto.ParseDescriptor(list.Descriptor, netproto.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := netproto.EncodeDescriptor(entries)
		if err != nil || !bytes.Equal(again, list.Descriptor) {
			t.Errorf("%s: %v\n%x\nwant\n%x", v.file, err, again, list.Descriptor)
		}
	}
	if found != 4 {
		t.Errorf("%d descriptors, want those of two recordings and two vectors", found)
	}
}

func TestKeystreamVectors(t *testing.T) {
	for _, v := range readVectors(t, "keystreams/*.txt") {
		key, _ := v.cipher(t)
		if got := netproto.KeyTable(key)[:len(v.data)]; !bytes.Equal(got, v.data) {
			t.Errorf("key 0x%08x: %x, want %x", key, got, v.data)
		}
	}
	// The published first output for the generator's default seed.
	if got := netproto.Mersenne(5489)[0]; got != 3499211612 {
		t.Errorf("first output of seed 5489 is %d", got)
	}
	if !bytes.Equal(netproto.KeyTable(0), make([]byte, 50)) {
		t.Error("key 0 enciphers")
	}
}

// TestZlibVector reads a stream of two flushed batches that another encoder made.
func TestZlibVector(t *testing.T) {
	v := readVectors(t, "zlib/two-batches.txt")[0]
	conn := netproto.NewConn(stream{Reader: bytes.NewReader(v.data)}, netproto.ClientSide, netproto.Limits{})
	if err := conn.SetGeneration(netproto.G1); err != nil {
		t.Fatal(err)
	}
	for _, want := range v.head["want"] {
		m, err := conn.Read()
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(m.ID().String(), " ")
		if got := strings.Join(append([]string{name}, describe(t, netproto.G1, m)...), " "); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	if _, err := conn.Read(); err == nil {
		t.Error("a third message")
	}
}

// TestEngineGenerationsShareLayouts reads every recorded frame, greetings aside, as one of each engine generation: the
// layouts of all of them are vouched for by the recordings of any.
func TestEngineGenerationsShareLayouts(t *testing.T) {
	for _, v := range readVectors(t, "vectors/g*/*.txt") {
		if name := v.one("message"); name == "Handshake" || name == "HandshakeAnswer" {
			continue
		}
		key, offset := v.cipher(t)
		for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
			m, err := netproto.DecodeFrame(g, key, offset, netproto.DefaultClientLimits(), v.data)
			if err != nil || !slices.Equal(describe(t, g, m), v.head["want"]) {
				t.Errorf("%s as %v: %v", v.file, g, err)
				continue
			}
			if again, err := netproto.EncodeFrame(g, key, offset, m); err != nil || !bytes.Equal(again, v.data) {
				t.Errorf("%s encoded as %v: %x, %v", v.file, g, again, err)
			}
		}
	}
}
