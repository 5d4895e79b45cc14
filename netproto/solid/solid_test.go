package solid_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"collet/netproto/solid"
	"collet/platform/testlevel"
)

// source is deterministic input.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 1))} }

// noise is n incompressible bytes.
func (s source) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return b
}

// words is n bytes of text.
func (s source) words(n int) (b []byte) {
	for len(b) < n {
		b = fmt.Appendf(b, "word%d ", s.IntN(3000))
	}
	return b[:n]
}

// edited is data with some bytes changed, removed and added.
func (s source) edited(data []byte, edits int) []byte {
	out := bytes.Clone(data)
	for range edits {
		at := s.IntN(len(out))
		switch s.IntN(3) {
		case 0:
			out[at] ^= 0x55
		case 1:
			out = append(out[:at], out[min(at+s.IntN(50), len(out)):]...)
		default:
			out = append(out[:at:at], append(s.words(s.IntN(50)), out[at:]...)...)
		}
	}
	return out
}

// groups are contents of groups by name.
func groups() map[string][]byte {
	s := newSource(7)
	text := s.words(200 << 10)
	return map[string][]byte{
		"one byte":  {1},
		"short":     []byte("hello"),
		"a window":  s.words(24),
		"zeros":     make([]byte, 3<<20),
		"period 3":  bytes.Repeat([]byte("abc"), 100_000),
		"text":      text,
		"versions":  bytes.Join([][]byte{text, s.edited(text, 200), s.edited(text, 20), text}, nil),
		"noise":     s.noise(2<<20 + 77),
		"mixed":     bytes.Join([][]byte{text, s.noise(1200 << 10), text, make([]byte, 20<<20), s.words(900 << 10), text}, nil),
		"shuffled":  bytes.Join([][]byte{text[100<<10:], text[:100<<10], text[50<<10 : 150<<10]}, nil),
		"one frame": make([]byte, solid.MaxFrame),
		"two":       make([]byte, solid.MaxFrame+1),
	}
}

func encode(t testing.TB, data []byte, effort solid.Effort) [][]byte {
	t.Helper()
	done := 0
	frames, err := solid.Encode(t.Context(), data, effort, func(n int) { done = n })
	if err != nil || done != len(data) {
		t.Fatalf("packed %d of %d: %v", done, len(data), err)
	}
	return frames
}

// decode decodes parts of a group.
func decode(parts [][]byte, size int) ([]byte, error) {
	d, err := solid.NewDecoder(int64(size), nil, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := d.Part(bytes.NewReader(p), int64(len(p)), nil); err != nil {
			return d.Data(), err
		}
	}
	if !d.Done() {
		return d.Data(), errors.New("incomplete")
	}
	return d.Data(), nil
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, data := range groups() {
		for _, effort := range []solid.Effort{solid.Fast, solid.Balanced, solid.Best} {
			if effort == solid.Best && len(data) > 1<<20 || effort == solid.Balanced && len(data) > solid.MaxFrame+1 && !testlevel.Full() {
				continue // a minute, and half of one
			}
			t.Run(fmt.Sprint(name, " ", int(effort)), func(t *testing.T) {
				t.Parallel()
				frames := encode(t, data, effort)
				for _, parts := range [][][]byte{frames, {bytes.Join(frames, nil)}} {
					got, err := decode(parts, len(data))
					if err != nil || !bytes.Equal(got, data) {
						t.Fatalf("%d of %d bytes came back: %v", len(got), len(data), err)
					}
				}
			})
		}
	}
}

// TestEveryPartDecodes: the contents of a part are there when it has been decoded, without the next one.
func TestEveryPartDecodes(t *testing.T) {
	t.Parallel()
	data := groups()["mixed"]
	frames := encode(t, data, solid.Fast)
	if len(frames) < 3 {
		t.Fatalf("only %d frames", len(frames))
	}
	d, err := solid.NewDecoder(int64(len(data)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		size, _ := binary.Uvarint(f)
		before := len(d.Data())
		if err := d.Part(bytes.NewReader(f), int64(len(f)), nil); err != nil || len(d.Data()) != before+int(size) {
			t.Fatalf("frame %d gave %d of %d bytes: %v", i, len(d.Data())-before, size, err)
		}
		if !bytes.Equal(d.Data(), data[:len(d.Data())]) {
			t.Fatalf("frame %d is wrong", i)
		}
	}
}

// TestSizes: matches over the whole group are found, and noise costs next to nothing.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"zeros": 100, "versions": 66 << 10, "noise": 2<<20 + 2<<10, "shuffled": 60 << 10} {
		size := 0
		for _, f := range encode(t, groups()[name], solid.Balanced) {
			size += len(f)
		}
		if size > limit {
			t.Errorf("%s: %d bytes, more than %d", name, size, limit)
		}
	}
}

func TestEncodeRejects(t *testing.T) {
	t.Parallel()
	if _, err := solid.Encode(t.Context(), nil, solid.Fast, nil); err == nil {
		t.Error("an empty group was packed")
	}
	for _, size := range []int64{0, -1, solid.MaxGroup + 1} {
		var own *solid.Error
		if _, err := solid.NewDecoder(size, nil, nil); !errors.As(err, &own) {
			t.Errorf("a group of %d bytes: %v", size, err)
		}
	}
}

// frame builds a frame of stored streams.
func frame(size, matches uint64, gaps, sizes, shifts, literals []byte) []byte {
	b := binary.AppendUvarint(nil, size)
	b = binary.AppendUvarint(b, matches)
	all := [][]byte{gaps, sizes, shifts, literals}
	for _, s := range all {
		if b = binary.AppendUvarint(b, uint64(len(s))); len(s) > 0 {
			b = binary.AppendUvarint(b, uint64(len(s))<<1)
		}
	}
	return append(b, bytes.Join(all, nil)...)
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	if got, err := decode([][]byte{frame(4, 1, []byte{2}, []byte{2}, []byte{8}, []byte("ab"))}, 4); err != nil || string(got) != "abab" {
		t.Fatalf("the good one: %q, %v", got, err)
	}
	good := encode(t, groups()["versions"], solid.Fast)
	one := bytes.Join(good, nil)
	for name, part := range map[string][]byte{
		"empty frame":             frame(0, 0, nil, nil, nil, nil),
		"larger than the group":   frame(5, 0, nil, nil, nil, []byte("abcde")),
		"too many matches":        frame(4, 5, nil, nil, nil, []byte("abcd")),
		"too few literals":        frame(4, 0, nil, nil, nil, []byte("abc")),
		"too many literals":       frame(4, 0, nil, nil, nil, []byte("abcde")),
		"literals left":           frame(4, 1, []byte{2}, []byte{2}, []byte{8}, []byte("abc")),
		"numbers left":            frame(4, 1, []byte{2, 0}, []byte{2}, []byte{8}, []byte("ab")),
		"no numbers":              frame(4, 1, nil, nil, nil, []byte("abcd")),
		"shift of 0":              frame(4, 1, []byte{2}, []byte{2}, []byte{1}, []byte("ab")),
		"shift before the group":  frame(4, 1, []byte{2}, []byte{2}, []byte{12}, []byte("ab")),
		"shift below 0":           frame(4, 1, []byte{2}, []byte{2}, []byte{2}, []byte("ab")),
		"recent shift 16":         frame(4, 1, []byte{2}, []byte{2}, []byte{33}, []byte("ab")),
		"gap behind the frame":    frame(4, 1, []byte{5}, []byte{2}, []byte{8}, []byte("ab")),
		"match behind the frame":  frame(4, 1, []byte{2}, []byte{3}, []byte{8}, []byte("ab")),
		"huge shift":              frame(4, 1, []byte{2}, []byte{2}, binary.AppendUvarint(nil, 1<<63), []byte("ab")),
		"bytes behind the group":  append(frame(4, 0, nil, nil, nil, []byte("abcd")), 1),
		"stream behind the part":  {4, 0, 0, 0, 0, 4, 8, 'a'},
		"stored of another size":  {4, 0, 0, 0, 0, 4, 6, 'a', 'b', 'c'},
		"cut off in its header":   {4, 0, 0},
		"brotli of large windows": {4, 0, 0, 0, 0, 4, 9, 0x11, 0, 0, 0},
		"number without an end":   bytes.Repeat([]byte{0x80}, 40),
	} {
		var own *solid.Error
		if got, err := decode([][]byte{part}, 4); !errors.As(err, &own) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	size := len(groups()["versions"])
	for at := 0; at < len(one); at += max(testlevel.Stride(2003, 20011), 101) {
		var own *solid.Error
		if _, err := decode([][]byte{one[:at]}, size); at > 0 && err.Error() != "incomplete" && !errors.As(err, &own) {
			t.Errorf("cut at %d: %v", at, err)
		}
		wrong := bytes.Clone(one)
		wrong[at] ^= 1 << (at % 8)
		if _, err := decode([][]byte{wrong}, size); err != nil && err.Error() != "incomplete" && !errors.As(err, &own) {
			t.Errorf("bit at %d: %v", at, err)
		}
	}
}

// brokenReader fails after some bytes.
type brokenReader struct {
	*bytes.Reader
	after int64
}

var errBroken = errors.New("broken disk")

func (b brokenReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.after {
		return 0, errBroken
	}
	return b.Reader.ReadAt(p, off)
}

func TestReaderFails(t *testing.T) {
	t.Parallel()
	data := groups()["text"]
	part := bytes.Join(encode(t, data, solid.Fast), nil)
	for _, after := range []int64{0, 1000, int64(len(part) / 2)} {
		d, err := solid.NewDecoder(int64(len(data)), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Part(brokenReader{bytes.NewReader(part), after}, int64(len(part)), nil); !errors.Is(err, errBroken) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
}

var update = flag.Bool("update", false, "write the golden vector")

// TestVector: the frames of a group never change for a quality of brotli, here 9, and parts of today are readable for ever.
func TestVector(t *testing.T) {
	t.Parallel()
	const name = "testdata/group.txt"
	s := newSource(3)
	text := s.words(20 << 10)
	data := bytes.Join([][]byte{text, s.edited(text, 12), text[5000:9000]}, nil)
	sum := sha256.Sum256(data)
	part := bytes.Join(encode(t, data, solid.Effort(9)), nil)
	text = fmt.Appendf(nil, "%d %x\n%s", len(data), sum, lines(part))
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(golden, text) {
		t.Fatalf("the part is not that of %s: %v", name, err)
	}
	rest := bytes.Join(bytes.Fields(golden)[2:], nil)
	kept := make([]byte, len(rest)/2)
	if _, err := hex.Decode(kept, rest); err != nil {
		t.Fatal(err)
	}
	if got, err := decode([][]byte{kept}, len(data)); err != nil || sha256.Sum256(got) != sum {
		t.Fatalf("the golden part does not decode: %v", err)
	}
}

func lines(data []byte) (text []byte) {
	for len(data) > 0 {
		n := min(len(data), 64)
		text = fmt.Appendf(text, "%x\n", data[:n])
		data = data[n:]
	}
	return text
}

func FuzzPart(f *testing.F) {
	s := newSource(5)
	text := s.words(5000)
	for _, data := range [][]byte{text, append(text, text[100:3000]...), s.noise(3000), make([]byte, 3000)} {
		frames, err := solid.Encode(f.Context(), data, solid.Fast, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Join(frames, nil), len(data))
	}
	f.Fuzz(func(t *testing.T, part []byte, size int) {
		if size > 1<<20 {
			return
		}
		var own *solid.Error
		got, err := decode([][]byte{part}, size)
		if err != nil && err.Error() != "incomplete" && !errors.As(err, &own) || len(got) > max(size, 0) {
			t.Fatalf("%d of %d bytes: %v", len(got), size, err)
		}
	})
}
