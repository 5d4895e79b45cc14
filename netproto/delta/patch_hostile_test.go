package delta

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"collet/platform/testlevel"
)

// vector is one golden patch of testdata/patches: what it was made from, what it makes, and its bytes.
type vector struct {
	name       string
	old, fresh [][]byte
	patch      []byte
}

// readVectors reads testdata/patches: lines "old hex", "new hex" and "patch hex", any number of each but the last.
func readVectors(t testing.TB) []vector {
	t.Helper()
	names, err := filepath.Glob("testdata/patches/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var list []vector
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		v := vector{name: filepath.Base(name)}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			b, err := hex.DecodeString(value)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch key {
			case "old":
				v.old = append(v.old, b)
			case "new":
				v.fresh = append(v.fresh, b)
			case "patch":
				v.patch = b
			}
		}
		list = append(list, v)
	}
	return list
}

// TestVectors: patches that were published stay readable for ever. How small MakePatch makes one may change.
func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		got, err := applied(bytes.NewReader(v.patch), v.old, sizesOf(v.fresh))
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		for i := range v.fresh {
			if !bytes.Equal(got[i], v.fresh[i]) {
				t.Errorf("%s: content %d differs", v.name, i)
			}
		}
		if patch, _ := made(t, v.old, v.fresh); len(patch) > len(v.patch) {
			t.Errorf("%s: a patch made today has %d bytes, the vector %d", v.name, len(patch), len(v.patch))
		}
	}
}

// TestTruncated: every prefix of a patch is the peer's fault, and so is a patch with more behind it.
func TestTruncated(t *testing.T) {
	for _, v := range readVectors(t) {
		for n := range v.patch {
			wantPatchError(t, v, v.patch[:n], "cut off")
		}
		wantPatchError(t, v, append(bytes.Clone(v.patch), 0), "longer")
	}
}

// TestDamaged: with any byte changed, a patch is refused or, rarely, still makes the right contents.
func TestDamaged(t *testing.T) {
	testlevel.Slow(t)
	for _, v := range readVectors(t) {
		for i := range v.patch {
			for _, flip := range []byte{1, 0x80, 0xff} {
				bad := bytes.Clone(v.patch)
				bad[i] ^= flip
				got, err := applied(bytes.NewReader(bad), v.old, sizesOf(v.fresh))
				var fault *PatchError
				if err != nil && !errors.As(err, &fault) {
					t.Fatalf("%s, byte %d: %v", v.name, i, err)
				}
				for k := range got {
					if err == nil && !bytes.Equal(got[k], v.fresh[k]) {
						t.Fatalf("%s, byte %d changed: wrong contents without an error", v.name, i)
					}
				}
			}
		}
	}
}

func wantPatchError(t *testing.T, v vector, patch []byte, what string) {
	t.Helper()
	_, err := applied(bytes.NewReader(patch), v.old, sizesOf(v.fresh))
	var fault *PatchError
	if !errors.As(err, &fault) {
		t.Fatalf("%s, %s: %v", v.name, what, err)
	}
	if fault.Offset > int64(len(patch)) || !strings.HasPrefix(fault.Error(), "patch, ") {
		t.Fatalf("%s, %s: %v", v.name, what, fault)
	}
}

// TestWrongOld: a patch for other contents is the peer's fault, whether sizes tell or only the checksum does.
func TestWrongOld(t *testing.T) {
	old, fresh := [][]byte{words(1, 30_000)}, [][]byte{append(words(1, 20_000), words(2, 5_000)...)}
	patch, _ := made(t, old, fresh)
	v := vector{name: "other size", old: [][]byte{words(1, 30_001)}, fresh: fresh}
	wantPatchError(t, v, patch, "other size")
	v = vector{name: "other bytes", old: [][]byte{words(3, 30_000)}, fresh: fresh}
	wantPatchError(t, v, patch, "other bytes")
	v = vector{name: "other result", old: old, fresh: [][]byte{make([]byte, 9)}}
	wantPatchError(t, v, patch, "other result")
}

// TestOurFaults: what goes wrong on this side comes back as it is.
func TestOurFaults(t *testing.T) {
	old, fresh := [][]byte{words(1, 200_000)}, [][]byte{words(1, 150_000)}
	patch, _ := made(t, old, fresh)
	broken := errors.New("the disk is gone")
	apply := func(ctx context.Context, r io.Reader, from Old, write func(int) (io.Writer, error)) error {
		return ApplyPatch(ctx, r, []Old{from}, sizesOf(fresh), write)
	}
	whole := olds(old...)[0]
	discard := func(int) (io.Writer, error) { return io.Discard, nil }
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		err, want error
	}{
		"reader":   {apply(t.Context(), io.MultiReader(bytes.NewReader(patch[:8]), iotest.ErrReader(broken)), whole, discard), broken},
		"old":      {apply(t.Context(), bytes.NewReader(patch), Old{faulty{broken}, whole.Size}, discard), broken},
		"old ends": {apply(t.Context(), bytes.NewReader(patch), Old{bytes.NewReader(old[0][:9]), whole.Size}, discard), io.ErrUnexpectedEOF},
		"open":     {apply(t.Context(), bytes.NewReader(patch), whole, func(int) (io.Writer, error) { return nil, broken }), broken},
		"write":    {apply(t.Context(), bytes.NewReader(patch), whole, func(int) (io.Writer, error) { return faulty{broken}, nil }), broken},
		"stopped":  {apply(stopped, bytes.NewReader(patch), whole, discard), context.Canceled},
	} {
		var fault *PatchError
		if !errors.Is(c.err, c.want) || errors.As(c.err, &fault) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	if _, err := MakePatch(stopped, io.Discard, olds(old...), news(fresh...), PatchOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("making, stopped: %v", err)
	}
	if _, err := MakePatch(t.Context(), io.Discard, []Old{{faulty{broken}, 5}}, news(fresh...), PatchOptions{}); !errors.Is(err, broken) {
		t.Errorf("making from a broken old: %v", err)
	}
	if _, err := MakePatch(t.Context(), faulty{broken}, olds(old...), news(fresh...), PatchOptions{}); !errors.Is(err, broken) {
		t.Errorf("making to a broken writer: %v", err)
	}
	if _, err := MakePatch(t.Context(), io.Discard, []Old{{faulty{broken}, 1 << 31}}, nil, PatchOptions{}); !errors.Is(err, errTooLarge) {
		t.Errorf("making from 2 GiB: %v", err)
	}
}

// faulty fails at everything.
type faulty struct{ err error }

func (f faulty) ReadAt([]byte, int64) (int, error) { return 0, f.err }
func (f faulty) Write([]byte) (int, error)         { return 0, f.err }

// head is the beginning of a patch from old to new bytes, with a frame's first numbers.
func head(old, fresh int, numbers ...uint64) []byte {
	b := append([]byte(patchMagic), binary.AppendUvarint(nil, uint64(old))...)
	b = binary.AppendUvarint(b, uint64(fresh))
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// TestCaps: numbers above the caps are refused before anything is allocated for them.
func TestCaps(t *testing.T) {
	const size = 1 << 20
	zeros := make([]uint64, streamCount)
	with := func(at int, n ...uint64) []uint64 {
		return append(append(append([]uint64{}, zeros[:at]...), n...), zeros[at:]...)
	}
	for name, patch := range map[string][]byte{
		"an empty frame":     head(0, size, 0, 0, 0),
		"a frame too large":  head(0, size, size+1, 0, 0),
		"unknown flags":      head(0, size, size, 8, 0),
		"too many matches":   head(0, size, size, 0, maxMatches+1),
		"matches of nothing": head(0, size, append([]uint64{size, 0, 5}, zeros...)...),
		"held too much":      head(0, size, append([]uint64{size, 0, 0}, with(streamBytes, 1<<25, 1<<26)...)...),
		"joined too much":    head(0, size, append([]uint64{size, flagJoined, 0}, with(streamBytes, maxJoined+1)...)...),
		"a number too long":  append(head(0, size), bytes.Repeat([]byte{0xff}, 11)...),
		"predicted of none":  head(0, size, append([]uint64{size, flagPredicted, 0}, zeros...)...),
	} {
		before := allocated()
		err := ApplyPatch(t.Context(), bytes.NewReader(patch), nil, []int64{size}, func(int) (io.Writer, error) { return io.Discard, nil })
		var fault *PatchError
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
		if n := allocated() - before; n > 1<<20 {
			t.Errorf("%s: took %d bytes of memory", name, n)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// FuzzApplyPatch: whatever the bytes, there is no panic, no more output than asked for, and no more memory than the cap.
func FuzzApplyPatch(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.patch, bytes.Join(v.old, nil))
	}
	f.Fuzz(func(t *testing.T, patch, old []byte) {
		size := int64(1000)
		if r := bytes.NewReader(patch); len(patch) > 4 {
			_, _ = io.CopyN(io.Discard, r, int64(len(patchMagic)))
			_, _ = binary.ReadUvarint(r)
			if n, err := binary.ReadUvarint(r); err == nil && n < 1<<18 {
				size = int64(n)
			}
		}
		var out bytes.Buffer
		before := allocated()
		err := ApplyPatch(t.Context(), bytes.NewReader(patch), olds(old), []int64{size}, func(int) (io.Writer, error) { return &out, nil })
		var fault *PatchError
		if err != nil && !errors.As(err, &fault) {
			t.Fatal(err)
		}
		if int64(out.Len()) > size || err == nil && int64(out.Len()) != size {
			t.Fatalf("%d bytes of %d, %v", out.Len(), size, err)
		}
		if n := allocated() - before; n > 64<<20 {
			t.Fatalf("took %d bytes of memory", n)
		}
	})
}
