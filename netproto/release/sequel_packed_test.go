package release_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"collet/netproto/release"
)

// packedVector is a packed sequel of three parts as docs/RELEASE-FORMAT.md describes it: a list and a head with the same
// digest, and an object.
const packedVector = "4351025b310228b52ffd21015b3d0100783701310a61622f012035020022317d07005cecc9038161e2169932415b62b35bc2905ca000020123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefabababababababababababababababababababababababababababababababab7061746368"

// bestVector holds the same parts, packed at zstd's best level as other publishers do.
const bestVector = "4351025b380228b52ffd21015b750100b4013701310a61622f0120350a0a0200227d7b226279746573223a317d050079305ca64cd096d8ec9630241728800123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefabababababababababababababababababababababababababababababababab7061746368"

func packedParts() []release.SequelPart {
	sum := strings.Repeat("0123456789abcdef", 4)
	return []release.SequelPart{
		{Name: "metadata/7.targets.json", Data: []byte(`{"sha256":"` + sum + `"}`)},
		{Name: "releases/" + sum + ".release", Data: []byte(`{"bytes":1}`)},
		{Name: "objects/ab/" + strings.Repeat("ab", 32), Data: []byte("patch")},
	}
}

// realParts are parts of the form of real ones: a list of n releases and a head with patches.
func realParts(n int) []release.SequelPart {
	sum := func(i int) string { return release.ObjectOf([]byte(fmt.Sprint(i))).Sum.Hex() }
	var list, patches []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"lathe/stable/Linux-x64/%d":{"custom":{"hold":false,"killed":false,"number":%d,"percent":100},"hashes":{"sha256":%q},"length":%d}`, i, i, sum(i), 900+i))
		patches = append(patches, fmt.Sprintf(`{"from":%q,"patch":{"sha256":%q,"size":%d}}`, sum(100+i), sum(200+i), 4000+17*i))
	}
	slices.Sort(list) // as the signed list has them
	sign := fmt.Sprintf(`{"signatures":[{"keyid":%q,"sig":"%s%s"}],"signed":`, sum(300), sum(301), sum(302))
	return []release.SequelPart{
		{Name: "metadata/12.snapshot.json", Data: []byte(sign + `{"_type":"snapshot","expires":"2027-02-22T18:42:49Z","meta":{"targets.json":{"hashes":{"sha256":"` + sum(303) + `"},"length":1307,"version":6}},"spec_version":"1.0.31","version":6}}`)},
		{Name: "metadata/11.targets.json", Data: []byte(sign + `{"_type":"targets","expires":"2027-11-24T18:42:49Z","spec_version":"1.0.31","targets":{` + strings.Join(list, ",") + `},"version":7}}`)},
		{Name: "releases/" + sum(n-1) + ".release", Data: []byte(`{"bytes":241072,"channel":"stable","compatibility":"","components":"","count":49,"format":1,"hostABI":0,"hostBuild":0,"patches":[` + strings.Join(patches, ",") + `],"target":"Linux-x64","version":"6"}`)},
		{Name: "objects/" + sum(205)[:2] + "/" + sum(205), Data: bytes.Repeat([]byte{1, 2, 255}, 500)},
	}
}

// nothingKnown is what a reader has that has nothing.
func nothingKnown() release.SequelReader { return release.SequelReader{} }

// readSequel reads a whole sequel, for a reader that has nothing.
func readSequel(data []byte) ([]release.SequelPart, error) { return readRelative(data, nothingKnown()) }

// readRelative reads a whole sequel, for a reader that has something.
func readRelative(data []byte, has release.SequelReader) ([]release.SequelPart, error) {
	r := bufio.NewReader(bytes.NewReader(data))
	parts, err := release.ReadSequelTable(r, func() release.SequelReader { return has })
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if parts[i].Data == nil {
			parts[i].Data = make([]byte, parts[i].Size)
			if _, err := io.ReadFull(r, parts[i].Data); err != nil {
				return nil, err
			}
		}
	}
	if n, _ := io.Copy(io.Discard, r); n > 0 {
		return nil, fmt.Errorf("%d bytes follow", n)
	}
	return parts, nil
}

func samePartsAs(t *testing.T, got, want []release.SequelPart) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d parts, want %d", len(got), len(want))
	}
	for i, p := range want {
		if got[i].Name != p.Name || got[i].Size != int64(len(p.Data)) || !bytes.Equal(got[i].Data, p.Data) {
			t.Errorf("part %d is %s of %d bytes: %.200q", i, got[i].Name, got[i].Size, got[i].Data)
		}
	}
}

func TestPackedSequelVector(t *testing.T) {
	t.Parallel()
	data, err := release.PackSequel(packedParts(), release.KnownData{})
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(data); got != packedVector {
		t.Errorf("%s\nwant %s", got, packedVector)
	}
	for _, vector := range []string{packedVector, bestVector} {
		data, _ := hex.DecodeString(vector)
		got, err := readSequel(data)
		if err != nil {
			t.Fatal(err)
		}
		samePartsAs(t, got, packedParts())
	}
}

// TestSequelDictionary: the dictionary is part of the format, as docs/RELEASE-FORMAT.md names it.
func TestSequelDictionary(t *testing.T) {
	t.Parallel()
	const want = "4538a0b8f152fa7109ee0f73186cd4f65e149fc1198b2c4c0e320365ca2f6183"
	if got := release.ObjectOf([]byte(release.SequelDictionary)).Sum.Hex(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPackedSequelSizes: the documents of an update cost little more than the digests in them.
func TestPackedSequelSizes(t *testing.T) {
	t.Parallel()
	for releases, most := range map[int]int{1: 620, 3: 900, 10: 1800, 300: 33_000} {
		parts := realParts(releases)
		for _, parts := range [][]release.SequelPart{parts, parts[:3], nil} {
			data, err := release.PackSequel(parts, release.KnownData{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := readSequel(data)
			if err != nil {
				t.Fatal(err)
			}
			samePartsAs(t, got, parts)
			if n := len(data); len(parts) == 3 && n > most {
				t.Errorf("%d releases take %d bytes, want at most %d", releases, n, most)
			}
		}
	}
}

func TestPackedSequelsThatAreNone(t *testing.T) {
	t.Parallel()
	for what, part := range map[string]release.SequelPart{
		"a control character": {Name: "metadata/7.targets.json", Data: []byte("a\x01b")},
		"another one":         {Name: "releases/a", Data: []byte("\x02")},
		"a name outside":      {Name: "release.toml", Data: []byte("a")},
	} {
		if _, err := release.PackSequel([]release.SequelPart{part}, release.KnownData{}); err == nil {
			t.Errorf("%s was written", what)
		}
	}
	good, err := release.PackSequel(packedParts(), release.KnownData{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(good) - len("patch") {
		var fault *release.FormatError
		if _, err := readSequel(good[:i]); !errors.As(err, &fault) {
			t.Fatalf("cut behind %d bytes: %v", i, err)
		}
	}
	for what, data := range map[string][]byte{
		"a text above the cap":  []byte("CQ\x02\x80\x80\x80\x02\x01\x00a"),
		"a frame above the cap": []byte("CQ\x02\x01\x80\x80\x80\x02\x00a"),
		"sums above the cap":    []byte("CQ\x02\x01\x01\x80\x80\x80\x02a"),
		"a frame that is none":  []byte("CQ\x02\x01\x01\x00a"),
		"another size":          append([]byte("CQ\x02\x7f"), good[4:]...),
	} {
		var fault *release.FormatError
		if _, err := readSequel(data); !errors.As(err, &fault) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzPackedSequel: damaged input is an error or gives parts within the caps.
func FuzzPackedSequel(f *testing.F) {
	for _, parts := range [][]release.SequelPart{packedParts(), realParts(2), nil} {
		data, err := release.PackSequel(parts, release.KnownData{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[3:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := release.ReadSequelTable(bufio.NewReader(bytes.NewReader(append([]byte("CQ\x02"), data...))), nothingKnown)
		if err != nil {
			var fault *release.FormatError
			if !errors.As(err, &fault) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		total := int64(0)
		for _, p := range parts {
			if total += p.Size; p.Size < 0 || total > release.MaxSequel || p.Data != nil && int64(len(p.Data)) != p.Size {
				t.Fatalf("%s has %d bytes, and %d of them", p.Name, p.Size, len(p.Data))
			}
		}
	})
}
