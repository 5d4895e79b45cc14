package release_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"collet/netproto/release"
)

// pattern is n bytes of f.
func pattern(n int, f func(i int) int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(f(i))
	}
	return data
}

// fnvVectors are those of the engine: the value, and its bytes on the engine's wire.
var fnvVectors = []struct {
	name  string
	data  []byte
	value string
	wire  string
}{
	{"empty", nil, "cbf29ce484222325", "25232284e49cf2cb"},
	{"a", []byte("a"), "af63dc4c8601ec8c", "8cec01864cdc63af"},
	{"foobar", []byte("foobar"), "85944171f73967e8", "e86739f771419485"},
	{"70000 bytes, i mod 251", pattern(70_000, func(i int) int { return i % 251 }), "fff2053e8f7ad110", "10d17a8f3e05f2ff"},
	{"65536 bytes, i mod 251", pattern(65_536, func(i int) int { return i % 251 }), "7df71ef445707abc", "bc7a7045f41ef77d"},
	{"70000 bytes, 37i+11", pattern(70_000, func(i int) int { return 37*i + 11 }), "f2f95ede999149b5", "b5499199de5ef9f2"},
}

// shaVectors are known from the standard.
var shaVectors = []struct{ data, sum string }{
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
}

func TestFNVVectors(t *testing.T) {
	t.Parallel()
	for _, v := range fnvVectors {
		d, err := release.FNV1a64.DigestOf(bytes.NewReader(v.data))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.String(), "fnv1a64:"+v.value; got != want {
			t.Errorf("%s: %s, want %s", v.name, got, want)
		}
		sum, ok := d.FNV()
		if wire := hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, sum)); !ok || wire != v.wire {
			t.Errorf("%s: on the wire %s, want %s", v.name, wire, v.wire)
		}
		if release.FNVDigest(sum) != d {
			t.Errorf("%s: FNVDigest of its sum is another digest", v.name)
		}
		if _, ok := d.SHA256(); ok {
			t.Errorf("%s: passes for SHA-256", v.name)
		}
	}
}

func TestSHA256Vectors(t *testing.T) {
	t.Parallel()
	for _, v := range shaVectors {
		d, err := release.SHA256.DigestOf(strings.NewReader(v.data))
		if err != nil {
			t.Fatal(err)
		}
		sum, ok := d.SHA256()
		if got, want := d.String(), "sha256:"+v.sum; got != want || !ok || hex.EncodeToString(sum[:]) != v.sum {
			t.Errorf("%q: %s, want %s", v.data, got, want)
		}
		if release.SHA256Digest(sum) != d {
			t.Errorf("%q: SHA256Digest of its sum is another digest", v.data)
		}
		if _, ok := d.FNV(); ok {
			t.Errorf("%q: passes for FNV", v.data)
		}
	}
}

// TestStreamingIsTheSame: sizes around the borders of blocks and buffers, in one piece, byte by byte and in odd pieces.
func TestStreamingIsTheSame(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 3, 4, 15, 16, 17, 47, 48, 49, 63, 64, 65, 96, 97, 32_768, 32_769, 70_000} {
		data := pattern(size, func(i int) int { return i % 251 })
		h := fnv.New64a()
		h.Write(data)
		want := map[release.Algorithm]release.Digest{
			release.SHA256: release.SHA256Digest(sha256.Sum256(data)), release.FNV1a64: release.FNVDigest(h.Sum64()),
		}
		for a, digest := range want {
			for name, r := range map[string]io.Reader{
				"whole": bytes.NewReader(data), "byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
				"halves": iotest.HalfReader(bytes.NewReader(data)), "end with data": iotest.DataErrReader(bytes.NewReader(data)),
			} {
				if got, err := a.DigestOf(r); err != nil || got != digest {
					t.Errorf("%s of %d bytes, %s: %s, %v", a, size, name, got, err)
				}
			}
			pieces := a.NewHash()
			for rest := data; len(rest) > 0; {
				n := min(7, len(rest))
				pieces.Write(rest[:n])
				rest = rest[n:]
			}
			if got := a.SumOf(pieces); got != digest {
				t.Errorf("%s of %d bytes in sevens: %s", a, size, got)
			}
		}
	}
}

func TestDigestOfABrokenReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for _, a := range []release.Algorithm{release.SHA256, release.FNV1a64} {
		d, err := a.DigestOf(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || !d.IsZero() {
			t.Errorf("%s: %s, %v", a, d, err)
		}
	}
}

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for a, want := range map[release.Algorithm]struct {
		number uint8
		name   string
	}{release.NoDigest: {0, "none"}, release.SHA256: {1, "sha256"}, release.FNV1a64: {2, "fnv1a64"}, 9: {9, "none"}} {
		if uint8(a) != want.number || a.String() != want.name {
			t.Errorf("algorithm %d is %q, want %d %q", a, a, want.number, want.name)
		}
	}
	defer func() {
		if got := recover(); got == nil || !strings.Contains(got.(string), "internal error") {
			t.Errorf("a hash of no algorithm: %v", got)
		}
	}()
	release.NoDigest.NewHash()
}

func TestDigestIsAComparableValue(t *testing.T) {
	t.Parallel()
	var zero release.Digest
	sha, fnvSum := release.SHA256Digest([32]byte{}), release.FNVDigest(0)
	if !zero.IsZero() || sha.IsZero() || fnvSum.IsZero() {
		t.Error("only the zero value is unknown")
	}
	if sha == zero || fnvSum == zero || sha == fnvSum {
		t.Error("digests of nothing but zeros are told apart by their algorithm")
	}
	if map[release.Digest]bool{sha: true}[release.SHA256Digest([32]byte{})] != true {
		t.Error("a digest is no key")
	}
}

var badDigests = []string{
	"", ":", "none:", "none", "sha256", "sha256:", "fnv1a64:", "fnv1a64:cbf29ce48422232", "fnv1a64:cbf29ce4842223250",
	"fnv1a64:CBF29CE484222325", "fnv1a64:cbf29ce48422232g", "FNV1A64:cbf29ce484222325", " fnv1a64:cbf29ce484222325",
	"fnv1a64:cbf29ce484222325 ", "fnv1a64:cbf29ce484222325\n", "fnv1a64::bf29ce484222325", "sha256:cbf29ce484222325",
	"fnv1a64:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85",
	"sha256:E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"md5:d41d8cd98f00b204e9800998ecf8427e", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
}

func TestParseDigest(t *testing.T) {
	t.Parallel()
	for _, d := range []release.Digest{release.SHA256Digest(sha256.Sum256(nil)), release.FNVDigest(1), release.SHA256Digest([32]byte{31: 1})} {
		if got, err := release.ParseDigest(d.String()); err != nil || got != d {
			t.Errorf("%s read back as %s, %v", d, got, err)
		}
	}
	for _, s := range badDigests {
		if d, err := release.ParseDigest(s); err == nil || !d.IsZero() {
			t.Errorf("%q was taken for %s", s, d)
		}
	}
}

func TestDigestInJSON(t *testing.T) {
	t.Parallel()
	type row struct{ A, B, C release.Digest }
	in := row{A: release.FNVDigest(0x85944171f73967e8), B: release.SHA256Digest(sha256.Sum256(nil))}
	text, err := json.Marshal(in)
	const want = `{"A":"fnv1a64:85944171f73967e8","B":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","C":""}`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
	out := row{C: release.FNVDigest(7)} // the empty text clears what was there
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("read back %+v, %v", out, err)
	}
	if text, err := json.Marshal(release.Digest{Algorithm: 9}); err == nil {
		t.Errorf("an algorithm that can't be read back was written as %s", text)
	}
}

// TestFailedUnmarshalWritesNothing: a half-read digest is worse than none.
func TestFailedUnmarshalWritesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range badDigests[1:] { // the empty text is the zero digest
		d := release.FNVDigest(7)
		if err := d.UnmarshalText([]byte(s)); err == nil || d != release.FNVDigest(7) {
			t.Errorf("%q left %s, %v", s, d, err)
		}
	}
}

// FuzzParseDigest: whatever is read prints as it stood, and nothing else is read.
func FuzzParseDigest(f *testing.F) {
	for _, s := range badDigests {
		f.Add(s)
	}
	for _, v := range fnvVectors {
		f.Add("fnv1a64:" + v.value)
	}
	for _, v := range shaVectors {
		f.Add("sha256:" + v.sum)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := release.ParseDigest(s)
		if err != nil {
			if !d.IsZero() {
				t.Fatalf("%q: refused, and still %s", s, d)
			}
			return
		}
		if d.String() != s || d.IsZero() {
			t.Fatalf("%q read as %s", s, d)
		}
		text, err := d.MarshalText()
		var again release.Digest
		if err != nil || again.UnmarshalText(text) != nil || again != d {
			t.Fatalf("%q: written as %q and read as %s, %v", s, text, again, err)
		}
	})
}

// TestWriteHashed hashes small and large writes, and returns the result of the write.
func TestWriteHashed(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	for _, step := range []int{1000, 64<<10 - 1, 64 << 10, len(data)} {
		sum, out := release.SHA256.NewHash(), new(bytes.Buffer)
		for rest := data; len(rest) > 0; {
			b := rest[:min(step, len(rest))]
			rest = rest[len(b):]
			if n, err := release.WriteHashed(out.Write, sum, b); n != len(b) || err != nil {
				t.Fatalf("%d bytes of %d, %v", n, len(b), err)
			}
		}
		if release.SHA256.SumOf(sum) != release.ObjectOf(data).Sum || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("writes of %d bytes: another sum, or other bytes", step)
		}
	}
	full := errors.New("full")
	for _, b := range [][]byte{data[:10], data} {
		if n, err := release.WriteHashed(func([]byte) (int, error) { return 3, full }, release.SHA256.NewHash(), b); n != 3 || err != full {
			t.Errorf("%d bytes: %d, %v", len(b), n, err)
		}
	}
}
