package delta

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"collet/netproto/delta/predict"
)

// written is a patch of one frame that a test writes by hand: streams as they are, the whole in the order of the format.
type written struct {
	old, fresh []byte
	size       int
	flags      byte
	matches    int
	streams    [streamCount]string
	check      uint32
}

// apart is the patch with each stream stored by itself.
func (w written) apart() []byte {
	b := head(len(w.old), len(w.fresh), uint64(w.size), uint64(w.flags), uint64(w.matches))
	for _, s := range w.streams {
		b = coded{raw: len(s), code: codeStored, data: []byte(s)}.appendRow(b)
	}
	for _, s := range w.streams {
		b = append(b, s...)
	}
	return binary.LittleEndian.AppendUint32(b, w.check)
}

// joined is the patch with all streams stored as one.
func (w written) joined() []byte {
	b := head(len(w.old), len(w.fresh), uint64(w.size), uint64(w.flags|flagJoined), uint64(w.matches))
	all := strings.Join(w.streams[:], "")
	for _, s := range w.streams {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	b = append(coded{raw: len(all), code: codeStored, data: []byte(all)}.appendRow(b), all...)
	return binary.LittleEndian.AppendUint32(b, w.check)
}

// sample is a patch by hand that takes "cdefgh" with one other byte from the old contents and brings five bytes of its own.
func sample() written {
	w := written{old: []byte("abcdefghij"), fresh: []byte("<cdeFgh>!?"), size: 10, matches: 1}
	w.streams = [streamCount]string{streamGaps: "\x01", streamSizes: "\x06", streamShifts: "\x04", streamZeros: "\x03", streamWrongs: "\x00", streamBytes: "\xe0", streamExtra: "<>!?"}
	w.check = crc32.Checksum(w.fresh, castagnoli)
	return w
}

// TestPatchByHand: a patch as the format's description has it, in both forms, makes what it says.
func TestPatchByHand(t *testing.T) {
	w := sample()
	for name, patch := range map[string][]byte{"apart": w.apart(), "joined": w.joined()} {
		got, err := applied(bytes.NewReader(patch), [][]byte{w.old}, []int64{10})
		if err != nil || !bytes.Equal(got[0], w.fresh) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		got, err = applied(bytes.NewReader(patch), [][]byte{w.old[:3], nil, w.old[3:]}, []int64{0, 4, 0, 6, 0})
		if err != nil || len(got) != 5 || string(got[1]) != "<cde" || string(got[3]) != "Fgh>!?" {
			t.Errorf("%s, in other contents: %q, %v", name, got, err)
		}
	}
	if got := hex.EncodeToString(w.apart()[:8]); got != "4350010a0a0a0001" {
		t.Errorf("the head is %s", got)
	}
}

// TestPatchByHandRefused: one thing wrong at a time, in both forms, and what the error says of it.
func TestPatchByHandRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *written)
		want  string
	}{
		"another checksum":         {func(w *written) { w.check++ }, "checksum"},
		"an empty match":           {func(w *written) { w.streams[streamSizes] = "\x00" }, "leaves its frame"},
		"a match behind the end":   {func(w *written) { w.streams[streamSizes] = "\x0a" }, "leaves its frame"},
		"a gap behind the end":     {func(w *written) { w.streams[streamGaps] = "\x0b" }, "leaves its frame"},
		"a huge gap":               {func(w *written) { w.streams[streamGaps] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" }, "leaves its frame"},
		"before the old contents":  {func(w *written) { w.streams[streamShifts] = "\x06" }, "leaves the old contents"},
		"behind the old contents":  {func(w *written) { w.streams[streamShifts] = "\x10" }, "leaves the old contents"},
		"a huge shift":             {func(w *written) { w.streams[streamShifts] = "\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01" }, "leaves the old contents"},
		"no recent shift":          {func(w *written) { w.streams[streamShifts] = "\x21" }, "leaves the old contents"},
		"no gap":                   {func(w *written) { w.streams[streamGaps] = "" }, "matches are damaged"},
		"no size":                  {func(w *written) { w.streams[streamSizes] = "" }, "matches are damaged"},
		"no shift":                 {func(w *written) { w.streams[streamShifts] = "" }, "matches are damaged"},
		"half a number":            {func(w *written) { w.streams[streamSizes] = "\x86" }, "matches are damaged"},
		"more matches":             {func(w *written) { w.matches = 2 }, "matches are damaged"},
		"no wrong bytes":           {func(w *written) { w.streams[streamBytes] = "" }, "difference is damaged"},
		"no length of wrong bytes": {func(w *written) { w.streams[streamWrongs] = "" }, "difference is damaged"},
		"too few extra bytes":      {func(w *written) { w.streams[streamExtra] = "<>!" }, "extra bytes are damaged"},
		"no extra bytes":           {func(w *written) { w.streams[streamExtra] = "" }, "extra bytes are damaged"},
		"predicted without maps":   {func(w *written) { w.flags = flagPredicted }, "address maps are damaged"},
		"predicted, many areas": {func(w *written) {
			w.flags, w.streams[streamImages] = flagPredicted, string(binary.AppendUvarint(nil, predict.MaxAreas+1))
		}, "address maps are damaged"},
		"predicted, many modes": {func(w *written) {
			w.flags, w.streams[streamImages], w.streams[streamModes] = flagPredicted, "\x00\x00\x00", "\x01\x01"
		}, "address maps are too large"},
		"an area outside": {func(w *written) { w.flags, w.streams[streamImages] = flagPredicted, "\x01\x00\x20\x00\x00" }, "address maps are damaged"},
		"many bases": {func(w *written) {
			w.flags, w.streams[streamImages] = flagPredicted, "\x00\x00"+string(binary.AppendUvarint(nil, predict.MaxBases+1))
		}, "address maps are damaged"},
		"a frame of nothing": {func(w *written) { w.size = 0 }, "frame is empty"},
		"a frame too large":  {func(w *written) { w.size = 11 }, "the most is 10"},
		"unknown flags":      {func(w *written) { w.flags = 4 }, "flags"},
	} {
		w := sample()
		c.spoil(&w)
		for form, patch := range map[string][]byte{"apart": w.apart(), "joined": w.joined()} {
			_, err := applied(bytes.NewReader(patch), [][]byte{w.old}, []int64{10})
			var fault *PatchError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", name, form, err, c.want)
			}
		}
	}
}

// TestSpareStreams: surplus bytes of a stream are not read; only in the last stream more than maxRest are an error.
func TestSpareStreams(t *testing.T) {
	w := sample()
	for i := range streamExtra {
		w := w
		w.streams[i] += "\x00"
		if i == streamZeros {
			continue // a run of right bytes is followed by one of wrong ones
		}
		got, err := applied(bytes.NewReader(w.apart()), [][]byte{w.old}, []int64{10})
		if err != nil || !bytes.Equal(got[0], w.fresh) {
			t.Errorf("stream %d has a byte more: %v", i, err)
		}
	}
	w.streams[streamExtra] += strings.Repeat("x", maxRest)
	if _, err := applied(bytes.NewReader(w.apart()), [][]byte{w.old}, []int64{10}); err != nil {
		t.Errorf("%d spare bytes of the last stream: %v", maxRest, err)
	}
	w.streams[streamExtra] += "x"
	if _, err := applied(bytes.NewReader(w.apart()), [][]byte{w.old}, []int64{10}); err == nil {
		t.Errorf("%d spare bytes of the last stream are taken", maxRest+1)
	}
}

// TestSeveralFrames: frames follow each other, each with places of its own.
func TestSeveralFrames(t *testing.T) {
	old := words(1, 3000)
	fresh := append(bytes.Clone(old[1000:]), old[:500]...)
	m := &maker{old: old, new: fresh, options: PatchOptions{Workers: 1}}
	m.out = append(m.out, head(len(old), len(fresh))...)
	matches := []predict.Match{{At: 0, Size: 2000, Old: 1000}, {At: 2000, Size: 500, Old: 0}}
	for _, cut := range [][2]int{{0, 1}, {1, 777}, {777, 2100}, {2100, 2500}} {
		if err := m.encodeFrames(t.Context(), cut[0], cut[1], clipMatches(matches, cut[0], cut[1])); err != nil {
			t.Fatal(err)
		}
	}
	patch := binary.LittleEndian.AppendUint32(m.out, crc32.Checksum(fresh, castagnoli))
	got, err := applied(bytes.NewReader(patch), [][]byte{old}, []int64{int64(len(fresh))})
	if err != nil || !bytes.Equal(got[0], fresh) {
		t.Errorf("%v", err)
	}
	if m.stats.Matches != 5 || m.stats.ExtraBytes != 0 {
		t.Errorf("%+v", m.stats)
	}
}

// TestWithin: a cut keeps of every match what lies in it, at its place in the cut, and nothing else.
func TestWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []predict.Match
		at := uint32(0)
		for range rapid.IntRange(0, 9).Draw(t, "matches") {
			m := predict.Match{At: at + rapid.Uint32Range(0, 9).Draw(t, "gap"), Size: rapid.Uint32Range(1, 20).Draw(t, "size"), Old: rapid.Uint32Range(0, 99).Draw(t, "old")}
			list, at = append(list, m), m.End()
		}
		from := rapid.IntRange(0, 100).Draw(t, "from")
		to := rapid.IntRange(from, 200).Draw(t, "to")
		source := func(list []predict.Match, shift int) map[int]uint32 {
			by := map[int]uint32{}
			for _, m := range list {
				for i := range m.Size {
					by[int(m.At+i)+shift] = m.Old + i
				}
			}
			return by
		}
		got, want := source(clipMatches(list, from, to), from), source(list, 0)
		for i := range 300 {
			v, is := want[i]
			g, has := got[i]
			if inside := i >= from && i < to; has != (is && inside) || has && g != v {
				t.Fatalf("byte %d of %d to %d: %d, %v, want %d, %v", i, from, to, g, has, v, is)
			}
		}
	})
}

// TestLink: the streams of matches, byte by byte.
func TestLink(t *testing.T) {
	f := frame{matches: []predict.Match{{At: 2, Size: 3, Old: 10}, {At: 5, Size: 200, Old: 300}, {At: 210, Size: 1, Old: 218}, {At: 211, Size: 1, Old: 211}}}
	f.encodeMatches()
	if !bytes.Equal(f.streams[streamGaps], []byte{2, 0, 5, 0}) || !bytes.Equal(f.streams[streamSizes], []byte{3, 0xc8, 1, 1, 1}) {
		t.Errorf("gaps % x, sizes % x", f.streams[streamGaps], f.streams[streamSizes])
	}
	// 8 is new: +8. 295 is new: +287. 8 is the second last. 0 is among the sixteen zeros at the start.
	if want := []byte{32, 0xfc, 8, 3, 5}; !bytes.Equal(f.streams[streamShifts], want) {
		t.Errorf("shifts % x, want % x", f.streams[streamShifts], want)
	}
}

// TestRecentShiftsGolden: numbers as the format has them.
func TestRecentShiftsGolden(t *testing.T) {
	var r recentShifts
	var got []uint64
	for _, s := range []int64{0, 5, 5, 0, -3, 5, 0, -3} {
		got = append(got, r.encode(s))
	}
	if want := []uint64{1, 20, 1, 3, 10, 5, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i := range int64(len(r)) {
		r.encode(1000 + i)
	}
	if v := r.encode(1000); v != 31 {
		t.Errorf("the oldest of sixteen is %d", v)
	}
	if v := r.encode(5); v&1 != 0 {
		t.Errorf("a forgotten shift is %d", v)
	}
}

// TestJoinedFrames: a frame whose streams are small together is joined if that is smaller, and a large one never is.
func TestJoinedFrames(t *testing.T) {
	f := frame{size: 100}
	for i := range f.streams {
		f.streams[i] = []byte{byte(i)}
	}
	if b := f.encodeJoined(t.Context()); b == nil || b[1] != flagJoined {
		t.Errorf("% x", b)
	}
	f.streams[streamExtra] = make([]byte, maxJoined)
	if b := f.encodeJoined(t.Context()); b != nil {
		t.Errorf("%d bytes for streams above the cap", len(b))
	}
	if f.rawSize() != maxJoined+streamCount {
		t.Errorf("%d raw bytes", f.rawSize())
	}
}

// TestWindowsFitTheMemory: the windows of one frame's decoders together are what the memory bound allows for.
func TestWindowsFitTheMemory(t *testing.T) {
	for _, matches := range []int{0, manyMatches, manyMatches + 1, maxMatches} {
		sum := 24 * matches // bytes of the matches and of where they went
		for i := range streamCount {
			if i > streamShifts || matches == 0 { // the first three are gone when the others are read
				sum += 1 << window(i, matches)
			}
		}
		if sum += maxHeld + 16<<predict.CorrectionBits; sum > 50<<20 {
			t.Errorf("%d matches: %d bytes", matches, sum)
		}
	}
}

// TestPatchErrorText: the error says what, where and what to do.
func TestPatchErrorText(t *testing.T) {
	inner := errors.New("inner")
	e := &PatchError{What: "a stream is cut off", Offset: 77, Err: inner}
	if e.Error() != "patch, 77 bytes in: a stream is cut off: inner; fetch the contents another way" || !errors.Is(e, inner) {
		t.Error(e)
	}
	e = &PatchError{What: "it is empty"}
	if e.Error() != "patch, 0 bytes in: it is empty; fetch the contents another way" || errors.Unwrap(e) != nil {
		t.Error(e)
	}
}

// TestSink: bytes go to their contents, empty ones are opened in their turn, and faults are kept.
func TestSink(t *testing.T) {
	var got [5]bytes.Buffer
	var opened []int
	s := &sink{sizes: []int64{0, 3, 0, 2, 0}, write: func(i int) (io.Writer, error) { opened = append(opened, i); return &got[i], nil }}
	for _, piece := range []string{"a", "bcd", "e"} {
		if n, err := s.Write([]byte(piece)); err != nil || n != len(piece) {
			t.Fatal(n, err)
		}
	}
	if err := s.openNext(); err != nil || !slices.Equal(opened, []int{0, 1, 2, 3, 4}) || got[1].String() != "abc" || got[3].String() != "de" {
		t.Errorf("%v, opened %v, %q, %q", err, opened, &got[1], &got[3])
	}
	mine := errors.New("mine")
	s = &sink{sizes: []int64{1, 1}, write: func(i int) (io.Writer, error) { return &got[i], []error{nil, mine}[i] }}
	if _, err := s.Write([]byte("ab")); err != mine || s.err != mine {
		t.Errorf("%v, kept %v", err, s.err)
	}
}

// TestProgressOnlyRises: however much work is reported, the sum stops at 1; the callback is optional.
func TestProgressOnlyRises(t *testing.T) {
	var list []float64
	p := progress{report: func(done float64) { list = append(list, done) }}
	for _, part := range []float64{0.25, 0, 0.5, 0.5, 1} {
		p.add(part)
	}
	if !slices.Equal(list, []float64{0.25, 0.25, 0.75, 1, 1}) {
		t.Error(list)
	}
	(&progress{}).add(1)
	if sum := partSort + partMatch + partCode; sum < 0.999 || sum > 1.001 {
		t.Errorf("the parts are %v of the whole", sum)
	}
}

// TestMemoryEstimate: what MakePatch says that it needs rises with the contents, is no less than what it took, and leaves a module
// of 110 MB within the 1.5 GiB that a publisher has for it.
func TestMemoryEstimate(t *testing.T) {
	var o PatchOptions
	for _, took := range []struct{ module, peak int64 }{{11_427_952, 154e6}, {18_699_288, 267e6}, {100_917_352, 1_309e6}, {110_264_832, 1_430e6}} {
		if most := o.Memory(took.module, took.module); most < took.peak || most > 1536<<20 {
			t.Errorf("%d bytes for a module of %d, which took %d", most, took.module, took.peak)
		}
	}
	if o.Memory(0, 0) <= 0 || o.Memory(1000, 0) <= o.Memory(0, 0) || o.Memory(0, 1000) <= o.Memory(0, 0) {
		t.Error("it does not rise")
	}
}

// TestPatchHeldRefused: sizes beyond what an applier keeps in memory are refused before anything of the streams is read.
func TestPatchHeldRefused(t *testing.T) {
	patch := []byte(patchMagic + "\x00\x0a" + "\x0a\x00\x00")
	patch = binary.AppendUvarint(patch, maxHeld+1)
	patch = binary.AppendUvarint(patch, (maxHeld+1)<<1)
	patch = append(patch, make([]byte, streamCount-1)...)
	_, err := applied(bytes.NewReader(patch), [][]byte{nil}, []int64{10})
	var fault *PatchError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "beside its extra bytes") {
		t.Errorf("it says %v", err)
	}
}
