package chunk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

// someIndex is an index that follows the rules, from a seed.
func someIndex(seed int64, chunks int) *Index {
	r := rand.New(rand.NewSource(seed))
	ix := &Index{Grain: Fine + Grain(r.Intn(3))}
	packs := 1 + r.Intn(3)
	for i := range chunks {
		pack := min(r.Intn(packs), len(ix.Packs))
		if pack == len(ix.Packs) {
			ix.Packs = append(ix.Packs, PackRef{Digest: [32]byte{byte(pack), 7}, Size: MaxPack - int64(pack)})
		}
		c := Chunk{Size: 1 + int32(r.Intn(MaxChunk)), Pack: int32(pack)}
		c.Packed = c.Size
		if r.Intn(3) > 0 {
			c.Packed = 1 + int32(r.Intn(int(c.Size)))
		}
		c.Offset = r.Int63n(MaxPack - MaxChunk - 10)
		if i > 0 && r.Intn(8) > 0 {
			last := ix.Chunks[i-1]
			if end := last.Offset + int64(last.Packed); end+int64(c.Packed) <= ix.Packs[last.Pack].Size {
				c.Pack, c.Offset = last.Pack, end
			}
		}
		r.Read(c.Sum[:])
		ix.Chunks = append(ix.Chunks, c)
	}
	return ix
}

// trimmed removes packs that no chunk uses, which someIndex may leave.
func trimmed(ix *Index) *Index {
	if err := ix.check(); err == nil {
		return ix
	}
	slots := map[int32]int32{}
	var packs []PackRef
	for i := range ix.Chunks {
		c := &ix.Chunks[i]
		n, there := slots[c.Pack]
		if !there {
			n = int32(len(packs))
			slots[c.Pack] = n
			packs = append(packs, ix.Packs[c.Pack])
		}
		c.Pack = n
	}
	ix.Packs = packs
	return ix
}

func TestIndexRoundTrip(t *testing.T) {
	for seed := range int64(60) {
		chunks := int(seed)
		if seed > 50 {
			chunks = 3000
		}
		ix := trimmed(someIndex(seed, chunks))
		data, err := EncodeIndex(ix)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseIndex(data)
		if err != nil || !reflect.DeepEqual(got, ix) {
			t.Fatalf("seed %d: %v\n%v\n%v", seed, err, got, ix)
		}
		for n := range data {
			if n > 200 && n < len(data)-200 {
				continue
			}
			if _, err := ParseIndex(data[:n]); !isDamage(err) {
				t.Fatalf("seed %d cut at %d: %v", seed, n, err)
			}
		}
		if _, err := ParseIndex(append(data, 0)); !isDamage(err) {
			t.Fatalf("seed %d with a byte behind: %v", seed, err)
		}
	}
}

func TestIndexSize(t *testing.T) {
	testlevel.Slow(t)
	s := newShelf()
	text, _ := s.publish(t, PackOptions{}, chunkProse(1, 1<<20))
	incompressible, _ := s.publish(t, PackOptions{}, chunkNoise(1, 4<<20))
	for name, c := range map[string]struct {
		ix  *Index
		max float64
	}{"text": {text[0], 12.5}, "noise": {incompressible[0], 10.1}} {
		data, err := EncodeIndex(c.ix)
		if err != nil {
			t.Fatal(err)
		}
		if each := float64(len(data)) / float64(len(c.ix.Chunks)); each > c.max {
			t.Errorf("%s: %.2f bytes for each chunk", name, each)
		}
	}
}

// goldenIndex is small enough to be read.
func goldenIndex() *Index {
	sum := func(n byte) ChunkSum { return ChunkSum{n, 1, 2, 3, 4, 5, 6, n} }
	return &Index{Grain: Medium, Packs: []PackRef{{Digest: [32]byte{0xAA, 31: 0x01}, Size: 100_000}, {Digest: [32]byte{0xBB, 31: 0x02}, Size: 5}}, Chunks: []Chunk{
		{Sum: sum(1), Size: 8200, Packed: 3000, Pack: 0, Offset: 0},
		{Sum: sum(2), Size: MaxChunk, Packed: MaxChunk, Pack: 0, Offset: 3000},
		{Sum: sum(3), Size: 5, Packed: 5, Pack: 1, Offset: 0},
		{Sum: sum(1), Size: 8200, Packed: 3000, Pack: 0, Offset: 0},
		{Sum: sum(4), Size: 2, Packed: 1, Pack: 0, Offset: 99_999},
	}}
}

func TestGoldenIndex(t *testing.T) {
	data, err := EncodeIndex(goldenIndex())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "index.txt", strings.TrimSpace(hex.Dump(data))+"\n")
	if ix, err := ParseIndex(data); err != nil || !reflect.DeepEqual(ix, goldenIndex()) {
		t.Errorf("read back as %v, %v", ix, err)
	}
}

func TestEncodeIndexRefuses(t *testing.T) {
	for name, spoil := range map[string]func(ix *Index){
		"no grain":               func(ix *Index) { ix.Grain = 0 },
		"a grain too coarse":     func(ix *Index) { ix.Grain = Coarse + 1 },
		"an empty chunk":         func(ix *Index) { ix.Chunks[0].Size = 0 },
		"a chunk too large":      func(ix *Index) { ix.Chunks[1].Size, ix.Chunks[1].Packed = MaxChunk+1, MaxChunk },
		"nothing packed":         func(ix *Index) { ix.Chunks[0].Packed = 0 },
		"packed larger":          func(ix *Index) { ix.Chunks[0].Packed = ix.Chunks[0].Size + 1 },
		"no such pack":           func(ix *Index) { ix.Chunks[4].Pack = 2 },
		"a pack below 0":         func(ix *Index) { ix.Chunks[4].Pack = -1 },
		"packs out of order":     func(ix *Index) { ix.Chunks[0].Pack, ix.Chunks[0].Packed = 1, 1 },
		"an offset below 0":      func(ix *Index) { ix.Chunks[0].Offset = -1 },
		"the end behind":         func(ix *Index) { ix.Chunks[4].Offset++ },
		"a pack twice":           func(ix *Index) { ix.Packs[1] = ix.Packs[0] },
		"a pack too large":       func(ix *Index) { ix.Packs[0].Size = MaxPack + 1 },
		"an empty pack":          func(ix *Index) { ix.Packs[1].Size = 0 },
		"an unused pack":         func(ix *Index) { ix.Packs = append(ix.Packs, PackRef{Size: 9}) },
		"too many packs":         func(ix *Index) { ix.Packs = make([]PackRef, MaxIndexPacks+1) },
		"packs without a chunk":  func(ix *Index) { ix.Chunks = nil },
		"chunks without a pack":  func(ix *Index) { ix.Packs = nil },
		"an offset that is vast": func(ix *Index) { ix.Chunks[0].Offset = 1 << 62 },
	} {
		ix := goldenIndex()
		spoil(ix)
		if _, err := EncodeIndex(ix); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

func TestParseIndexRefuses(t *testing.T) {
	good, err := EncodeIndex(goldenIndex())
	if err != nil {
		t.Fatal(err)
	}
	vast := append([]byte(indexMagic), byte(Fine))
	for range 3 {
		vast = binary.AppendUvarint(vast, MaxIndexChunks)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":               {nil, "not the bytes"},
		"other magic":           {append([]byte("CCI2"), good[4:]...), "not the bytes"},
		"a long number":         {append([]byte("CCI1\x8d\x00"), good[5:]...), "no number"},
		"an endless number":     {append([]byte("CCI1\xff\xff\xff\xff\xff\xff"), good[5:]...), "no number"},
		"more than there is":    {vast, "number"},
		"many chunks, no bytes": {append([]byte("CCI1\x0c\x01"), 0xff, 0x7f, 1, 0), "fit"},
		"grain 11":              {append([]byte("CCI1\x0b"), good[5:]...), "grain"},
	} {
		if _, err := ParseIndex(c.data); !isDamage(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for i := range good {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			if ix, err := ParseIndex(bad); err == nil {
				again, err := EncodeIndex(ix)
				if err != nil || len(again) != len(bad) {
					t.Errorf("byte %d ^ %#x: taken, and not written again: %v", i, flip, err)
				}
			} else if !isDamage(err) {
				t.Errorf("byte %d ^ %#x: %v", i, flip, err)
			}
		}
	}
}

// FuzzParseIndex wants what is taken to be an index that is written and read again, whatever the bytes.
func FuzzParseIndex(f *testing.F) {
	for seed := range int64(6) {
		data, err := EncodeIndex(trimmed(someIndex(seed, int(seed*seed))))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	golden, err := EncodeIndex(goldenIndex())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Fuzz(func(t *testing.T, data []byte) {
		ix, err := ParseIndex(data)
		if err != nil {
			if !isDamage(err) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if len(ix.Chunks)*8 > len(data) {
			t.Fatalf("%d chunks from %d bytes", len(ix.Chunks), len(data))
		}
		again, err := EncodeIndex(ix)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseIndex(again); err != nil || !reflect.DeepEqual(back, ix) {
			t.Fatalf("another index: %v", err)
		}
	})
}
