package install

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"collet/app/update"
	"collet/netproto/release"
)

// sumsOf computes the checksums of content written in portions of any size.
func sumsOf(content []byte, size int64, portion int) blockSums {
	both := bothHashes{release.SHA256.NewHash(), newBlockHash(size)}
	for len(content) > 0 {
		n := min(portion, len(content))
		_, _ = both.Write(content[:n])
		content = content[n:]
	}
	return both.blocks.checksums()
}

// TestSumsDoNotDependOnPortions also checks that bytes after the file's size do not count.
func TestSumsDoNotDependOnPortions(t *testing.T) {
	content := make([]byte, 3*blockSize+77)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	whole := sumsOf(content, int64(len(content)), len(content))
	if len(whole) != 4*sumSize || bytes.Equal(whole.at(0), whole.at(1)) || whole.at(4) != nil || whole.at(-1) != nil {
		t.Fatalf("%d bytes of sums", len(whole))
	}
	for _, portion := range []int{4096, 65_535, 65_536, blockSize - 1, blockSize, blockSize + 1, 2*blockSize + 5} {
		if !bytes.Equal(sumsOf(content, int64(len(content)), portion), whole) {
			t.Errorf("portions of %d make other sums", portion)
		}
	}
	grown := append(bytes.Clone(content), make([]byte, 2*blockSize)...)
	if !bytes.Equal(sumsOf(grown, int64(len(content)), 100_000), whole) {
		t.Error("what lies behind the end counts")
	}
	if sumsOf(content[:blockSize], blockSize, 1000) != nil || newBlockHash(maxBlocks/sumSize*blockSize+1) != nil {
		t.Error("sums where they gain nothing")
	}
	plain := release.SHA256.NewHash()
	plain.Write(content)
	both := bothHashes{release.SHA256.NewHash(), newBlockHash(int64(len(content)))}
	_, _ = both.Write(content)
	if release.SHA256.SumOf(both.hash) != release.SHA256.SumOf(plain) {
		t.Error("the whole digest is another one beside blocks")
	}
}

// TestWhatIsMissingAndWhatIsNot checks that damage and part together yield exactly the bytes to fetch, in sorted, non-empty
// ranges with gaps between them.
func TestWhatIsMissingAndWhatIsNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.IntRange(1, 12).Draw(t, "blocks")
		size := int64(blocks-1)*blockSize + rapid.Int64Range(1, blockSize).Draw(t, "rest")
		known := make(blockSums, blocks*sumSize)
		held := bytes.Clone(known)[:rapid.IntRange(0, blocks).Draw(t, "held")*sumSize]
		good := make([]bool, blocks)
		for i := range good {
			if good[i] = i*sumSize < len(held); good[i] && rapid.Bool().Draw(t, "hurt") {
				held[i*sumSize+3], good[i] = 1, false
			}
		}
		c := candidate{file: release.File{Size: size}, offset: rapid.Int64Range(0, size).Draw(t, "offset"),
			salvage: &salvage{sums: known, bad: damaged(known, held, size)}}
		c.missing = c.lacks()
		last := int64(-1)
		for _, r := range c.missing {
			if r.Start <= last || r.Start >= r.End || r.End > size || r.Start < c.offset {
				t.Fatalf("ranges %v of %d bytes from %d", c.missing, size, c.offset)
			}
			last = r.End
		}
		for i := range good {
			at := min(int64(i)*blockSize+rapid.Int64Range(0, blockSize-1).Draw(t, "at"), size-1)
			due := c.due(at)
			if missing := due.Start <= at && at < due.End; missing != (!good[i] && at >= c.offset) {
				t.Fatalf("byte %d of block %d (good %t, part of %d): missing %t of %v", at, i, good[i], c.offset, missing, c.missing)
			}
		}
		if due := c.due(size); due != (update.Range{Start: size, End: size}) {
			t.Fatalf("behind the end %v is due", due)
		}
	})
}

// manyRanges makes n ranges of one byte.
func manyRanges(n int) (ranges []update.Range) {
	for i := range int64(n) {
		ranges = append(ranges, update.Range{Start: 10 * i, End: 10*i + 1})
	}
	return ranges
}

// TestDamageIsListedWithinBounds checks that the list for a badly damaged disk stays short.
func TestDamageIsListedWithinBounds(t *testing.T) {
	p := planning{folder: &folder{log: zerolog.Nop()}, set: map[string]entry{"mine.zip": {}}}
	for _, n := range []int{update.MaxDamage - 2, 5, 1, 3} {
		p.work.items = append(p.work.items, candidate{entry: entry{Live: "a.zip", Repair: true}, salvage: &salvage{bad: manyRanges(n)}})
	}
	p.work.items = append(p.work.items,
		candidate{entry: entry{Live: "new.zip"}, file: release.File{Size: 5}},
		candidate{entry: entry{Live: "mine.zip"}, salvage: &salvage{bad: manyRanges(1)}})
	got := p.damage()
	if got == nil || len(got.Files) != 4 {
		t.Fatalf("%d files", len(got.Files))
	}
	for i, want := range []int{update.MaxDamage - 2, 1, 1, 1} {
		if n := len(got.Files[i].Ranges); n != want {
			t.Errorf("file %d has %d ranges, want %d", i, n, want)
		}
	}
	if merged := got.Files[1].Ranges[0]; merged != (update.Range{Start: 0, End: 41}) {
		t.Errorf("merged to %v", merged)
	}
}

func TestDamageInWords(t *testing.T) {
	for want, damage := range map[string]update.Damage{
		"damaged bytes 1048576–2097151 of 9000000 in Core.zip": {File: "Core.zip", Size: 9_000_000, Ranges: []update.Range{{Start: 1 << 20, End: 2 << 20}}},
		"damaged bytes 0–0, 10–10 of 11 in a":                  {File: "a", Size: 11, Ranges: manyRanges(2)},
		"more than its 7 bytes in a":                           {File: "a", Size: 7},
	} {
		if got := describe(damage); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := describe(update.Damage{File: "a", Size: 1000, Ranges: manyRanges(20)}); !strings.HasSuffix(got, "70–70, and 12 more of 1000 in a") {
		t.Errorf("got %q", got)
	}
}
