package deflate

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"collet/platform/testlevel"
)

// pack is an archive of some texts by the usual parameters.
func pack(t testing.TB, n int) []byte {
	t.Helper()
	var list []member
	for i := range n {
		list = append(list, member{fmt.Sprintf("folder/%04d.js", i), sample("text", uint64(i), 200+i*37%9000), zip.Deflate, usual})
	}
	return archive(t, list...)
}

func TestZip(t *testing.T) {
	r, form := roundTrip(t, pack(t, 40))
	if r.Streams() != 40 || r.count() != 40 || len(r.Append(nil)) > 5 {
		t.Errorf("%d of %d streams, a recipe of %d bytes", r.count(), r.Streams(), len(r.Append(nil)))
	}
	if !bytes.Contains(form, sample("text", 39, 200+39*37%9000)) {
		t.Error("the form does not have the plain content")
	}
}

// TestZipMixtures has stored, deflated and foreign entries, names that occur twice, and different parameters.
func TestZipMixtures(t *testing.T) {
	file := archive(t,
		member{"stored", sample("noise", 1, 5000), zip.Store, usual},
		member{"twice", sample("text", 2, 50_000), zip.Deflate, usual},
		member{"twice", sample("text", 3, 60_000), zip.Deflate, usual},
		member{"empty", nil, zip.Deflate, usual},
		member{"nine", sample("text", 4, 200_000), zip.Deflate, Params{9, 8, false}},
		member{"info-zip", sample("text", 5, 150_000), zip.Deflate, Params{Level: 6}},
		member{"stored", sample("text", 6, 5000), zip.Store, usual},
	)
	if r, _ := roundTrip(t, file); r.count() != 4 {
		t.Errorf("%d streams are inflated", r.count())
	}
}

// foreign is an archive by Go's own compressor, which is not zlib.
func foreign(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 5 {
		out, err := w.Create(fmt.Sprint(i))
		if err == nil {
			_, err = out.Write(sample("text", uint64(i), 20_000))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestForeign leaves streams of other encoders as they are, alone and beside ours.
func TestForeign(t *testing.T) {
	file := foreign(t)
	if r, form := roundTrip(t, file); r.Streams() != 5 || r.Expands() || !bytes.Equal(form, file) {
		t.Errorf("%d of %d streams are inflated", r.count(), r.Streams())
	}
	entry := file[:bytes.LastIndex(file, []byte("PK\x01\x02"))]
	list, err := scan(bytes.NewReader(file), int64(len(file)), int64(len(file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, s := range list {
		for _, packed := range [][]byte{entry[s.start:][:s.size], compress(t, usual, sample("text", uint64(i), 20_000))} {
			out, err := w.CreateRaw(&zip.FileHeader{Name: "f", Method: zip.Deflate, CompressedSize64: uint64(len(packed)), UncompressedSize64: 20_000})
			if err == nil {
				_, err = out.Write(packed)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r, _ := roundTrip(t, b.Bytes()); r.Streams() != 10 || r.count() != 5 {
		t.Errorf("%d of %d streams are inflated", r.count(), r.Streams())
	}
}

// TestZipPlaces has bytes before, between and behind the entries, and a comment.
func TestZipPlaces(t *testing.T) {
	file := pack(t, 6)
	if r, _ := roundTrip(t, append(sample("noise", 9, 777), file...)); r.count() != 6 {
		t.Errorf("behind a program: %d streams", r.count())
	}
	comment := slices.Clone(file)
	binary.LittleEndian.PutUint16(comment[len(comment)-2:], 300)
	comment = append(comment, sample("text", 3, 300)...)
	if r, _ := roundTrip(t, comment); r.count() != 6 {
		t.Errorf("with a comment: %d streams", r.count())
	}
	text := member{name: "f", data: sample("text", 3, 30_000)}
	if r, _ := roundTrip(t, gapped(t, text, text, text)); r.count() != 3 {
		t.Errorf("with bytes between the entries: %d streams", r.count())
	}
}

// gapped is an archive with bytes between the entries that belong to none.
func gapped(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		packed := compress(t, usual, m.data)
		out, err := w.CreateRaw(&zip.FileHeader{
			Name: m.name, Extra: sample("zeros", 1, 16), Method: zip.Deflate, CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(m.data)),
		})
		if err == nil {
			_, err = out.Write(append(packed, sample("noise", 8, 99)...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zip64 turns an archive into one with 64-bit numbers, in directory and end.
func zip64(t testing.TB, file []byte) []byte {
	t.Helper()
	end := len(file) - zipEndSize
	size, offset := binary.LittleEndian.Uint32(file[end+12:]), binary.LittleEndian.Uint32(file[end+16:])
	out := slices.Clone(file[:offset])
	start := len(out)
	for b := file[offset : offset+size]; len(b) > 0; {
		name, extra := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:]))
		e := slices.Clone(b[:zipEntrySize+name])
		wide := binary.LittleEndian.AppendUint16(nil, 0x9999) // another extra field precedes it
		wide = append(binary.LittleEndian.AppendUint16(wide, 2), 1, 2)
		wide = binary.LittleEndian.AppendUint16(wide, zip64Extra)
		wide = binary.LittleEndian.AppendUint16(wide, 24)
		for _, at := range []int{24, 20, 42} {
			wide = binary.LittleEndian.AppendUint64(wide, uint64(binary.LittleEndian.Uint32(e[at:])))
			binary.LittleEndian.PutUint32(e[at:], zip32Saturated)
		}
		binary.LittleEndian.PutUint16(e[30:], uint16(len(wide)))
		out = append(append(out, e...), wide...)
		b = b[zipEntrySize+name+extra:]
	}
	length := len(out) - start
	record := binary.LittleEndian.AppendUint32(nil, zip64End)
	record = binary.LittleEndian.AppendUint64(record, zip64EndSize-12)
	record = append(record, make([]byte, 28)...)
	record = binary.LittleEndian.AppendUint64(record, uint64(length))
	record = binary.LittleEndian.AppendUint64(record, uint64(start))
	record = binary.LittleEndian.AppendUint32(record, zip64Locator)
	record = append(record, make([]byte, zip64Place-4)...)
	tail := slices.Clone(file[end:])
	binary.LittleEndian.PutUint32(tail[12:], zip32Saturated)
	binary.LittleEndian.PutUint32(tail[16:], zip32Saturated)
	return append(append(out, record...), tail...)
}

func TestZip64(t *testing.T) {
	if r, _ := roundTrip(t, zip64(t, pack(t, 7))); r.count() != 7 {
		t.Errorf("%d streams are inflated", r.count())
	}
}

// TestManyEntries has 10,000 entries.
func TestManyEntries(t *testing.T) {
	testlevel.Slow(t)
	var list []member
	for i := range 10_000 {
		list = append(list, member{fmt.Sprint("a/", i), sample("text", uint64(i%50), 100+i%300), zip.Deflate, usual})
	}
	if r, _ := roundTrip(t, archive(t, list...)); r.count() != 10_000 {
		t.Errorf("%d streams are inflated", r.count())
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "name", "a comment", []byte("extra")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	head := b.Bytes()[:10+2+5+5+10]
	data := sample("mixture", 3, 300_000)
	file := append(slices.Clone(head), compress(t, Params{Level: 6}, data)...)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(data))<<32)
	r, form := roundTrip(t, file)
	if r.count() != 1 || len(form) != len(head)+len(data)+8 {
		t.Errorf("%d streams, a form of %d bytes", r.count(), len(form))
	}
	if r, _ := roundTrip(t, append(slices.Clone(file), file...)); r.Expands() {
		t.Error("a file with two members is expanded")
	}
}

// TestLarge has streams that are not held in memory.
func TestLarge(t *testing.T) {
	testlevel.Slow(t)
	big := bytes.Repeat(sample("text", 1, 1<<20), 3*batchBytes/2>>20)
	file := archive(t, member{"small", sample("text", 2, 9000), zip.Deflate, usual}, member{"big", big, zip.Deflate, Params{1, 8, false}},
		member{"noise", bytes.Repeat(sample("noise", 3, 1<<20), 5*batchBytes/4>>20), zip.Deflate, Params{1, 8, false}}, member{"small", sample("text", 4, 9000), zip.Deflate, usual})
	if r, _ := roundTrip(t, file); r.count() != 4 {
		t.Errorf("%d streams are inflated", r.count())
	}
}

// TestTruncated cuts an archive and a gzip file at many places: no cut file is expanded, or it survives.
func TestTruncated(t *testing.T) {
	file := pack(t, 12)
	for at := 0; at < len(file); at += testlevel.Stride(len(file)/200, len(file)/40) {
		roundTrip(t, file[:at])
		roundTrip(t, file[at:])
	}
}

// TestDamaged changes bytes of an archive: its form survives, with fewer streams at most.
func TestDamaged(t *testing.T) {
	file := zip64(t, pack(t, 12))
	r := rand.New(rand.NewPCG(8, 8))
	rounds := 100
	if testlevel.Full() {
		rounds = 5000
	}
	for range rounds {
		bad := slices.Clone(file)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(bad))
			if r.IntN(2) == 0 { // the directory is where most can go wrong
				at = len(bad) - 1 - r.IntN(1200)
			}
			bad[at] ^= byte(1 + r.IntN(255))
		}
		roundTrip(t, bad)
	}
}

// TestBomb claims and has more than the limit.
func TestBomb(t *testing.T) {
	file := archive(t, member{"zeros", make([]byte, 1<<20), zip.Deflate, usual})
	r, form := roundTrip(t, file)
	var wrong *FileError
	out := &failing{}
	err := Expand(t.Context(), out, bytes.NewReader(file), int64(len(file)), int64(len(form))-1, r)
	if !errors.As(err, &wrong) {
		t.Errorf("a form over the limit gives %v", err)
	}
	claim := bytes.LastIndex(file, []byte("PK\x01\x02")) + 24
	for _, size := range []uint32{1<<20 - 1, 1<<20 + 1, 1 << 10, 1 << 31} {
		lie := slices.Clone(file)
		binary.LittleEndian.PutUint32(lie[claim:], size)
		if err := Expand(t.Context(), io.Discard, bytes.NewReader(lie), int64(len(lie)), 1<<40, r); !errors.As(err, &wrong) {
			t.Errorf("a stream that claims %d bytes gives %v", size, err)
		}
		if got, _ := roundTrip(t, lie); got.Expands() {
			t.Errorf("a stream that claims %d bytes is expanded", size)
		}
	}
}

// TestWrongRecipe rebuilds and expands by recipes that do not fit.
func TestWrongRecipe(t *testing.T) {
	file := pack(t, 5)
	good, form := roundTrip(t, file)
	other := func(list ...Params) (r Recipe) {
		for _, p := range list {
			r.add(p)
		}
		return r
	}
	for name, r := range map[string]Recipe{
		"fewer streams": other(usual, usual, usual, usual),
		"more streams":  other(usual, usual, usual, usual, usual, usual),
		"a level":       other(usual, usual, Params{1, 8, false}, usual, usual),
		"none inflated": other(Params{}, Params{}, Params{}, Params{}, Params{}),
	} {
		var out bytes.Buffer
		err := Rebuild(t.Context(), &out, bytes.NewReader(form), int64(len(form)), int64(len(file)), r)
		if err == nil && bytes.Equal(out.Bytes(), file) {
			t.Errorf("%s: the file is rebuilt", name)
		}
	}
	wrong := slices.Clone(form)
	wrong[len(wrong)/2]++
	var out bytes.Buffer
	err := Rebuild(t.Context(), &out, bytes.NewReader(wrong), int64(len(wrong)), int64(len(file)), good)
	if err == nil && bytes.Equal(out.Bytes(), file) {
		t.Error("a wrong form rebuilds the file")
	}
}

// TestErrors passes errors of files and of the caller on.
func TestErrors(t *testing.T) {
	file := pack(t, 5)
	r, form := roundTrip(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Expand(ctx, io.Discard, bytes.NewReader(file), int64(len(file)), 1<<40, r); !errors.Is(err, context.Canceled) {
		t.Errorf("expand: %v", err)
	}
	if err := Rebuild(ctx, io.Discard, bytes.NewReader(form), int64(len(form)), int64(len(file)), r); !errors.Is(err, context.Canceled) {
		t.Errorf("rebuild: %v", err)
	}
	if _, err := Analyze(ctx, bytes.NewReader(file), int64(len(file)), 2); !errors.Is(err, context.Canceled) {
		t.Errorf("analyze: %v", err)
	}
	if err := Expand(t.Context(), &failing{left: 500}, bytes.NewReader(file), int64(len(file)), 1<<40, r); !errors.Is(err, errFailing) {
		t.Errorf("expand to a failing writer: %v", err)
	}
	if err := Rebuild(t.Context(), &failing{left: 500}, bytes.NewReader(form), int64(len(form)), int64(len(file)), r); !errors.Is(err, errFailing) {
		t.Errorf("rebuild to a failing writer: %v", err)
	}
	if _, err := Analyze(t.Context(), bytes.NewReader(file[:len(file)-300]), int64(len(file)), 2); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("analyze a file that became shorter: %v", err)
	}
}

// TestAnalyzeWorkers gives the same recipe for any number of workers.
func TestAnalyzeWorkers(t *testing.T) {
	var list []member
	for i := range 120 {
		list = append(list, member{fmt.Sprint(i), sample("text", uint64(i), 30+i*50), zip.Deflate, every()[i%4]})
	}
	file := archive(t, list...)
	var first []byte
	for _, workers := range []int{1, 2, 7} {
		r, err := Analyze(t.Context(), bytes.NewReader(file), int64(len(file)), workers)
		if err != nil {
			t.Fatal(err)
		}
		if coded := r.Append(nil); first == nil {
			first = coded
		} else if !bytes.Equal(coded, first) {
			t.Errorf("%d workers make another recipe", workers)
		}
	}
}

// FuzzFile analyzes, expands and rebuilds any file.
func FuzzFile(f *testing.F) {
	f.Add(pack(f, 3))
	f.Add(zip64(f, pack(f, 2)))
	f.Add(foreign(f))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) { roundTrip(t, file) })
}

// FuzzRebuild rebuilds from any form with any recipe: it must end, with an error or not.
func FuzzRebuild(f *testing.F) {
	file := pack(f, 3)
	r, form := roundTrip(f, file)
	f.Add(form, r.Append(nil), len(file))
	f.Fuzz(func(t *testing.T, form, recipe []byte, size int) {
		r, _, err := ReadRecipe(recipe)
		if err != nil || r.Streams() > 1000 {
			return
		}
		out := &limitedBuffer{limit: 1 << 20}
		_ = Rebuild(t.Context(), out, bytes.NewReader(form), int64(len(form)), int64(size), r)
	})
}
