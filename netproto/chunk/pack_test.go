package chunk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"collet/platform/testlevel"
)

func TestPacksHoldEverything(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	contents := [][]byte{chunkProse(1, 300_000), nil, {7}, chunkNoise(1, sized(6<<20, packBatch+1)), chunkProse(2, 5000), make([]byte, 300_000), chunkProse(1, 300_000)}
	for i, o := range []PackOptions{{}, {Workers: 1}, {Effort: EffortFast}, {Effort: EffortBalanced, Workers: 3}, {MaxSize: 100_000}} {
		if testing.Short() && i > 0 {
			continue
		}
		s := newShelf()
		indexes, refs := s.publish(t, o, contents...)
		l := rebuild(t, s, nil, indexes, contents, 0)
		whole := int64(0)
		for _, r := range refs {
			if r.Size > MaxPack || o.MaxSize > 0 && r.Size > o.MaxSize {
				t.Errorf("a pack of %d bytes", r.Size)
			}
			whole += r.Size
		}
		if l.bytes > whole || l.bytes < whole-100 || len(l.opened) > len(refs)+1 {
			t.Errorf("with nothing here %d bytes in %d ranges were fetched of %d in %d packs", l.bytes, len(l.opened), whole, len(refs))
		}
		if !reflect.DeepEqual(indexes[0], indexes[6]) {
			t.Error("the same file twice has two indexes")
		}
	}
}

// TestPacksAreTheSameEachTime wants the same bytes whatever the number of workers and the sizes of reads.
func TestPacksAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	data := append(chunkNoise(4, packBatch), chunkProse(4, sized(1<<20, 100<<10))...)
	var first []*Index
	for _, workers := range []int{1, 4} {
		s := newShelf()
		p, err := NewPacker(PackOptions{Create: s.Create, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		ix, err := p.Add(context.Background(), Fine, iotest.HalfReader(bytes.NewReader(data)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if first = append(first, ix); !reflect.DeepEqual(first[0], ix) {
			t.Errorf("%d workers made another pack", workers)
		}
	}
}

// TestContextPays compares chunks with the same chunks packed by themselves.
func TestContextPays(t *testing.T) {
	testlevel.Slow(t)
	data := chunkProse(9, 600_000)
	s := newShelf()
	_, refs := s.publish(t, PackOptions{}, data)
	alone, err := newChunkEncoder(1)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.close()
	sum := 0
	for rest := data; len(rest) > 0; {
		n := Fine.Cut(rest)
		packed, err := alone.encode(rest[:n], nil)
		if err != nil {
			t.Fatal(err)
		}
		sum += len(packed)
		rest = rest[n:]
	}
	if refs[0].Size > int64(sum)*85/100 {
		t.Errorf("%d bytes with context, %d without", refs[0].Size, sum)
	}
}

// edited is a copy of data with n edits of size bytes, spread out.
func edited(data []byte, n, size int) []byte {
	b := bytes.Clone(data)
	for i := range n {
		copy(b[(2*i+1)*len(b)/(2*n):], chunkNoise(int64(i+100), size))
	}
	return b
}

func TestReleaseAfterRelease(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	s := newShelf()
	releases := [][]byte{append(chunkProse(1, sized(1<<20, 100<<10)), chunkNoise(1, sized(3<<20, 300<<10))...)}
	var known []*Index
	for n := range 4 {
		indexes, refs := s.publish(t, PackOptions{Known: known}, releases[n])
		size := int64(0)
		for _, r := range refs {
			size += r.Size
		}
		if n > 0 && size > 1<<20 {
			t.Errorf("release %d needs %d bytes of new packs", n, size)
		}
		known = append(known, indexes...)
		releases = append(releases, edited(releases[n], 3+n, 2000))
	}
	again, refs := s.publish(t, PackOptions{Known: known}, releases[3])
	if len(refs) != 0 || !reflect.DeepEqual(again[0], known[3]) {
		t.Errorf("a release that changes nothing made packs %v", refs)
	}
	for from := range 3 {
		l := rebuild(t, s, [][]byte{releases[from]}, []*Index{known[3]}, [][]byte{releases[3]}, 0)
		if l.bytes > 500_000 {
			t.Errorf("from release %d: %d bytes", from, l.bytes)
		}
	}
	rebuild(t, s, nil, []*Index{known[3]}, [][]byte{releases[3]}, 0)
	if l := rebuild(t, s, [][]byte{releases[3]}, []*Index{known[3]}, [][]byte{releases[3]}, 0); l.bytes != 0 {
		t.Errorf("from itself: %d bytes", l.bytes)
	}
}

// TestRepeatsAreFetchedOnce has the same contents inside one file and in two.
func TestRepeatsAreFetchedOnce(t *testing.T) {
	unit := chunkNoise(3, 700_000)
	contents := [][]byte{bytes.Repeat(unit, 3), append(chunkNoise(4, 100_000), unit...)}
	s := newShelf()
	indexes, _ := s.publish(t, PackOptions{}, contents...)
	if l := rebuild(t, s, nil, indexes, contents, 0); l.bytes > 900_000 {
		t.Errorf("%d bytes were fetched", l.bytes)
	}
}

func TestOfferIndexReadsNothingAndForgives(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	unit := sized(1<<20, 200<<10)
	old := append(chunkProse(1, 2*unit), chunkNoise(2, 2*unit)...)
	now := edited(old, 5, 3000)
	s := newShelf()
	was, _ := s.publish(t, PackOptions{}, old)
	is, _ := s.publish(t, PackOptions{Known: was}, now)
	damaged := bytes.Clone(old)
	copy(damaged[unit:], make([]byte, 5000))
	for name, c := range map[string]struct {
		source []byte
		extra  int
	}{"as it was": {old, 0}, "damaged": {damaged, 3}, "cut short": {old[:3*unit], 9}, "empty": {[]byte{}, 40}, "gone": {nil, 40}} {
		p, err := NewPlan(is)
		if err != nil {
			t.Fatal(err)
		}
		p.OfferIndex(0, was[0])
		ranges := p.Missing(0)
		l, d := &link{from: s}, &shelfDisk{sources: [][]byte{c.source}}
		if err := p.Assemble(context.Background(), d, l.open); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameFiles(t, d, [][]byte{now})
		if extra := len(l.opened) - len(ranges); extra > c.extra || (c.extra > 0) != (extra > 0) {
			t.Errorf("%s: %d ranges more than planned", name, extra)
		}
	}
}

// TestAnyStory is what clients do: some old files, some damaged, any gap, files built together or one by one.
func TestAnyStory(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	base := [][]byte{chunkProse(11, 60_000), chunkNoise(12, 90_000), chunkProse(13, 3000)}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		s := newShelf()
		var old, now [][]byte
		for i := range base {
			b := base[i]
			if r.Intn(2) == 0 {
				b = edited(b, 1+r.Intn(4), 1+r.Intn(2000))
			}
			old = append(old, b)
			at := r.Intn(len(b))
			switch r.Intn(4) {
			case 0:
				b = append(append(bytes.Clone(b[:at]), chunkNoise(r.Int63(), r.Intn(3000))...), b[at:]...)
			case 1:
				b = append(bytes.Clone(b[:at]), b[min(len(b), at+r.Intn(9000)):]...)
			case 2:
				b = append(bytes.Clone(b), base[r.Intn(len(base))]...)
			}
			now = append(now, b)
		}
		was, _ := s.publish(t, PackOptions{Workers: 1, MaxSize: 30_000 + r.Int63n(100_000)}, old...)
		is, _ := s.publish(t, PackOptions{Workers: 1, Known: was[:r.Intn(len(was)+1)]}, now...)
		r.Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
		rebuild(t, s, old[:r.Intn(len(old)+1)], is, now, int64(r.Intn(20_000)))
	})
}

func TestMissingRanges(t *testing.T) {
	refs := []PackRef{{Digest: [32]byte{1}, Size: 10_000}, {Digest: [32]byte{2}, Size: 10_000}}
	chunkAt := func(n byte, pack int32, offset int64) Chunk {
		return Chunk{Sum: ChunkSum{n}, Size: 100, Packed: 100, Pack: pack, Offset: offset}
	}
	ix := &Index{Grain: Fine, Packs: refs, Chunks: []Chunk{
		chunkAt(1, 0, 0), chunkAt(2, 0, 100), chunkAt(3, 1, 500), chunkAt(4, 0, 250), chunkAt(5, 1, 600), chunkAt(6, 0, 240+1000), chunkAt(7, 0, 600), chunkAt(1, 0, 0),
	}}
	for _, c := range []struct {
		gap  int64
		want string
	}{
		{0, "1+0:200 2+500:200 1+250:100 1+1240:100 1+600:100"},
		{-5, "1+0:200 2+500:200 1+250:100 1+1240:100 1+600:100"},
		{49, "1+0:200 2+500:200 1+250:100 1+1240:100 1+600:100"},
		{50, "1+0:350 2+500:200 1+1240:100 1+600:100"},
		{5000, "1+0:1340 2+500:200 1+600:100"},
	} {
		p, err := NewPlan([]*Index{ix})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range p.Missing(c.gap) {
			got = append(got, fmt.Sprintf("%d+%d:%d", r.Pack.Digest[0], r.Offset, r.Size))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("gap %d: %s, want %s", c.gap, text, c.want)
		}
	}
}

func TestGapFor(t *testing.T) {
	for _, c := range []struct {
		trip     time.Duration
		rate     float64
		inFlight int
		want     int64
	}{
		{20 * time.Millisecond, 6.25e6, 5, 25_512}, {0, 6.25e6, 5, 512}, {100 * time.Millisecond, 6.25e6, 1, 625_512},
		{time.Second, 1e9, 1, 1 << 20}, {-time.Second, 1e9, 1, 512}, {time.Millisecond, 1e6, 0, 1512},
	} {
		if got := GapFor(c.trip, c.rate, c.inFlight); got != c.want {
			t.Errorf("GapFor(%v, %v, %d) = %d, want %d", c.trip, c.rate, c.inFlight, got, c.want)
		}
	}
}

func TestWrongPacks(t *testing.T) {
	contents := [][]byte{append(chunkProse(1, sized(400_000, 60_000)), chunkNoise(1, 100_000)...)}
	s := newShelf()
	indexes, _ := s.publish(t, PackOptions{}, contents...)
	mine := errors.New("mine")
	for name, c := range map[string]struct {
		mangle func(r Range, data []byte) []byte
		want   func(error) bool
	}{
		"a bit of a packed chunk": {func(_ Range, d []byte) []byte { d[20] ^= 1; return d }, isDamage},
		"a bit of a stored chunk": {func(_ Range, d []byte) []byte { d[len(d)-5] ^= 1; return d }, isDamage},
		"the wrong place":         {func(_ Range, d []byte) []byte { return append(d[1:], 0) }, isDamage},
		"short":                   {func(_ Range, d []byte) []byte { return d[:len(d)-1] }, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"nothing":                 {func(_ Range, d []byte) []byte { return nil }, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
	} {
		p, err := NewPlan(indexes)
		if err != nil {
			t.Fatal(err)
		}
		p.Missing(0)
		l := &link{from: s, mangle: c.mangle}
		if err := p.Assemble(context.Background(), &shelfDisk{}, l.open); !c.want(err) || l.live != 0 {
			t.Errorf("%s: %v, %d ranges left open", name, err, l.live)
		}
	}
	p, err := NewPlan(indexes)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Assemble(context.Background(), &shelfDisk{}, (&link{from: s}).open); !errors.Is(err, errNotPlanned) {
		t.Errorf("without Missing: %v", err)
	}
	p.Missing(0)
	if err := p.Assemble(context.Background(), &shelfDisk{}, (&link{from: s, refuses: mine}).open); !errors.Is(err, mine) {
		t.Errorf("a link that refuses: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Assemble(gone, &shelfDisk{}, (&link{from: s}).open); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestIndexThatLies has chunks that decode to more, to less and to other bytes than they should.
func TestIndexThatLies(t *testing.T) {
	s := newShelf()
	indexes, _ := s.publish(t, PackOptions{}, chunkProse(1, 100_000))
	for name, spoil := range map[string]func(c *Chunk){
		"larger":        func(c *Chunk) { c.Size++ },
		"smaller":       func(c *Chunk) { c.Size-- },
		"another sum":   func(c *Chunk) { c.Sum[0]++ },
		"stored":        func(c *Chunk) { c.Size = c.Packed },
		"another place": func(c *Chunk) { c.Offset++ },
	} {
		ix := &Index{Grain: indexes[0].Grain, Packs: indexes[0].Packs, Chunks: append([]Chunk(nil), indexes[0].Chunks...)}
		spoil(&ix.Chunks[3])
		p, err := NewPlan([]*Index{ix})
		if err != nil {
			t.Fatal(err)
		}
		p.Missing(0)
		if err := p.Assemble(context.Background(), &shelfDisk{}, (&link{from: s}).open); !isDamage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// brokenDisk fails at one of its methods.
type brokenDisk struct {
	shelfDisk
	at  string
	err error
}

func (d *brokenDisk) Create(n int) (Output, error) {
	if d.at == "create" {
		return nil, d.err
	}
	out, err := d.shelfDisk.Create(n)
	if d.at == "write" {
		return brokenOutput{out, d.err}, err
	}
	return out, err
}

func (d *brokenDisk) Source(n int) (io.ReaderAt, error) {
	if d.at == "source" {
		return nil, d.err
	}
	return d.shelfDisk.Source(n)
}

func (d *brokenDisk) Written(n int) (io.ReaderAt, error) {
	if d.at == "written" {
		return nil, d.err
	}
	return d.shelfDisk.Written(n)
}

type brokenOutput struct {
	Output
	err error
}

func (o brokenOutput) Write([]byte) (int, error) { return 0, o.err }

func TestDiskFaultsPassThrough(t *testing.T) {
	old := chunkNoise(1, 300_000)
	unit := chunkNoise(2, 300_000)
	now := append(append(append([]byte(nil), old...), unit...), unit...)
	s := newShelf()
	indexes, _ := s.publish(t, PackOptions{}, now)
	mine := errors.New("disk is full")
	for _, at := range []string{"create", "write", "source", "written"} {
		p, err := NewPlan(indexes)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.OfferFile(context.Background(), 0, Fine, bytes.NewReader(old)); err != nil {
			t.Fatal(err)
		}
		p.Missing(0)
		d := &brokenDisk{shelfDisk{sources: [][]byte{old}}, at, mine}
		if err := p.Assemble(context.Background(), d, (&link{from: s}).open); !errors.Is(err, mine) || isDamage(err) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

type brokenPack struct{ write, close error }

func (b brokenPack) Write(p []byte) (int, error) { return len(p), b.write }
func (b brokenPack) Close() error                { return b.close }

func TestPackerFaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	mine := errors.New("mine")
	for name, create := range map[string]func() (io.WriteCloser, error){
		"create": func() (io.WriteCloser, error) { return nil, mine },
		"write":  func() (io.WriteCloser, error) { return brokenPack{write: mine}, nil },
		"close":  func() (io.WriteCloser, error) { return brokenPack{close: mine}, nil },
	} {
		p, err := NewPacker(PackOptions{Create: create, MaxSize: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Add(context.Background(), Coarse, bytes.NewReader(chunkNoise(1, 500_000)))
		_, closed := p.Close()
		if !errors.Is(errors.Join(err, closed), mine) {
			t.Errorf("%s: %v, %v", name, err, closed)
		}
		if name != "close" {
			if _, err := p.Add(context.Background(), Coarse, bytes.NewReader(chunkNoise(2, 100_000))); !errors.Is(err, mine) {
				t.Errorf("%s, again: %v", name, err)
			}
		}
	}
	s := newShelf()
	p, err := NewPacker(PackOptions{Create: s.Create})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Add(context.Background(), 11, bytes.NewReader(nil)); err == nil {
		t.Error("grain 11 is taken")
	}
	if _, err := p.Add(context.Background(), Fine, failing([]byte{1}, mine)); !errors.Is(err, mine) {
		t.Errorf("a reader's fault: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Add(gone, Fine, bytes.NewReader(chunkProse(1, 100_000))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if refs, err := p.Close(); err != nil || len(refs) != 0 {
		t.Errorf("closed with %v, %v", refs, err)
	}
}

// TestGoldenPack pins how a packed chunk is read: the frames were written once, and a new encoder may write others.
func TestGoldenPack(t *testing.T) {
	const size = 40_000
	content := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", size/45+1)[:size])
	for i := 0; i < size; i += 97 {
		content[i] = knownBytes("golden pack", size)[i]
	}
	path := filepath.Join("testdata", "pack.bin")
	if *update {
		s := newShelf()
		indexes, refs := s.publish(t, PackOptions{}, content)
		data, err := EncodeIndex(indexes[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, s.packs[refs[0].Digest], 0o644); err != nil {
			t.Fatal(err)
		}
		golden(t, "pack_index.txt", hex.EncodeToString(data)+"\n")
	}
	pack, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "pack_index.txt"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := ParseIndex(data)
	if err != nil {
		t.Fatal(err)
	}
	s := newShelf()
	s.packs[sha256.Sum256(pack)] = pack
	rebuild(t, s, nil, []*Index{ix}, [][]byte{content}, 0)
}

// FuzzDecodeChunk wants no more bytes than the index says and no panic, whatever a pack has.
func FuzzDecodeChunk(f *testing.F) {
	context := chunkProse(1, 5000)
	e, err := newChunkEncoder(1)
	if err != nil {
		f.Fatal(err)
	}
	defer e.close()
	packed, err := e.encode(chunkProse(2, 3000), context)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed, 3000)
	f.Add(zstdOf(f, make([]byte, 1<<20)), MaxChunk)
	dec, err := newChunkDecoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, packed []byte, size int) {
		if size < 1 || size > MaxChunk || len(packed) < 1 || len(packed) > size {
			return
		}
		c := &Chunk{Size: int32(size), Packed: int32(len(packed)), Sum: SumChunk(make([]byte, size))}
		if data, err := dec.decode(c, packed, context); err == nil && !bytes.Equal(data, make([]byte, size)) {
			t.Fatal("other bytes were taken")
		}
	})
}

// FuzzUnpackObject wants at most the bytes that are allowed and no panic.
func FuzzUnpackObject(f *testing.F) {
	text := chunkProse(2, 3000)
	brotli, err := brotliOf(text, int64(len(text)), brotliSegment)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(zstdOf(f, text), uint8(Zstd), 3000)
	f.Add(zstdOf(f, make([]byte, 1<<20)), uint8(Zstd), 1<<20)
	f.Add(brotli, uint8(Brotli), 3000)
	f.Add(text, uint8(Stored), 3000)
	f.Fuzz(func(t *testing.T, object []byte, e uint8, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		var out bytes.Buffer
		err := UnpackObject(context.Background(), &out, bytes.NewReader(object), Encoding(e), int64(size))
		if out.Len() > size || err == nil && out.Len() != size || err != nil && !isDamage(err) {
			t.Fatalf("%d of %d bytes, %v", out.Len(), size, err)
		}
	})
}

// BenchmarkAssemble prints MB of output a second: all chunks fetched, or all of them here.
func BenchmarkAssemble(b *testing.B) {
	content := append(chunkProse(1, 16<<20), chunkNoise(1, 16<<20)...)
	s := newShelf()
	indexes, _ := s.publish(b, PackOptions{}, content)
	for name, here := range map[string][][]byte{"fetched": nil, "here": {content}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				p, err := NewPlan(indexes)
				if err != nil {
					b.Fatal(err)
				}
				for n := range here {
					p.OfferIndex(n, indexes[0])
				}
				p.Missing(0)
				if err := p.Assemble(context.Background(), &shelfDisk{sources: here}, (&link{from: s}).open); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
