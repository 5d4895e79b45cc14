package operator

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageSize of the files in these tests.
const pageSize = 4096

// image is a store's file that a test makes page by page: two meta pages, then what is added.
type image []byte

func newImage(pages int) image {
	im := image(make([]byte, pages*pageSize))
	for i := range 2 {
		im.meta(i, uint64(i), 2, uint64(pages))
	}
	return im
}

// meta writes a meta page.
func (im image) meta(i int, txid, root, pages uint64) {
	m := im[i*pageSize+walkHead:]
	binary.LittleEndian.PutUint32(m, walkMagic)
	binary.LittleEndian.PutUint32(m[4:], walkVersion)
	binary.LittleEndian.PutUint32(m[8:], pageSize)
	binary.LittleEndian.PutUint64(m[16:], root)
	binary.LittleEndian.PutUint64(m[40:], pages)
	binary.LittleEndian.PutUint64(m[48:], txid)
	sum := fnv.New64a()
	sum.Write(m[:walkMeta-8])
	binary.LittleEndian.PutUint64(m[walkMeta-8:], sum.Sum64())
}

// head writes a page's head.
func (im image) head(id int, flags, count uint16, more uint32) {
	p := im[id*pageSize:]
	binary.LittleEndian.PutUint64(p, uint64(id))
	binary.LittleEndian.PutUint16(p[8:], flags)
	binary.LittleEndian.PutUint16(p[10:], count)
	binary.LittleEndian.PutUint32(p[12:], more)
}

// leaf writes element i of a leaf, with its key and value at an offset of the page.
func (im image) leaf(id, i, at int, flags uint32, key string, value []byte) {
	e := im[id*pageSize+walkHead+i*walkElement:]
	binary.LittleEndian.PutUint32(e, flags)
	binary.LittleEndian.PutUint32(e[4:], uint32(at-walkHead-i*walkElement))
	binary.LittleEndian.PutUint32(e[8:], uint32(len(key)))
	binary.LittleEndian.PutUint32(e[12:], uint32(len(value)))
	copy(im[id*pageSize+at:], key)
	copy(im[id*pageSize+at+len(key):], value)
}

// branch writes element i of a branch.
func (im image) branch(id, i, at int, key string, child uint64) {
	e := im[id*pageSize+walkHead+i*walkElement:]
	binary.LittleEndian.PutUint32(e, uint32(at-walkHead-i*walkElement))
	binary.LittleEndian.PutUint32(e[4:], uint32(len(key)))
	binary.LittleEndian.PutUint64(e[8:], child)
	copy(im[id*pageSize+at:], key)
}

// good has a root with a bucket of its own page, which has a branch above two leaves, and a bucket in place.
func good() image {
	im := newImage(7)
	im.head(2, walkLeaf, 2, 0)
	im.leaf(2, 0, 100, walkBucket, "a", append(binary.LittleEndian.AppendUint64(nil, 3), make([]byte, 8)...))
	inline := make([]byte, 16+walkHead+walkElement+2)
	binary.LittleEndian.PutUint16(inline[16+8:], walkLeaf)
	binary.LittleEndian.PutUint16(inline[16+10:], 1)
	binary.LittleEndian.PutUint32(inline[16+walkHead+4:], walkElement)
	binary.LittleEndian.PutUint32(inline[16+walkHead+8:], 1)
	binary.LittleEndian.PutUint32(inline[16+walkHead+12:], 1)
	copy(inline[16+walkHead+walkElement:], "kv")
	im.leaf(2, 1, 200, walkBucket, "b", inline)
	im.head(3, walkBranch, 2, 0)
	im.branch(3, 0, 100, "k", 4)
	im.branch(3, 1, 110, "m", 6)
	im.head(4, walkLeaf, 1, 1) // with page 5
	im.leaf(4, 0, 5000, 0, "k", []byte("value"))
	im.head(6, walkLeaf, 1, 0)
	im.leaf(6, 0, 64, 0, "m", nil)
	return im
}

// walked is what walkFile says of an image.
func walked(t *testing.T, im image) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, im, 0o600); err != nil {
		t.Fatal(err)
	}
	return walkFile(path)
}

// TestWalk finds what bbolt would fall over.
func TestWalk(t *testing.T) {
	if err := walked(t, good()); err != nil {
		t.Fatalf("a good file: %v", err)
	}
	if err := walkFile(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("no file: %v", err)
	}
	if err := walked(t, nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	for name, c := range map[string]struct {
		says  string
		spoil func(im image)
	}{
		"no meta page":              {"is no store", func(im image) { im[walkHead]++; im[pageSize+walkHead]++ }},
		"more pages than bytes":     {"there should be", func(im image) { im.meta(1, 9, 2, 8) }},
		"root elsewhere":            {"is none", func(im image) { im.meta(1, 9, 77, 7) }},
		"root is a meta page":       {"is none", func(im image) { im.meta(1, 9, 1, 7) }},
		"page of another number":    {"page 3 is damaged", func(im image) { im[3*pageSize] = 4 }},
		"page of no kind":           {"neither a branch", func(im image) { im.head(3, 0x10, 2, 0) }},
		"more elements than fit":    {"neither a branch", func(im image) { im.head(3, walkBranch, 9999, 0) }},
		"branch of nothing":         {"neither a branch", func(im image) { im.head(3, walkBranch, 0, 0) }},
		"circle":                    {"used twice", func(im image) { im.branch(3, 1, 110, "m", 3) }},
		"page in two places":        {"used twice", func(im image) { im.branch(3, 1, 110, "m", 4) }},
		"page that follows another": {"used twice", func(im image) { im.branch(3, 1, 110, "m", 5) }},
		"runs over the end":         {"page 6 is damaged", func(im image) { im.head(6, walkLeaf, 1, 3) }},
		"runs for ever":             {"page 6 is damaged", func(im image) { im.head(6, walkLeaf, 1, 1<<32-1) }},
		"keys out of order":         {"out of order", func(im image) { im.branch(3, 1, 110, "a", 6) }},
		"key twice":                 {"out of order", func(im image) { im.branch(3, 1, 110, "k", 6) }},
		"value elsewhere": {"elsewhere", func(im image) {
			im.leaf(6, 0, pageSize-4, 0, "m", bytes.Repeat([]byte("x"), 10)[:3])
			im[6*pageSize+walkHead+12] = 99
		}},
		"key elsewhere":             {"elsewhere", func(im image) { binary.LittleEndian.PutUint32(im[6*pageSize+walkHead+4:], 1<<32-1) }},
		"key of nothing":            {"elsewhere", func(im image) { im.leaf(6, 0, 64, 0, "", nil) }},
		"bucket cut short":          {"cut short", func(im image) { im[2*pageSize+walkHead+12] = 3 }},
		"bucket in place cut short": {"cut short", func(im image) { im[2*pageSize+walkHead+walkElement+12] = 20 }},
	} {
		im := good()
		c.spoil(im)
		if err := walked(t, im); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWalkTakesTheNewestMeta whichever of the two it is, and the older one where the newest is torn.
func TestWalkTakesTheNewestMeta(t *testing.T) {
	for newest := range 2 {
		im := good()
		im.meta(newest, 9, 2, 7)
		im.meta(1-newest, 8, 77, 7)
		if err := walked(t, im); err != nil {
			t.Errorf("the newest is %d: %v", newest, err)
		}
		im.meta(newest, 9, 77, 7)
		im.meta(1-newest, 8, 2, 7)
		if err := walked(t, im); err == nil {
			t.Errorf("the newest is %d, and leads nowhere", newest)
		}
		im[newest*pageSize+walkHead+50] ^= 1
		if err := walked(t, im); err != nil {
			t.Errorf("the newest is %d, and torn: %v", newest, err)
		}
	}
}
