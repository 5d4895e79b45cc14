package pe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"collet/build/pack/pe"
)

const built = `C:\agent\build\7\runtime.pdb`

func TestPatchPDB(t *testing.T) {
	for _, wide := range []bool{false, true} {
		p := usual(built)
		p.wide = wide
		image := p.bytes()
		was := bytes.Clone(image)
		if err := pe.PatchPDB(image, "Lathe.dll.pdb"); err != nil {
			t.Fatal(err)
		}
		s, err := pe.ReadSymbols(image)
		if err != nil || s.Path != "Lathe.dll.pdb" || s.GUID != guid || s.Age != 1 || s.Room != len(built) {
			t.Errorf("wide %v: %+v, %v", wide, s, err)
		}
		at := rawAt + recordAt + 24
		if !bytes.Equal(image[at+13:at+len(built)+1], make([]byte, len(built)+1-13)) {
			t.Errorf("wide %v: the old path is not gone: %q", wide, image[at:at+len(built)+1])
		}
		copy(image[at:], built)
		if !bytes.Equal(image, was) {
			t.Errorf("wide %v: other bytes have changed", wide)
		}
	}
}

// The largest name takes all the room there is, and a short one does not make the record shorter for ever.
func TestPatchPDBUsesTheRoom(t *testing.T) {
	image := usual(built).bytes()
	for _, n := range []int{5, len(built), 1} {
		name := strings.Repeat("n", n)
		if err := pe.PatchPDB(image, name); err != nil {
			t.Fatal(err)
		}
		if s, err := pe.ReadSymbols(image); err != nil || s.Path != name || s.Room != len(built) {
			t.Errorf("%d bytes: %+v, %v", n, s, err)
		}
	}
}

// Entries of other types, and CodeView records of other kinds, stand before and behind the one that counts.
func TestPatchPDBWalksAllEntries(t *testing.T) {
	p := usual(built)
	old := []byte("NB10\x00\x00\x00\x00 of the nineties\x00")
	p.record = append(p.record, old...)
	nb10 := entry{Type: 2, Size: uint32(len(old)), Raw: rawAt + recordAt + p.entries[0].Size}
	p.entries = []entry{{Type: 16}, {Type: 12, Size: 4, Raw: 0xffffffff}, nb10, p.entries[0], {Type: 20}}
	image := p.bytes()
	if err := pe.PatchPDB(image, "a.pdb"); err != nil {
		t.Fatal(err)
	}
	if s, err := pe.ReadSymbols(image); err != nil || s.Path != "a.pdb" {
		t.Error(s, err)
	}
	if !bytes.Contains(image, old) {
		t.Error("the other record was touched")
	}
}

// A record need not be mapped into memory, as with symbols that are kept outside of every section.
func TestPatchPDBUnmapped(t *testing.T) {
	p := usual(built)
	p.entries[0].Address = 0
	p.entries[0].Raw = rawAt + sectionSize
	p.tail = p.record
	image := p.bytes()
	if err := pe.PatchPDB(image, "a.pdb"); err != nil {
		t.Fatal(err)
	}
	if got := string(image[rawAt+sectionSize+24:][:6]); got != "a.pdb\x00" {
		t.Errorf("%q", got)
	}
}

func TestRefused(t *testing.T) {
	r := rsds(built)
	change := func(f func(p *program)) func() []byte {
		return func() []byte {
			p := usual(built)
			f(&p)
			return p.bytes()
		}
	}
	poke := func(at int, b ...byte) func() []byte {
		return func() []byte {
			image := usual(built).bytes()
			copy(image[at:], b)
			return image
		}
	}
	section := optionalAt + 240
	for _, c := range []struct {
		name  string
		image func() []byte
		want  pe.Fault
	}{
		{"empty", func() []byte { return nil }, pe.NotPE},
		{"an ELF file", func() []byte { return append([]byte("\x7fELF"), make([]byte, 100)...) }, pe.NotPE},
		{"DOS program", poke(headerAt, 'N', 'E'), pe.NotPE},
		{"PE header beyond the end", poke(0x3c, 0xff, 0xff, 0xff, 0xff), pe.Truncated},
		{"optional header of another kind", poke(optionalAt, 0x07, 0x01), pe.NotPE},
		{"short optional header", poke(headerAt+20, 80, 0), pe.NotPE},
		{"no optional header", poke(headerAt+20, 0, 0), pe.NotPE},
		{"long optional header", poke(headerAt+20, 0xff, 0xff), pe.Truncated},
		{"directories beyond their header", poke(headerAt+20, 200, 0), pe.Malformed},
		{"too many directories", poke(optionalAt+108, 17), pe.Malformed},
		{"no sixth directory", poke(optionalAt+108, 6), pe.NoDebug},
		{"too many sections", poke(headerAt+6, 97, 0), pe.Malformed},
		{"sections beyond the end", poke(headerAt+6, 90, 0), pe.Truncated},
		{"headers smaller than they are", poke(optionalAt+60, 0, 1, 0, 0), pe.Malformed},
		{"headers beyond the end", poke(optionalAt+60, 0, 0, 1, 0), pe.Malformed},
		{"no debug directory", change(func(p *program) { p.entries = nil }), pe.NoDebug},
		{"directory in no section", poke(section+12, 0, 0, 0x20, 0), pe.Malformed},
		{"directory in the headers", poke(section+20, 0, 0, 0, 0), pe.Malformed},
		{"section beyond the end", poke(section+20, 0, 0xff, 0xff, 0xff), pe.Truncated},
		{"directory of half an entry", poke(optionalAt+112+6*8+4, 27), pe.Malformed},
		{"endless directory", poke(optionalAt+112+6*8+4, 0xfc, 0xff, 0xff, 0x0f), pe.Malformed},
		{"no CodeView", change(func(p *program) { p.entries = []entry{{Type: 16}, {Type: 12}} }), pe.NoCodeView},
		{"no RSDS", change(func(p *program) { p.record = []byte("NB10" + built) }), pe.NoRSDS},
		{"empty record", change(func(p *program) { p.entries[0].Size = 0 }), pe.NoRSDS},
		{"record without a path", change(func(p *program) { p.entries[0].Size = 24 }), pe.Malformed},
		{"path without an end", change(func(p *program) { p.entries[0].Size-- }), pe.Malformed},
		{"record beyond the end", change(func(p *program) { p.entries[0].Address, p.entries[0].Raw = 0, rawAt+sectionSize-8 }), pe.Truncated},
		{"record far beyond the end", change(func(p *program) { p.entries[0].Address, p.entries[0].Raw = 0, 0xffffffff }), pe.Truncated},
		{"endless record", change(func(p *program) { p.entries[0].Size = 0xffffffff }), pe.Malformed},
		{"two places", change(func(p *program) { p.entries[0].Raw++ }), pe.Malformed},
		{"record outside of memory", change(func(p *program) { p.entries[0].Address = 0x10 }), pe.Malformed},
		{"record in the headers", func() []byte {
			p := usual(built)
			p.entries[0].Address, p.entries[0].Raw = 0, 0
			image := p.bytes()
			copy(image[0x1b8:], r)
			put(image[rawAt+directoryAt:], entry{Type: 2, Size: uint32(len(r)), Raw: 0x1b8})
			return image
		}, pe.Overlap},
		{"record around the directory", change(func(p *program) {
			p.record = make([]byte, 8)
			p.entries = []entry{{Type: 2, Size: 0x81, Raw: rawAt}}
		}), pe.NoRSDS},
		{"record over the directory", func() []byte {
			p := usual(built)
			p.entries = []entry{{Type: 2, Size: 0x81, Raw: rawAt}}
			image := p.bytes()
			copy(image[rawAt:], "RSDS")
			return image
		}, pe.Overlap},
		{"signed", change(func(p *program) { p.signed = 8 }), pe.Signed},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := c.image()
			was := bytes.Clone(image)
			err := pe.PatchPDB(image, "a.pdb")
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if !bytes.Equal(image, was) {
				t.Error("a refused file was changed")
			}
			var typed *pe.Error
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), "; ") {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]pe.Fault{
		"": pe.BadName, `..\a.pdb`: pe.BadName, "a/b.pdb": pe.BadName, "C:a.pdb": pe.BadName, "a\x00.pdb": pe.BadName,
		"a\n.pdb": pe.BadName, "\xff.pdb": pe.BadName, "*.pdb": pe.BadName,
		strings.Repeat("n", len(built)+1): pe.TooLong,
	} {
		image := usual(built).bytes()
		was := bytes.Clone(image)
		if err := pe.PatchPDB(image, name); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
		if !bytes.Equal(image, was) {
			t.Errorf("%q: the file was changed", name)
		}
	}
	image := usual(built).bytes()
	if err := pe.PatchPDB(image, "Bär Ω.dll.pdb"); err != nil {
		t.Error(err)
	}
}

// Cut off anywhere, a file is refused, except where only bytes are missing that nothing refers to.
func TestCutOff(t *testing.T) {
	whole := usual(built).bytes()
	needed := rawAt + recordAt + len(rsds(built))
	for n := range len(whole) {
		err := pe.PatchPDB(bytes.Clone(whole[:n]), "a.pdb")
		if (err == nil) != (n >= needed) {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
}

// A checksum that is set stays right, and one that is not set stays away. The file of an odd size has half a word at its end.
func TestChecksum(t *testing.T) {
	for _, tail := range []string{"", "x"} {
		p := usual(built)
		p.tail = []byte(tail)
		image := p.bytes()
		if err := pe.PatchPDB(image, "a.pdb"); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(image[optionalAt+64:]); got != 0 {
			t.Errorf("a checksum of %#x came from nowhere", got)
		}
		want := sum(image)
		p.checksum = 0x1234
		image = p.bytes()
		if err := pe.PatchPDB(image, "a.pdb"); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(image[optionalAt+64:]); got != want {
			t.Errorf("checksum %#x, want %#x", got, want)
		}
		image[rawAt]++
		if err := pe.FixChecksum(image); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(image[optionalAt+64:]); got == want {
			t.Error("the checksum did not follow the file")
		}
	}
	if err := pe.FixChecksum([]byte("MZ")); !errors.Is(err, pe.NotPE) {
		t.Error(err)
	}
	p := usual(built)
	p.signed = 8
	if err := pe.FixChecksum(p.bytes()); !errors.Is(err, pe.Signed) {
		t.Error(err)
	}
}

// sum is the checksum as old descriptions have it: every carry is added at once.
func sum(image []byte) uint32 {
	var s uint32
	padded := append(bytes.Clone(image), 0)
	for i := 0; i < len(image); i += 2 {
		s += uint32(padded[i]) | uint32(padded[i+1])<<8
		s = s&0xffff + s>>16
	}
	return s + uint32(len(image))
}

func FuzzPatchPDB(f *testing.F) {
	for _, wide := range []bool{false, true} {
		p := usual(built)
		p.wide, p.checksum = wide, 7
		f.Add(p.bytes())
	}
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, image []byte) {
		was := bytes.Clone(image)
		before, errBefore := pe.ReadSymbols(image)
		err := pe.PatchPDB(image, "a.pdb")
		if err != nil {
			if !bytes.Equal(image, was) {
				t.Fatal("a refused file was changed")
			}
			return
		}
		after, errAfter := pe.ReadSymbols(image)
		if errBefore != nil || errAfter != nil || after.Path != "a.pdb" || after.ID != before.ID || after.Room != before.Room {
			t.Fatal(before, errBefore, after, errAfter)
		}
	})
}
