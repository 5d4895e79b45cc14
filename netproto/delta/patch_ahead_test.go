package delta

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"collet/platform/testlevel"
)

var errStream = errors.New("the stream is damaged")

// TestAhead: the bytes and the end of a stream are those of the stream, however it is read and however it gives them.
func TestAhead(t *testing.T) {
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3*pieceSize + 7, (aheadBlocks + 2) * pieceSize} {
		want := noise(uint64(size), size)
		for name, as := range map[string]func(io.Reader) io.Reader{
			"plain": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "data with its end": iotest.DataErrReader,
			"portions": func(r io.Reader) io.Reader { return portions{r} },
		} {
			for _, end := range []error{io.EOF, errStream, io.ErrUnexpectedEOF} {
				a := newReadAhead(as(io.MultiReader(bytes.NewReader(want), iotest.ErrReader(end))))
				got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(a, 100)))
				rest, restErr := io.ReadAll(a)
				if a.close(); size >= 100 && err != nil || !bytes.Equal(append(got, rest...), want) {
					t.Errorf("%d bytes, %s, %v: %d came, %v", size, name, end, len(got)+len(rest), err)
				}
				if end == io.EOF && restErr != nil || end != io.EOF && !errors.Is(restErr, end) {
					t.Errorf("%d bytes, %s: ended with %v, want %v", size, name, restErr, end)
				}
			}
		}
	}
}

// portions gives odd amounts.
type portions struct{ r io.Reader }

func (p portions) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), 4099)]) }

// TestAheadStops: after close, the caller can use the stream again, whatever the state of the prefetch.
func TestAheadStops(t *testing.T) {
	for _, taken := range []int64{0, 1, pieceSize, 3 * pieceSize, 100 * pieceSize} {
		endless := &endlessBytes{}
		a := newReadAhead(endless)
		if _, err := io.CopyN(io.Discard, a, taken); err != nil {
			t.Fatal(err)
		}
		a.close()
		a.close()
		if read := endless.n; read < taken || read > taken+(aheadBlocks+1)*pieceSize {
			t.Errorf("%d bytes were read for %d", read, taken)
		}
		if _, err := io.Copy(io.Discard, a); err == nil {
			t.Error("a closed one reads on")
		}
	}
	(*readAhead)(nil).close()
}

type endlessBytes struct{ n int64 }

func (c *endlessBytes) Read(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// prose is text of 2000 words of random letters: it compresses, and repeats less than words does.
func prose(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 11))
	list := make([][]byte, 2000)
	for i := range list {
		list[i] = make([]byte, 2+r.IntN(9))
		for j := range list[i] {
			list[i][j] = byte('a' + r.IntN(26))
		}
	}
	var b []byte
	for len(b) < size {
		b = append(append(b, list[int(float64(len(list))*r.Float64()*r.Float64())]...), ' ')
	}
	return b[:size]
}

// TestApplyAhead applies a patch whose extra bytes are long, whole and damaged at any place of them: what comes out is right, or
// the patch is to blame, and no goroutine stays.
func TestApplyAhead(t *testing.T) {
	testlevel.Slow(t)
	old, fresh := prose(1, sized(1<<20, 100<<10)), append(prose(2, sized(3<<20, 200<<10)), noise(3, aheadFrom+5)...)
	var patch bytes.Buffer
	from := []Old{{ReaderAt: bytes.NewReader(old), Size: int64(len(old))}}
	if _, err := MakePatch(t.Context(), &patch, from, []New{{ReaderAt: bytes.NewReader(fresh), Size: int64(len(fresh))}}, PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if patch.Len() < aheadFrom {
		t.Fatalf("%d bytes: nothing of it is long", patch.Len())
	}
	apply := func(data []byte) ([]byte, error) {
		var out bytes.Buffer
		err := ApplyPatch(context.Background(), bytes.NewReader(data), from, []int64{int64(len(fresh))}, func(int) (io.Writer, error) { return &out, nil })
		return out.Bytes(), err
	}
	if got, err := apply(patch.Bytes()); err != nil || !bytes.Equal(got, fresh) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	places := 60 / testlevel.Stride(10, 10)
	for at := 40; at < patch.Len(); at += patch.Len() / places {
		wrong := bytes.Clone(patch.Bytes())
		wrong[at] ^= 0x55
		var fault *PatchError
		if got, err := apply(wrong); !errors.As(err, &fault) {
			t.Errorf("byte %d wrong: %d bytes, %v", at, len(got), err)
		}
		if _, err := apply(patch.Bytes()[:at]); !errors.As(err, &fault) {
			t.Errorf("cut off at byte %d: %v", at, err)
		}
	}
}

// failingAt is old contents that can't be read from an offset on.
type failingAt struct {
	data []byte
	from int64
}

func (f failingAt) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > f.from {
		return 0, errStream
	}
	return bytes.NewReader(f.data).ReadAt(b, at)
}

// TestOldBytesAhead: the old bytes of a large frame are prefetched, and an error of reading them comes out unchanged.
func TestOldBytesAhead(t *testing.T) {
	old := noise(1, 2*aheadFrom)
	fresh := bytes.Clone(old)
	for i := 1000; i < len(fresh); i += 50_000 {
		fresh[i]++
	}
	var patch bytes.Buffer
	size := int64(len(fresh))
	_, err := MakePatch(t.Context(), &patch, []Old{{bytes.NewReader(old), size}}, []New{{ReaderAt: bytes.NewReader(fresh), Size: size}}, PatchOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, aheadFrom / 2, size - 1, size} {
		var got bytes.Buffer
		err := ApplyPatch(t.Context(), bytes.NewReader(patch.Bytes()), []Old{{failingAt{old, from}, size}}, []int64{size}, func(int) (io.Writer, error) { return &got, nil })
		if from == size && (err != nil || !bytes.Equal(got.Bytes(), fresh)) || from < size && !errors.Is(err, errStream) {
			t.Errorf("readable up to %d: %d bytes, %v", from, got.Len(), err)
		}
		if n := got.Len(); !bytes.Equal(got.Bytes(), fresh[:n]) {
			t.Errorf("readable up to %d: the first %d bytes are wrong", from, n)
		}
	}
}

// TestNumbers: numbers of every length come out, and an end inside one is unexpected.
func TestNumbers(t *testing.T) {
	var data []byte
	want := []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1 << 40, 1<<64 - 1, 5}
	for _, v := range want {
		data = binary.AppendUvarint(data, v)
	}
	for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
		n := newNumbers(r)
		for _, v := range want {
			if got, err := n.next(); got != v || err != nil {
				t.Errorf("%d, %v; want %d", got, err, v)
			}
		}
		if _, err := n.next(); err != io.EOF {
			t.Errorf("behind the last one: %v", err)
		}
	}
	if _, err := newNumbers(bytes.NewReader([]byte{0x80})).next(); err != io.ErrUnexpectedEOF {
		t.Errorf("cut off: %v", err)
	}
}
