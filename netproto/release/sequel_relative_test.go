package release_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"collet/netproto/release"
)

// relativeVector is packedParts for a reader that has release 1 of realList, a head that is their digest, and a key, as
// docs/RELEASE-FORMAT.md describes it. knownVector is its known data.
const (
	knownVector    = `{"keyid":"00","sig":"` + `"lathe/stable/Linux-x64/1":{"custom":{"hold":false,"killed":false,"number":1,"percent":100},"hashes":{"sha256":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},"length":901},` + headVector
	headVector     = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	relativeVector = "435103c8f032a1016b86b27301d801360128b52ffd2101d86501006037310a61622f01203522317d0a00efbb49d590f0b10860906f3934135c206f311581ae10a1b930ee392882abababababababababababababababababababababababababababababababab7061746368"
)

// realList are n releases of one track, in rising order, with the digests of realParts.
func realList(n int) (list []release.Entry) {
	for i := range n {
		o := release.ObjectOf([]byte(fmt.Sprint(i + 1)))
		list = append(list, release.Entry{Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: uint64(i + 1), Percent: 100, Head: release.Object{Sum: o.Sum, Size: int64(901 + i)}})
	}
	return list
}

func TestRelativeSequelVector(t *testing.T) {
	t.Parallel()
	has := release.SequelReader{List: realList(1), Head: []byte(headVector), Keys: []string{"00"}}
	known := release.MakeKnownData([][]release.Entry{has.List}, has)
	if got := known.Text(); got != knownVector {
		t.Errorf("%s\nwant %s", got, knownVector)
	}
	data, err := release.PackSequel(packedParts(), known)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(data); got != relativeVector {
		t.Errorf("%s\nwant %s", got, relativeVector)
	}
	vector, _ := hex.DecodeString(relativeVector)
	got, err := readRelative(vector, has)
	if err != nil {
		t.Fatal(err)
	}
	samePartsAs(t, got, packedParts())
}

func TestRelativeSequelPath(t *testing.T) {
	t.Parallel()
	e := release.Entry{Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: 7}
	const want = "sequels/97516fd0360b7e0b27f96b8f6cb79e05c3cfe87802cda81d2bf0f1dac2c0e237.sequel" // sha256 of lathe/stable/Linux-x64/7/relative
	if got := e.RelativeSequelPath(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRelativeSequels: what a reader has more changes nothing, what it lacks is an error, and the size does not grow.
func TestRelativeSequels(t *testing.T) {
	t.Parallel()
	for _, releases := range []int{3, 30, 300} {
		parts, list := realParts(releases+1), realList(releases)
		head := parts[2].Data
		known := list[1 : releases-1] // the first has been dropped, and the last is new
		has := release.SequelReader{List: list[:releases-1], Head: head, Keys: []string{release.ObjectOf([]byte("300")).Sum.Hex()}}
		data, err := release.PackSequel(parts, release.MakeKnownData([][]release.Entry{known}, has))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(data) - len(parts[3].Data); n > 620 {
			t.Errorf("%d releases take %d bytes", releases, n)
		}
		others := slices.Clone(list[:releases-1])
		for i := range others {
			others[i].Channel = "beta"
			others[i].Head = release.ObjectOf([]byte(fmt.Sprint("beta", i)))
		}
		changed := slices.Clone(has.List)
		changed[1].Hold, changed[1].Percent = true, 7
		for what, list := range map[string][]release.Entry{
			"its list": has.List, "a later list": list, "another channel": slices.Concat(others, has.List), "other conditions": changed, "another order": reversed(has.List),
		} {
			got, err := readRelative(data, release.SequelReader{List: list, Head: head, Keys: has.Keys})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			samePartsAs(t, got, parts)
		}
		for what, reader := range map[string]release.SequelReader{
			"nothing":           {},
			"an earlier list":   {List: list[:releases-2], Head: head, Keys: has.Keys},
			"the first dropped": {List: list[2 : releases-1], Head: head, Keys: has.Keys},
			"no head":           {List: has.List, Keys: has.Keys},
			"other keys":        {List: has.List, Head: head},
			"another channel":   {List: others, Head: head, Keys: has.Keys},
		} {
			if _, err := readRelative(data, reader); !errors.Is(err, release.ErrOtherKnownData) {
				t.Errorf("%d releases, %s: %v", releases, what, err)
			}
		}
	}
}

func reversed(list []release.Entry) []release.Entry {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func TestRelativeSequelsThatAreNone(t *testing.T) {
	t.Parallel()
	vector, err := hex.DecodeString(relativeVector)
	if err != nil {
		t.Fatal(err)
	}
	has := release.SequelReader{List: realList(1), Head: []byte(headVector), Keys: []string{"00"}}
	for i := range len(vector) - len("patch") {
		var fault *release.FormatError
		if _, err := readRelative(vector[:i], has); !errors.As(err, &fault) {
			t.Fatalf("cut behind %d bytes: %v", i, err)
		}
	}
	run := "\x6b\x86\xb2\x73\x01"
	for what, data := range map[string]string{
		"too many runs":                 "\xa1\x1f",
		"a run that is too long":        "\x01\x6b\x86\xb2\x73\xa1\x1f",
		"runs that are too long, added": "\x02" + run + "\x6b\x86\xb2\x73\xa0\x1f",
		"a count of two bytes":          "\x81\x00" + run,
	} {
		var fault *release.FormatError
		if _, err := readRelative([]byte("CQ\x03mark"+data), has); !errors.As(err, &fault) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, data := range map[string]string{
		"another mark":        "\x01" + run,
		"an empty run":        "\x01\x6b\x86\xb2\x73\x00",
		"an unknown run":      "\x01\x6b\x86\xb2\x74\x01",
		"more than there are": "\x01\x6b\x86\xb2\x73\x02",
	} {
		if _, err := readRelative([]byte("CQ\x03mark"+data), has); !errors.Is(err, release.ErrOtherKnownData) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzRelativeSequel: damaged input is an error, or gives parts within the caps.
func FuzzRelativeSequel(f *testing.F) {
	has := release.SequelReader{List: realList(3), Head: []byte("head"), Keys: []string{strings.Repeat("ab", 32)}}
	data, err := release.PackSequel(realParts(4), release.MakeKnownData([][]release.Entry{has.List[:1], has.List[1:]}, has))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[3:])
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := release.ReadSequelTable(bufio.NewReader(bytes.NewReader(append([]byte("CQ\x03"), data...))), func() release.SequelReader { return has })
		if err != nil {
			var fault *release.FormatError
			if !errors.As(err, &fault) && !errors.Is(err, release.ErrOtherKnownData) {
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
