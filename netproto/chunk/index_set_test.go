package chunk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"testing"
)

func someSet(n int) (indexes []*Index) {
	for i := range n {
		indexes = append(indexes, trimmed(someIndex(int64(i), i%40)))
	}
	return indexes
}

func TestIndexSetRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		indexes := someSet(n)
		data, err := EncodeIndexSet(indexes)
		if err != nil {
			t.Fatal(err)
		}
		set, err := ParseIndexSet(data)
		if err != nil || set.Len() != n {
			t.Fatalf("%d indexes: %v", n, err)
		}
		for i, want := range indexes {
			if got, err := set.Index(uint32(i)); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("entry %d of %d: %v", i, n, err)
			}
		}
		if _, err := set.Index(uint32(n)); !isDamage(err) {
			t.Errorf("entry %d of %d: %v", n, n, err)
		}
		for cut := range min(len(data), 300) {
			if _, err := ParseIndexSet(data[:cut]); !isDamage(err) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
	}
}

// TestIndexSetSharesPacks wants the packs that many small files have in common to cost little.
func TestIndexSetSharesPacks(t *testing.T) {
	s := newShelf()
	var contents [][]byte
	for i := range 200 {
		contents = append(contents, chunkNoise(int64(i), 600))
	}
	indexes, _ := s.publish(t, PackOptions{}, contents...)
	data, err := EncodeIndexSet(indexes)
	if err != nil {
		t.Fatal(err)
	}
	if each := len(data) / len(indexes); each > 30 {
		t.Errorf("%d bytes for each small file", each)
	}
}

func TestParseIndexSetRefuses(t *testing.T) {
	body := func(size int, plain []byte) []byte {
		return append(binary.AppendUvarint([]byte(indexSetMagic), uint64(size)), zstdOf(t, plain)...)
	}
	for name, data := range map[string][]byte{
		"nothing":                nil,
		"an index":               []byte("CCI1\x0c\x00\x00\x00\x00"),
		"a vast body":            body(MaxIndexSet+1, nil),
		"a body that is smaller": body(9, []byte{0}),
		"a bomb":                 body(9, make([]byte, 1<<20)),
		"no body":                append([]byte(indexSetMagic), 5),
		"many entries":           body(4, []byte{0xff, 0xff, 3, 0}),
		"an entry too large":     body(3, []byte{1, 9, 0}),
		"bytes behind":           body(3, []byte{1, 0, 7}),
	} {
		if _, err := ParseIndexSet(data); !isDamage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := EncodeIndexSet(make([]*Index, maxSetEntries+1)); err == nil {
		t.Error("too many indexes are taken")
	}
	if _, err := EncodeIndexSet([]*Index{{}}); err == nil {
		t.Error("an index without a grain is taken")
	}
}

// TestGoldenIndexSet pins how a set is read.
func TestGoldenIndexSet(t *testing.T) {
	ix, err := EncodeIndex(goldenIndex())
	if err != nil {
		t.Fatal(err)
	}
	body := binary.AppendUvarint(nil, 1)
	body = binary.AppendUvarint(body, uint64(len(ix)))
	body = append(body, ix...)
	raw := append([]byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, byte(len(body)), byte(len(body)<<3 | 1), byte(len(body) >> 5), 0}, body...) // a frame of one raw block
	data := append(binary.AppendUvarint([]byte(indexSetMagic), uint64(len(body))), raw...)
	golden(t, "index_set.txt", hex.EncodeToString(data)+"\n")
	read, err := ParseIndexSet(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read.Index(0); err != nil || !reflect.DeepEqual(got, goldenIndex()) {
		t.Errorf("read back as %v, %v", got, err)
	}
}

// FuzzParseIndexSet wants memory within the caps and no panic.
func FuzzParseIndexSet(f *testing.F) {
	for _, n := range []int{0, 3, 30} {
		data, err := EncodeIndexSet(someSet(n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := ParseIndexSet(data)
		if err != nil {
			if !isDamage(err) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		total := 0
		for i := range set.Len() {
			total += len(set.entries[i])
			if _, err := set.Index(uint32(i)); err != nil && !isDamage(err) {
				t.Fatalf("%T: %v", err, err)
			}
		}
		if total > MaxIndexSet {
			t.Fatalf("entries of %d bytes", total)
		}
		if again, err := ParseIndexSet(bytes.Clone(data)); err != nil || !reflect.DeepEqual(again, set) {
			t.Fatal("read differently the second time")
		}
	})
}
