package chunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"collet/platform/testlevel"
)

// unpacking is an object that a test unpacks.
type unpacking struct {
	name    string
	e       Encoding
	object  []byte
	content []byte
	bad     bool // it is damaged
}

// unpackings is objects of all kinds, good and bad.
func unpackings(t testing.TB) []unpacking {
	var list []unpacking
	for _, size := range []int{0, 1, 255, 256, 1000, 100_000, 300_000} {
		content := chunkProse(int64(size), size)
		object := &bytes.Buffer{}
		if _, err := new(ObjectPacker).zstdObject(t.Context(), object, bytes.NewReader(content), int64(size), zstd.SpeedBestCompression); err != nil {
			t.Fatal(err)
		}
		list = append(list, unpacking{fmt.Sprint("stored ", size), Stored, content, content, false})
		if size > 0 { // of nothing no encoder states the size
			list = append(list, unpacking{fmt.Sprint("zstd ", size), Zstd, object.Bytes(), content, false})
		}
		if size > 1 {
			list = append(list, unpacking{fmt.Sprint("stored, short ", size), Stored, content[1:], content, true})
			list = append(list, unpacking{fmt.Sprint("zstd, short ", size), Zstd, object.Bytes()[:object.Len()-1], content, true})
			list = append(list, unpacking{fmt.Sprint("zstd, long ", size), Zstd, append(bytes.Clone(object.Bytes()), 9), content, true})
		}
	}
	content := chunkProse(5, 20_000)
	object, err := brotliOf(content, int64(len(content)), brotliSegment)
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, unpacking{"brotli", Brotli, object, content, false}, unpacking{"brotli, short", Brotli, object[:len(object)/2], content, true})
	checked := zstdOf(t, content)
	list = append(list, unpacking{"zstd with a checksum", Zstd, checked, content, false})
	wrong := bytes.Clone(checked)
	wrong[len(wrong)-1] ^= 1
	return append(list, unpacking{"zstd with a wrong checksum", Zstd, wrong, content, true}, unpacking{"unknown", 77, content, content, true})
}

// TestUnpackerKeepsNothing: what an Unpacker did before, good or bad, changes nothing about the next object.
func TestUnpackerKeepsNothing(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	list := unpackings(t)
	var u Unpacker
	for i, before := range list {
		for k, c := range list {
			if (i*31+k)%testlevel.Stride(3, 40) != 0 {
				continue
			}
			_ = u.Unpack(t.Context(), io.Discard, bytes.NewReader(before.object), before.e, int64(len(before.content)))
			var out bytes.Buffer
			err := u.Unpack(t.Context(), &out, bytes.NewReader(c.object), c.e, int64(len(c.content)))
			if c.bad != (err != nil) || err != nil && !isDamage(err) {
				t.Fatalf("%s after %s: %v", c.name, before.name, err)
			}
			if err == nil && !bytes.Equal(out.Bytes(), c.content) {
				t.Fatalf("%s after %s: the content differs", c.name, before.name)
			}
		}
	}
}

// TestUnpackerAfterFaults: a reader or a writer that fails, and a context that ends, are not remembered.
func TestUnpackerAfterFaults(t *testing.T) {
	testlevel.Slow(t)
	var u Unpacker
	mine := errors.New("mine")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range unpackings(t) {
		if c.bad || len(c.content) == 0 {
			continue
		}
		size := int64(len(c.content))
		if err := u.Unpack(t.Context(), io.Discard, failing(c.object[:len(c.object)-1], mine), c.e, size); !errors.Is(err, mine) {
			t.Errorf("%s from a broken reader: %v", c.name, err)
		}
		if err := u.Unpack(t.Context(), fullDisk{mine}, bytes.NewReader(c.object), c.e, size); !errors.Is(err, mine) {
			t.Errorf("%s to a full disk: %v", c.name, err)
		}
		if err := u.Unpack(stopped, io.Discard, bytes.NewReader(c.object), c.e, size); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, stopped: %v", c.name, err)
		}
		var out bytes.Buffer
		if err := u.Unpack(t.Context(), &out, bytes.NewReader(c.object), c.e, size); err != nil || !bytes.Equal(out.Bytes(), c.content) {
			t.Errorf("%s after all that: %v", c.name, err)
		}
	}
}

// TestUnpackerIsCheap: for a small object after another an Unpacker makes next to nothing anew.
func TestUnpackerIsCheap(t *testing.T) {
	content := chunkProse(1, 4000)
	object := zstdOf(t, content)
	var u Unpacker
	unpack := func() {
		if err := u.Unpack(t.Context(), io.Discard, bytes.NewReader(object), Zstd, int64(len(content))); err != nil {
			t.Fatal(err)
		}
	}
	unpack()
	before := allocated()
	for range 100 {
		unpack()
	}
	if each := (allocated() - before) / 100; each > 4<<10 {
		t.Errorf("%d bytes for each object of %d", each, len(content))
	}
}

// TestUnpackerLetsGoOfLargeWindows: after a large object nothing of its size stays.
func TestUnpackerLetsGoOfLargeWindows(t *testing.T) {
	content := make([]byte, keptObject+1)
	object := &bytes.Buffer{}
	if _, err := new(ObjectPacker).zstdObject(t.Context(), object, bytes.NewReader(content), int64(len(content)), zstd.SpeedBestCompression); err != nil {
		t.Fatal(err)
	}
	var u Unpacker
	for _, size := range []int{len(content), 1000} {
		if size == 1000 {
			object = bytes.NewBuffer(zstdOf(t, content[:size]))
		}
		if err := u.Unpack(t.Context(), io.Discard, bytes.NewReader(object.Bytes()), Zstd, int64(size)); err != nil {
			t.Fatal(err)
		}
		if kept := u.zstd != nil; kept != (size == 1000) {
			t.Errorf("after %d bytes the decoder is kept: %v", size, kept)
		}
	}
	runtime.KeepAlive(&u)
}

// TestFrameEnds: a frame is given to its end and no further, in whatever pieces it is read, with each kind of block.
func TestFrameEnds(t *testing.T) {
	for name, content := range map[string][]byte{"compressed": chunkProse(1, 200_000), "raw": chunkNoise(1, 200_000), "repeated": make([]byte, 200_000), "mixed": append(chunkNoise(2, 140_000), make([]byte, 300_000)...)} {
		for _, checksum := range []bool{false, true} {
			object := zstdOf(t, content, zstd.WithEncoderCRC(checksum))
			for _, piece := range []int{1, 2, 3, 4, 5, 1000, 1 << 20} {
				if piece < 5 && len(object) > 50_000 {
					continue // it would take long and say the same
				}
				in := &objectReader{r: newReaderOf(object, []byte("what follows"))}
				f, err := openFrame(in, int64(len(content)))
				if err != nil {
					t.Fatal(err)
				}
				var got []byte
				b := make([]byte, piece)
				for err == nil {
					var n int
					n, err = f.Read(b)
					got = append(got, b[:n]...)
				}
				if err != io.EOF || !f.ended || !bytes.Equal(got, object) {
					t.Errorf("%s, checksum %v, pieces of %d: %v, %d bytes of %d", name, checksum, piece, err, len(got), len(object))
				}
				if rest, _ := io.ReadAll(in); string(rest) != "what follows" {
					t.Errorf("%s: %d bytes are left", name, len(rest))
				}
			}
		}
	}
}

// TestFrameBlocks: a block that says it is larger than any may be is refused before it is read.
func TestFrameBlocks(t *testing.T) {
	head := []byte{0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 2, 0} // one segment of 128 KiB
	for size, bad := range map[int]bool{maxBlock: false, maxBlock + 1: true, 1<<21 - 1: true} {
		block := size<<3 | 1
		in := &objectReader{r: newReaderOf(head, []byte{byte(block), byte(block >> 8), byte(block >> 16)}, make([]byte, size))}
		f, err := openFrame(in, maxBlock)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, f); bad != errors.Is(err, errBlock) {
			t.Errorf("a block of %d bytes: %v", size, err)
		}
	}
}

// BenchmarkUnpacker prints MB of output a second on one core, for objects of several sizes, each alone and one after another.
func BenchmarkUnpacker(b *testing.B) {
	for _, size := range []int{2 << 10, 16 << 10, 128 << 10, 4 << 20} {
		content := chunkProse(1, size)
		object := zstdOf(b, content)
		var u Unpacker
		for name, unpack := range map[string]func(context.Context, io.Writer, io.Reader, Encoding, int64) error{"alone": UnpackObject, "kept": u.Unpack} {
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					if err := unpack(b.Context(), io.Discard, bytes.NewReader(object), Zstd, int64(size)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
