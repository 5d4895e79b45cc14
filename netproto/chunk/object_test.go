package chunk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"collet/platform/testlevel"
)

// packObject packs data and checks that it comes back.
func packObject(t testing.TB, data []byte, o PackObjectOptions) ([]byte, Encoding) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "object"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, size, err := PackObject(context.Background(), f, bytes.NewReader(data), int64(len(data)), o)
	if err != nil {
		t.Fatal(err)
	}
	object, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(object)) != size {
		t.Fatalf("object of %d bytes, said to have %d", len(object), size)
	}
	var out bytes.Buffer
	if err := UnpackObject(context.Background(), &out, iotest.HalfReader(bytes.NewReader(object)), e, int64(len(data))); err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	if !bytes.Equal(out.Bytes(), data) {
		t.Fatalf("%v: came back different", e)
	}
	return object, e
}

// brotliOf is a brotli object of the first size bytes of data, at the best quality, made by two workers.
func brotliOf(data []byte, size, segment int64) ([]byte, error) {
	var object bytes.Buffer
	_, err := brotliObject(context.Background(), &object, bytes.NewReader(data), size, brotliLayout{segment, 2, brotli.BestCompression})
	return object.Bytes(), err
}

func TestObjectEncodings(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	deep := append(chunkProse(1, 40<<10), chunkNoise(2, 3<<10)...)
	for _, c := range []struct {
		name string
		data []byte
		o    PackObjectOptions
		want Encoding
	}{
		{"empty", nil, PackObjectOptions{}, Stored},
		{"one byte", []byte{1}, PackObjectOptions{}, Stored},
		{"noise", chunkNoise(1, 300<<10), PackObjectOptions{}, Stored},
		{"noise that repeats far away", bytes.Repeat(chunkNoise(1, sized(3<<20, 200<<10)), 2), PackObjectOptions{MaxBrotli: -1}, Zstd},
		{"text with brotli", deep, PackObjectOptions{}, Brotli},
		{"text without brotli", deep, PackObjectOptions{MaxBrotli: -1}, Zstd},
		{"text too large for brotli", deep, PackObjectOptions{MaxBrotli: int64(len(deep) - 1)}, Zstd},
		{"text, balanced", deep, PackObjectOptions{Effort: EffortBalanced, MaxBrotli: 1}, Brotli},
		{"text, balanced, without brotli", deep, PackObjectOptions{Effort: EffortBalanced, MaxBrotli: -1}, Zstd},
		{"text of some bytes, balanced", []byte("<html><body><p>The time of the day</p><p>The time of the night</p></body></html>"), PackObjectOptions{Effort: EffortBalanced}, Brotli},
		{"noise, balanced", chunkNoise(1, 300<<10), PackObjectOptions{Effort: EffortBalanced}, Stored},
		{"nothing, balanced", nil, PackObjectOptions{Effort: EffortBalanced}, Stored},
		{"text, fast", deep, PackObjectOptions{Effort: EffortFast}, Zstd},
		{"noise, fast", chunkNoise(1, 300<<10), PackObjectOptions{Effort: EffortFast}, Stored},
		{"zeroes", make([]byte, sized(5<<20, 200<<10)), PackObjectOptions{MaxBrotli: -1}, Zstd},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, e := packObject(t, c.data, c.o)
			if e != c.want {
				t.Errorf("came out as %v of %d bytes, want %v", e, len(object), c.want)
			}
			if e == Stored && !bytes.Equal(object, c.data) {
				t.Error("stored bytes differ")
			}
		})
	}
}

func TestObjectOfSeveralBrotliSegments(t *testing.T) {
	t.Parallel()
	segment := sized(64<<10, 16<<10)
	data := chunkProse(1, 3*segment+1000)
	unpack := func(object []byte, size int64) ([]byte, error) {
		var out bytes.Buffer
		u := Unpacker{out: make([]byte, 1000)}
		err := u.unpackBrotli(&out, &objectReader{r: bufio.NewReader(bytes.NewReader(object))}, size, int64(segment))
		return out.Bytes(), err
	}
	for _, size := range []int{1, segment, segment + 1, len(data)} {
		object, err := brotliOf(data, int64(size), int64(segment))
		if err != nil {
			t.Fatal(err)
		}
		if back, err := unpack(object, int64(size)); err != nil || !bytes.Equal(back, data[:size]) {
			t.Fatalf("%d bytes came back with %v", size, err)
		}
		first := binary.LittleEndian.Uint32(object)
		if _, err := unpack(object[4+first:], int64(size)); !isDamage(err) {
			t.Errorf("an object without its first segment: %v", err)
		}
	}
}

func isDamage(err error) bool {
	var d *DamageError
	return errors.As(err, &d)
}

// zstdOf is a frame by the library, with options that PackObject doesn't use.
func zstdOf(t testing.TB, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll(data, nil)
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	text := chunkProse(3, sized(200<<10, 40<<10))
	good := zstdOf(t, text)
	size := int64(len(text))
	var unsized bytes.Buffer
	enc, err := zstd.NewWriter(&unsized)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := enc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	skippable := append([]byte{0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0}, 1, 2, 3, 4)
	window := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x80, 0x88, 0, 0, 0, 8, 1, 0, 0} // 128 MiB of window for 128 MiB of content
	reserved := append([]byte(nil), good...)
	reserved[len(reserved)-4-1] ^= 0x55
	brotli, err := brotliOf(text, size, brotliSegment)
	if err != nil {
		t.Fatal(err)
	}
	longSegment := append(append([]byte(nil), brotli...), 0)
	binary.LittleEndian.PutUint32(longSegment, uint32(len(brotli)-4+1))
	for _, c := range []struct {
		name   string
		object []byte
		e      Encoding
		size   int64
		want   string
	}{
		{"good", good, Zstd, size, ""},
		{"nothing", nil, Zstd, size, "no frame"},
		{"smaller than stated", good, Zstd, size + 1, "states"},
		{"larger than stated", good, Zstd, size - 1, "states"},
		{"cut short", good[:len(good)-1], Zstd, size, "too early"},
		{"cut in the header", good[:5], Zstd, size, "no frame"},
		{"a byte behind", append(bytes.Clone(good), 0), Zstd, size, "behind the object's end"},
		{"a frame behind", append(bytes.Clone(good), good...), Zstd, size, "behind the object's end"},
		{"a skippable frame behind", append(bytes.Clone(good), skippable...), Zstd, size, "behind the object's end"},
		{"a skippable frame before", append(bytes.Clone(skippable), good...), Zstd, size, "states"},
		{"no content size", unsized.Bytes(), Zstd, size, "states"},
		{"a dictionary", zstdOf(t, text, zstd.WithEncoderDictRaw(7, text)), Zstd, size, "dictionary 7"},
		{"a large window", window, Zstd, 128 << 20, "window"},
		{"other bytes", reserved, Zstd, size, "not decode"},
		{"a bomb", zstdOf(t, make([]byte, 8<<20)), Zstd, 1000, "states"},
		{"stored short", text[:100], Stored, 101, "too early"},
		{"stored long", text[:100], Stored, 99, "behind the object's end"},
		{"brotli", brotli, Brotli, size, ""},
		{"brotli that has more", brotli, Brotli, size - 1, "more than"},
		{"brotli that has less", brotli, Brotli, size + 1, "too early"},
		{"brotli with a byte behind", append(bytes.Clone(brotli), 0), Brotli, size, "behind the object's end"},
		{"brotli with a long segment", longSegment, Brotli, size, "object"},
		{"brotli with a huge segment", []byte{255, 255, 255, 255}, Brotli, size, "segment of 4294967295"},
		{"brotli with no segment", make([]byte, 4), Brotli, size, "segment of 0"},
		{"brotli with a large window", append([]byte{9, 0, 0, 0}, 0x11, 0x1e, 0, 0, 0, 0, 0, 0, 0), Brotli, size, "decode"},
		{"another encoding", good, 9, size, "encoding 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := UnpackObject(context.Background(), &out, bytes.NewReader(c.object), c.e, c.size)
			if c.want == "" && err != nil || c.want != "" && (!isDamage(err) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if int64(out.Len()) > c.size {
				t.Errorf("%d bytes were written, %d are allowed", out.Len(), c.size)
			}
		})
	}
}

// failing gives some bytes and then its error.
func failing(data []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(data), iotest.ErrReader(err))
}

type fullDisk struct{ err error }

func (f fullDisk) Write([]byte) (int, error) { return 0, f.err }

func TestObjectFaultsOfOurOwn(t *testing.T) {
	t.Parallel()
	text := chunkProse(3, sized(200<<10, 40<<10))
	mine := errors.New("the cable is out")
	brotli, err := brotliOf(text, int64(len(text)), brotliSegment)
	if err != nil {
		t.Fatal(err)
	}
	for e, object := range map[Encoding][]byte{Stored: text, Zstd: zstdOf(t, text), Brotli: brotli} {
		for _, cut := range []int{0, 3, len(object) / 2, len(object)} {
			if err := UnpackObject(context.Background(), io.Discard, failing(object[:cut], mine), e, int64(len(text))); !errors.Is(err, mine) || isDamage(err) {
				t.Errorf("%v read up to %d: %v", e, cut, err)
			}
		}
		if err := UnpackObject(context.Background(), fullDisk{mine}, bytes.NewReader(object), e, int64(len(text))); !errors.Is(err, mine) || isDamage(err) {
			t.Errorf("%v to a full disk: %v", e, err)
		}
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		if err := UnpackObject(gone, io.Discard, bytes.NewReader(object), e, int64(len(text))); !errors.Is(err, context.Canceled) {
			t.Errorf("%v cancelled: %v", e, err)
		}
	}
}

func TestPackObjectOfAFileThatChanges(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "object"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := PackObject(context.Background(), f, bytes.NewReader(make([]byte, 10)), 11, PackObjectOptions{}); err == nil {
		t.Error("a file that is shorter than it was said to be is taken")
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := PackObject(gone, f, bytes.NewReader(make([]byte, 10)), 10, PackObjectOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestEncodingNames(t *testing.T) {
	for _, e := range []Encoding{Stored, Zstd, Brotli} {
		if got, ok := ParseEncoding(e.String()); !ok || got != e {
			t.Errorf("%v reads back as %v, %v", e, got, ok)
		}
	}
	for _, name := range []string{"", "gzip", "encoding 4", "Zstd"} {
		if _, ok := ParseEncoding(name); ok {
			t.Errorf("%q is an encoding", name)
		}
	}
}

// TestUnpackMemory holds decoding to what applying an update may take.
func TestUnpackMemory(t *testing.T) {
	testlevel.Slow(t)
	pattern := chunkNoise(5, 12<<20)
	data := append(bytes.Clone(pattern), pattern...)
	object, e := packObject(t, data, PackObjectOptions{MaxBrotli: -1})
	if e != Zstd || len(object) > len(pattern)+len(pattern)/50 {
		t.Fatalf("%v of %d bytes: the window doesn't reach back", e, len(object))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := UnpackObject(context.Background(), io.Discard, bytes.NewReader(object), e, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 60<<20 {
		t.Errorf("unpacking took %d MB in all", took>>20)
	}
}

// BenchmarkUnpackObject prints MB of output a second on one core.
func BenchmarkUnpackObject(b *testing.B) {
	data := chunkProse(1, 32<<20)
	brotli, err := brotliOf(data[:2<<20], 2<<20, brotliSegment)
	if err != nil {
		b.Fatal(err)
	}
	packed, _ := packObject(b, data, PackObjectOptions{MaxBrotli: -1})
	for _, c := range []struct {
		e      Encoding
		object []byte
		size   int64
	}{{Stored, data, int64(len(data))}, {Zstd, packed, int64(len(data))}, {Brotli, brotli, 2 << 20}} {
		b.Run(fmt.Sprint(c.e), func(b *testing.B) {
			b.SetBytes(c.size)
			for b.Loop() {
				if err := UnpackObject(context.Background(), io.Discard, bytes.NewReader(c.object), c.e, c.size); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestObjectPackerKeepsNothing: what a packer made before shows in nothing that it makes later, whatever its size.
func TestObjectPackerKeepsNothing(t *testing.T) {
	testlevel.Slow(t)
	var many ObjectPacker
	for i, n := range []int{1, 255, 256, 1000, 70_000, smallContent, 2, smallContent + 1, 3000, 255} {
		data := []byte(strings.Repeat(fmt.Sprintf("line %d of a file that repeats itself\n", i), n/30+1))[:n]
		var once, again bytes.Buffer
		if _, err := new(ObjectPacker).zstdObject(context.Background(), &once, bytes.NewReader(data), int64(n), zstd.SpeedBestCompression); err != nil {
			t.Fatal(err)
		}
		if _, err := many.zstdObject(context.Background(), &again, bytes.NewReader(data), int64(n), zstd.SpeedBestCompression); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), again.Bytes()) {
			t.Errorf("%d bytes: %d and %d", n, once.Len(), again.Len())
		}
		var back bytes.Buffer
		if err := UnpackObject(context.Background(), &back, &again, Zstd, int64(n)); err != nil || !bytes.Equal(back.Bytes(), data) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if i == 4 { // a failure leaves nothing behind either
			gone, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := many.zstdObject(gone, io.Discard, bytes.NewReader(data), int64(n), zstd.SpeedBestCompression); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
	}
}

// TestGoldenObjects pins how objects are read. An encoder of another version writes other ones, so -update changes the file without need.
func TestGoldenObjects(t *testing.T) {
	content := []byte(strings.Repeat("Whole objects are for who has nothing. ", 30))
	const path = "testdata/objects.txt"
	if *update {
		packed := &bytes.Buffer{}
		if _, err := new(ObjectPacker).zstdObject(context.Background(), packed, bytes.NewReader(content), int64(len(content)), zstd.SpeedBestCompression); err != nil {
			t.Fatal(err)
		}
		segments, err := brotliOf(content, int64(len(content)), brotliSegment)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "objects.txt", fmt.Sprintf("%v %x\n%v %x\n%v %x\n", Stored, content, Zstd, packed, Brotli, segments))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%s has %d lines", path, len(lines))
	}
	for _, line := range lines {
		name, digits, _ := strings.Cut(line, " ")
		object, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := ParseEncoding(name)
		if !ok {
			t.Fatalf("encoding %q", name)
		}
		var out bytes.Buffer
		if err := UnpackObject(context.Background(), &out, bytes.NewReader(object), e, int64(len(content))); err != nil || !bytes.Equal(out.Bytes(), content) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestObjectOfChangedFile: a file that is shorter than it was is an error at every effort, and never an object.
func TestObjectOfChangedFile(t *testing.T) {
	t.Parallel()
	text := chunkProse(1, 30<<10)
	for _, effort := range []Effort{EffortBest, EffortBalanced, EffortFast} {
		f, err := os.Create(filepath.Join(t.TempDir(), "object"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := PackObject(t.Context(), f, bytes.NewReader(text), int64(len(text))+1, PackObjectOptions{Effort: effort}); err == nil {
			t.Errorf("effort %d: no error", effort)
		}
		f.Close()
	}
}

// TestEffortsInOrder: less effort makes larger objects, and every number of workers the same ones.
func TestEffortsInOrder(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	text := chunkProse(3, 200<<10)
	var sizes []int
	for _, effort := range []Effort{EffortBest, EffortBalanced, EffortFast} {
		object, _ := packObject(t, text, PackObjectOptions{Effort: effort, Workers: 1})
		if again, _ := packObject(t, text, PackObjectOptions{Effort: effort, Workers: 5}); !bytes.Equal(object, again) {
			t.Errorf("effort %d: one worker and five make other objects", effort)
		}
		sizes = append(sizes, len(object))
	}
	if sizes[0] >= sizes[1] || sizes[1] >= sizes[2] {
		t.Errorf("best, balanced and fast have %d bytes", sizes)
	}
}
