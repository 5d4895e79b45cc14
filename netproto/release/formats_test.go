package release_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/cjson"

	"collet/netproto/release"
	"collet/platform/testlevel"
)

// sha is the digest of a text.
func sha(text string) release.Digest {
	d, err := release.SHA256.DigestOf(strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	return d
}

func object(text string) release.Object { return release.ObjectOf([]byte(text)) }

// fullHead uses every field.
func fullHead() release.Head {
	return release.Head{
		Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: 8, Version: `1.8 "Ёж" \ fixed`,
		Compatibility: "lathe 7", Logic: 41, Components: "00ff", HostABI: 3, HostBuild: 12,
		Published: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Bytes:     10_000_000_000, Count: 3,
		Listing: release.Packed{Sum: sha("listing"), Size: 7, Object: object("packed")},
		Sources: object("sources"), Changes: object("changes"),
		Patches: []release.PatchRef{{From: sha("6"), Object: object("6 to 8")}, {From: sha("7"), Object: object("7 to 8")}},
		Notes:   map[string]release.Object{"en": object("new teeth"), "de": object("neue Zähne"), "pt-BR": object("dentes")},
		Mirrors: []string{"https://cdn.example.org/lathe", "http://192.0.2.7:8080/"},
	}
}

// smallHead uses as little as is allowed.
func smallHead() release.Head {
	return release.Head{
		Product: "p", Channel: "c", Target: "t", Number: 1, Version: "1", Published: time.Unix(0, 0).UTC(),
		Listing: release.Packed{Sum: sha("[]"), Size: 2, Object: object("packed")}, Sources: object("sources"),
	}
}

func fullListing() release.Listing {
	return release.NewListing([]release.ListedFile{
		{Path: "Lathe.so.dbg", Use: release.UseCompanion, Size: 9, Mode: release.PlainMode, Sum: sha("symbols")},
		{Path: "Core.zip", Use: release.UseResource, Size: 4, Mode: release.PlainMode, Sum: sha("core")},
		{Path: "Ресурсы/Карта.zip", Use: release.UseResource, Size: 0, Mode: release.PlainMode, Sum: sha("")},
		{Path: "Lathe.so", Use: release.UseRuntime, Size: release.MaxFile, Mode: release.ProgramMode, Sum: sha("module")},
		{Path: "Host.dbg", Use: release.UseHost, Size: 1, Mode: release.PlainMode, Sum: sha("host")},
	})
}

func fullSources() release.Sources {
	return release.NewSources([]release.Source{
		{Content: sha("core"), Whole: object("core packed"), Encoding: release.EncodedZstd},
		{Content: sha("module"), Whole: object("module packed"), Encoding: release.EncodedZstd, Index: object("index"), Entry: 5},
		{Content: sha("stored"), Whole: object("stored"), Encoding: release.EncodedStored, Index: object("index"), Entry: 0},
	})
}

// format is one kind of document: how bytes are read and written again.
type format struct {
	name  string
	again func([]byte) ([]byte, error)
	limit int
}

var formats = []format{
	{"head", func(b []byte) ([]byte, error) { return again(release.ParseHead(b)) }, release.MaxHead},
	{"listing", func(b []byte) ([]byte, error) { return again(release.ParseListing(b)) }, release.MaxListing},
	{"sources", func(b []byte) ([]byte, error) { return again(release.ParseSources(b)) }, release.MaxSources},
}

func again[T interface{ Encode() ([]byte, error) }](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return v.Encode()
}

// goldens are the vectors in testdata/golden. Changing one is a new format.
var goldens = []struct {
	file   string
	format int
	value  interface{ Encode() ([]byte, error) }
}{
	{"head-full.json", 0, fullHead()},
	{"head-small.json", 0, smallHead()},
	{"listing-full.json", 1, fullListing()},
	{"listing-empty.json", 1, release.Listing(nil)},
	{"sources-full.json", 2, fullSources()},
	{"sources-empty.json", 2, release.Sources(nil)},
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGoldenDocuments(t *testing.T) {
	t.Parallel()
	for _, g := range goldens {
		want := golden(t, g.file)
		got, err := g.value.Encode()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: wrote %s\n%v\nwant  %s", g.file, got, err, want)
		}
		back, err := formats[g.format].again(want)
		if err != nil || !bytes.Equal(back, want) {
			t.Errorf("%s: read and written again %s, %v", g.file, back, err)
		}
	}
}

// TestOthersAgreeOnTheForm: the canonical JSON of TUF's library gives the same bytes, so any implementation can check a digest.
func TestOthersAgreeOnTheForm(t *testing.T) {
	t.Parallel()
	for _, g := range goldens {
		want := golden(t, g.file)
		var generic any
		d := json.NewDecoder(bytes.NewReader(want))
		d.UseNumber()
		if err := d.Decode(&generic); err != nil {
			t.Fatalf("%s: %v", g.file, err)
		}
		if got, err := cjson.EncodeCanonical(generic); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: another library writes %s, %v", g.file, got, err)
		}
	}
}

// TestEveryByteCounts: a document that is cut anywhere, or followed by anything, is refused with the place.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	for _, g := range goldens {
		data, again := golden(t, g.file), formats[g.format].again
		for n := range len(data) {
			if _, err := again(data[:n]); formatFault(err) == nil {
				t.Fatalf("%s cut at %d: %v", g.file, n, err)
			} else if at := formatFault(err).Offset; at > n {
				t.Fatalf("%s cut at %d: fault at %d", g.file, n, at)
			}
		}
		for _, more := range []string{" ", "\n", "{}", "\x00", "]"} {
			if _, err := again(append(bytes.Clone(data), more...)); formatFault(err) == nil || formatFault(err).Offset != len(data) {
				t.Errorf("%s followed by %q: %v", g.file, more, err)
			}
		}
	}
}

// TestNoTwoForms: whatever single byte is changed, of every second one where enumerations are sampled, the document is refused or means something else that is canonical, too.
func TestNoTwoForms(t *testing.T) {
	t.Parallel()
	for _, g := range goldens {
		data, again := golden(t, g.file), formats[g.format].again
		for i := 0; i < len(data); i += testlevel.Stride(2, 7) {
			for _, b := range []byte(" 0a\"\\{}[],:\xff\x00Z") {
				changed := bytes.Clone(data)
				changed[i] = b
				if back, err := again(changed); err == nil && !bytes.Equal(back, changed) {
					t.Fatalf("%s with %q at %d was taken, and written as %s", g.file, b, i, back)
				}
			}
		}
	}
}

func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	largest := 0
	for _, f := range formats {
		largest = max(largest, f.limit)
	}
	brackets := bytes.Repeat([]byte("["), largest+1)
	for _, f := range formats {
		if _, err := f.again(brackets[:f.limit+1]); formatFault(err) == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s beyond its size: %v", f.name, err)
		}
		if _, err := f.again(brackets[:f.limit]); formatFault(err) == nil {
			t.Errorf("%s of brackets: %v", f.name, err)
		}
	}
}

// fuzzFormat: what is read is written as it stood, and what is refused is the peer's fault.
func fuzzFormat(f *testing.F, n int) {
	for _, g := range goldens {
		if g.format == n {
			f.Add(golden(f, g.file))
		}
	}
	fuzzAgain(f, formats[n].again)
}

func fuzzAgain(f *testing.F, again func([]byte) ([]byte, error)) {
	f.Fuzz(func(t *testing.T, data []byte) {
		back, err := again(data)
		switch {
		case err == nil && !bytes.Equal(back, data):
			t.Fatalf("read %q, wrote %q", data, back)
		case err != nil && formatFault(err) == nil && pathFault(err) == nil && !isNewFormat(err):
			t.Fatalf("%q: %T %v", data, err, err)
		}
	})
}

func FuzzParseHead(f *testing.F)    { fuzzFormat(f, 0) }
func FuzzParseListing(f *testing.F) { fuzzFormat(f, 1) }
func FuzzParseSources(f *testing.F) { fuzzFormat(f, 2) }

// FuzzNumbers: the highest release numbers seen, which lie where a player, or a program of the player's, may change them.
func FuzzNumbers(f *testing.F) {
	f.Add([]byte(`{"numbers":[],"signers":[]}`))
	f.Add([]byte(`{"numbers":[{"channel":"stable","number":7,"product":"lathe","target":"linux-amd64"}],"signers":["00ff"]}`))
	f.Add([]byte(`{"numbers":[{"channel":"stable","number":9007199254740993,"product":"","target":"x"}],"signers":[]}`))
	fuzzAgain(f, func(b []byte) ([]byte, error) { return again(release.ParseNumbers(b)) })
}

// TestDocumentationIsComplete: every key of a document and every cap stands in docs/RELEASE-FORMAT.md, in its section.
func TestDocumentationIsComplete(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/RELEASE-FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, words := range map[string][]string{
		"Head": append(keysOf(t, golden(t, "head-full.json")), "64 KiB", "up to 200 000", "up to 16 http", "up to 64", "1 to 64 of letters"),
		"Listing": append(keysOf(t, golden(t, "listing-full.json")), "64 MiB", "200 000", "420", "493", "240 bytes", "1 TiB",
			string(release.UseResource), string(release.UseRuntime), string(release.UseCompanion), string(release.UseHost)),
		"Sources": append(keysOf(t, golden(t, "sources-full.json")), "64 MiB", string(release.EncodedZstd), string(release.EncodedStored), string(release.EncodedBrotli)),
		"Changes": {"1 to 512", "8 MiB", "24 MiB", "64 KiB", "32 KiB", "half", "`stored`, 1 `zstd`, 2 `brotli`", "0 `resource`, 1 `runtime`, 2 `companion`, 3 `host`"},
		"Trust": {"`hold`", "`killed`", "`number`", "`percent`", "64 KiB", "4 KiB", "2 MiB", "4000", "16 levels", "14 days", "x-development",
			"numbers.json", ".unverified", "10 000", "COLLET ENCRYPTED PRIVATE KEY", "COLLET DEVELOPMENT PUBLIC KEY", "N = 2^17"},
	} {
		_, text, found := strings.Cut(string(data), "\n## "+section+"\n")
		if text, _, _ = strings.Cut(text, "\n## "); !found {
			t.Errorf("there is no section %s", section)
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s says nothing of %s", section, word)
			}
		}
	}
}

// keysOf lists the keys of a document, or of the entries of a list, as they stand in a table.
func keysOf(t *testing.T, data []byte) (keys []string) {
	t.Helper()
	var list []map[string]json.RawMessage
	if data[0] == '{' {
		data = append(append([]byte("["), data...), ']')
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		for key := range entry {
			keys = append(keys, "| `"+key+"` |")
		}
	}
	return keys
}
