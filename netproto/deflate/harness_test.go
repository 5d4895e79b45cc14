package deflate

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"collet/platform/testlevel"
)

// sample is content of a kind: text, numbers, noise, zeros or a mixture. The same seed gives the same bytes.
func sample(kind string, seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < size {
		switch kind {
		case "text":
			for range 40 {
				fmt.Fprintf(&b, "%s%d ", [...]string{"const ", "return ", "this.value = ", "function(", "});\n", "x", "  "}[r.IntN(7)], r.IntN(50))
			}
		case "numbers":
			for i := range 60 {
				b.Write([]byte{byte(i), byte(r.IntN(4)), 0, byte(r.IntN(256))})
			}
		case "noise":
			for range 50 {
				b.WriteByte(byte(r.IntN(256)))
			}
		case "zeros":
			b.Write(make([]byte, 100))
		default:
			b.Write(sample([]string{"text", "numbers", "noise", "zeros"}[r.IntN(4)], r.Uint64(), 1+r.IntN(70_000)))
		}
	}
	return b.Bytes()[:size]
}

// compress compresses with the encoder.
func compress(t testing.TB, p Params, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := newEncoder().encode(p, bytes.NewReader(data), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// usual are the parameters of Python's zipfile.
var usual = Params{Level: 6, MemLevel: 8}

// member is one entry of an archive.
type member struct {
	name   string
	data   []byte
	method uint16
	params Params
}

// zipDescribed is the flag of an entry with a data descriptor.
const zipDescribed = 1 << 3

// described gives every entry a data descriptor behind its stream, as programs do that can't seek.
func described(h *zip.FileHeader) { h.Flags |= zipDescribed }

// archive makes a zip archive without data descriptors.
func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	return archiveWith(t, func(*zip.FileHeader) {}, members...)
}

// archiveWith makes a zip archive whose headers are changed.
func archiveWith(t testing.TB, change func(*zip.FileHeader), members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		packed := compress(t, m.params, m.data)
		h := &zip.FileHeader{Name: m.name, Method: m.method, UncompressedSize64: uint64(len(m.data)), CompressedSize64: uint64(len(packed))}
		if m.method == zip.Store {
			packed, h.CompressedSize64 = m.data, uint64(len(m.data))
		}
		change(h)
		out, err := w.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(packed); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// roundTrip analyzes, expands and rebuilds a file. It returns recipe and form.
func roundTrip(t testing.TB, file []byte) (Recipe, []byte) {
	t.Helper()
	r, err := Analyze(t.Context(), bytes.NewReader(file), int64(len(file)), 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Streams() == 0 {
		return r, file
	}
	coded := r.Append(nil)
	got, rest, err := ReadRecipe(coded)
	if err != nil || len(rest) > 0 || !bytes.Equal(got.Append(nil), coded) {
		t.Fatalf("the recipe does not survive: %v", err)
	}
	var form, again bytes.Buffer
	size, err := FormSize(bytes.NewReader(file), int64(len(file)), r)
	if err == nil {
		err = Expand(t.Context(), &form, bytes.NewReader(file), int64(len(file)), size, got)
	}
	if err != nil || int64(form.Len()) != size {
		t.Fatalf("the form has %d bytes instead of %d: %v", form.Len(), size, err)
	}
	if err := Rebuild(t.Context(), &again, bytes.NewReader(form.Bytes()), size, int64(len(file)), got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), file) {
		t.Fatal("another file is rebuilt")
	}
	return r, form.Bytes()
}

// count is the number of inflated streams of a recipe.
func (r Recipe) count() (n int) {
	for _, p := range r.params() {
		if p != (Params{}) {
			n++
		}
	}
	return n
}

// every are all parameters, or some in a short run.
func every() (list []Params) {
	for i, p := range candidates() {
		if i%testlevel.Stride(1, 5) == 0 {
			list = append(list, p)
		}
	}
	return list
}

// readAll is the content of r.
func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
