package pe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"collet/build/pack/pe"
)

const block = 512

// pdb lays streams out in an MSF file with blocks of 512 bytes: the super block, two free block maps, the streams, the
// directory, the list of the directory's blocks. nil is a stream that was deleted.
func pdb(streams ...[]byte) []byte {
	file := make([]byte, 3*block)
	put := func(data []byte) (numbers []uint32) {
		for part := range slices.Chunk(data, block) {
			numbers = append(numbers, uint32(len(file)/block))
			file = append(file, append(bytes.Clone(part), make([]byte, block-len(part))...)...)
		}
		return numbers
	}
	directory := binary.LittleEndian.AppendUint32(nil, uint32(len(streams)))
	var blocks []byte
	for _, s := range streams {
		size := uint32(len(s))
		if s == nil {
			size = 0xffffffff
		}
		directory = binary.LittleEndian.AppendUint32(directory, size)
		blocks = append(blocks, numbers(put(s))...)
	}
	directory = append(directory, blocks...)
	list := put(numbers(put(directory)))
	copy(file, "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	copy(file[32:], numbers([]uint32{block, 1, uint32(len(file) / block), uint32(len(directory)), 0, list[0]}))
	return file
}

func numbers(list []uint32) (data []byte) {
	for _, n := range list {
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	return data
}

func info(age uint32) []byte {
	return append(numbers([]uint32{20000404, 0x5f5f5f5f, age}), guid[:]...)
}

func dbi(age uint32) []byte { return numbers([]uint32{0xffffffff, 19990903, age}) }

func read(file []byte) (pe.ID, error) { return pe.ReadPDB(bytes.NewReader(file), int64(len(file))) }

func TestReadPDB(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 200*block) // its list of blocks makes the directory longer than a block
	for _, c := range []struct {
		name string
		file []byte
		age  uint32
	}{
		{"usual", pdb([]byte("old"), info(1), []byte("types"), dbi(1)), 1},
		{"written to later", pdb([]byte("old"), info(3), []byte("types"), dbi(2)), 2},
		{"no debug information", pdb(nil, info(4)), 4},
		{"debug information deleted", pdb(nil, info(4), nil, nil), 4},
		{"large streams before", pdb(big, append(info(5), big...), big, dbi(6)), 6},
	} {
		id, err := read(c.file)
		if err != nil || id != (pe.ID{GUID: guid, Age: c.age}) {
			t.Errorf("%s: %v, %v", c.name, id, err)
		}
	}
}

// The key is the one of symbol stores: llvm-pdbutil shows this GUID as EFA91212-5634-9A78-4C4C-44205044422E.
func TestKey(t *testing.T) {
	if got := (pe.ID{GUID: guid, Age: 26}).String(); got != "EFA9121256349A784C4C44205044422E1A" {
		t.Error(got)
	}
}

func TestRefusedPDB(t *testing.T) {
	usual := func() []byte { return pdb([]byte("old"), info(1), []byte("types"), dbi(1)) }
	poke := func(at int, n uint32) []byte {
		file := usual()
		binary.LittleEndian.PutUint32(file[at:], n)
		return file
	}
	list := int(binary.LittleEndian.Uint32(usual()[52:])) * block
	directory := list - block
	for _, c := range []struct {
		name string
		file []byte
		want pe.Fault
	}{
		{"empty", nil, pe.NotPDB},
		{"a portable PDB", append([]byte("BSJB"), make([]byte, 200)...), pe.NotPDB},
		{"an older format", append([]byte("Microsoft C/C++ program database 2.00\r\n\x1aJG\x00"), make([]byte, 200)...), pe.NotPDB},
		{"blocks of nothing", poke(32, 0), pe.Malformed},
		{"blocks of an odd size", poke(32, 768), pe.Malformed},
		{"huge blocks", poke(32, 1<<31), pe.Malformed},
		{"more blocks than the file has", poke(40, 0xffffffff), pe.Truncated},
		{"cut off", usual()[:5*block], pe.Truncated},
		{"no directory", poke(44, 0), pe.Malformed},
		{"short directory", poke(44, 9), pe.Malformed},
		{"list of blocks beyond the end", poke(52, 0xffffffff), pe.Truncated},
		{"directory beyond the end", poke(list, 99), pe.Malformed},
		{"endless streams", poke(directory, 0xffffffff), pe.Malformed},
		{"one stream", poke(directory, 1), pe.Malformed},
		{"huge stream before", poke(directory+4, 0xfffffffe), pe.Malformed},
		{"short info stream", pdb(nil, info(1)[:27]), pe.Malformed},
		{"no info stream", pdb(nil, nil, nil, dbi(1)), pe.Malformed},
		{"short debug information", pdb(nil, info(1), nil, dbi(1)[:8]), pe.Malformed},
		{"stream beyond the end", poke(directory+4+4*4+4, 9999), pe.Malformed},
	} {
		if id, err := read(c.file); !errors.Is(err, c.want) || id != (pe.ID{}) {
			t.Errorf("%s: %v, %v; want %v", c.name, id, err, c.want)
		}
	}
	short := usual()
	if _, err := pe.ReadPDB(bytes.NewReader(short[:4*block]), int64(len(short))); !errors.Is(err, pe.Truncated) {
		t.Errorf("a file that shrinks: %v", err)
	}
	broken := errors.New("the disk is broken")
	if _, err := pe.ReadPDB(failing{broken}, 9999); !errors.Is(err, broken) {
		t.Errorf("a disk that is broken: %v", err)
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestCheckPair(t *testing.T) {
	image := usual(built).bytes()
	check := func(file []byte) error { return pe.CheckPair(image, bytes.NewReader(file), int64(len(file))) }
	if err := check(pdb(nil, info(9), nil, dbi(1))); err != nil {
		t.Error(err)
	}
	if err := check(pdb(nil, info(1), nil, dbi(2))); !errors.Is(err, pe.Foreign) {
		t.Errorf("another age: %v", err)
	}
	other := info(1)
	other[20]++
	if err := check(pdb(nil, other, nil, dbi(1))); !errors.Is(err, pe.Foreign) {
		t.Errorf("another GUID: %v", err)
	}
	if err := check([]byte("text")); !errors.Is(err, pe.NotPDB) {
		t.Error(err)
	}
	if err := pe.CheckPair([]byte("text"), failing{io.EOF}, 0); !errors.Is(err, pe.NotPE) {
		t.Error(err)
	}
}

// counting says how much was read of a file that may claim anything.
type counting struct {
	io.ReaderAt
	bytes int
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, at)
}

func FuzzReadPDB(f *testing.F) {
	f.Add(pdb([]byte("old"), info(1), []byte("types"), dbi(1)))
	f.Add(pdb(nil, info(1)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := &counting{ReaderAt: bytes.NewReader(file)}
		if _, err := pe.ReadPDB(r, int64(len(file))); r.bytes > 500 {
			t.Fatalf("%d bytes were read: %v", r.bytes, err)
		}
	})
}

// FuzzPoked writes numbers into programs that are otherwise right: deeper than garbage comes.
func FuzzPoked(f *testing.F) {
	f.Add(uint16(0x3c), uint32(0xffffffff), uint16(optionalAt+60), uint32(0))
	f.Add(uint16(rawAt+directoryAt+16), uint32(0xffffffff), uint16(rawAt+directoryAt+24), uint32(0x180))
	p := usual(built)
	p.checksum = 1
	whole := p.bytes()
	f.Fuzz(func(t *testing.T, at1 uint16, n1 uint32, at2 uint16, n2 uint32) {
		image := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(image[int(at1)%(len(image)-4):], n1)
		binary.LittleEndian.PutUint32(image[int(at2)%(len(image)-4):], n2)
		was := bytes.Clone(image)
		if err := pe.PatchPDB(image, "a.pdb"); err != nil {
			if !bytes.Equal(image, was) {
				t.Fatal("a refused file was changed")
			}
			return
		}
		if s, err := pe.ReadSymbols(image); err != nil || s.Path != "a.pdb" {
			t.Fatal(s, err)
		}
	})
}
