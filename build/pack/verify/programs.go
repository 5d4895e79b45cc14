package verify

import (
	"cmp"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"errors"
	"slices"
)

// stretch is a named part of a program.
type stretch struct {
	name       string
	from, size int64
}

// stretches are members, in the order in which they lie in the file; what no stretch has is named after where it lies. A place that
// two stretches have belongs to the first.
func stretches(c content, all []stretch) members {
	slices.SortStableFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var list []member
	at := int64(0)
	add := func(name string, to int64) {
		if to > at {
			list = append(list, member{name: name, bytes: true, body: c.part(at, to-at).reader()})
			at = to
		}
	}
	last := "headers"
	for _, s := range all {
		add(last, min(s.from, c.size))
		add(s.name, min(s.from+s.size, c.size))
		last = "behind " + s.name
	}
	add(last, c.size)
	return listed(list)
}

// Places in the headers of a PE.
const (
	peSignature    = 4  // bytes before the file header
	peFileHeader   = 20 // bytes before the optional header
	peSecurity     = 4  // number of the directory with signatures
	peMaxDirectory = 16
)

func peMembers(c content) (members, error) {
	f, err := pe.NewFile(c)
	if err != nil {
		return nil, err
	}
	var all []stretch
	for _, s := range f.Sections {
		if s.Offset > 0 { // .bss lies nowhere
			all = append(all, stretch{"section " + s.Name, int64(s.Offset), int64(s.Size)})
		}
	}
	if d := directories(f); len(d) > peSecurity && d[peSecurity].Size > 0 {
		all = append(all, stretch{"signature", int64(d[peSecurity].VirtualAddress), int64(d[peSecurity].Size)})
	}
	if sum, err := checksumPlace(c); err == nil {
		all = append(all, stretch{"checksum", sum, 4})
	}
	return stretches(c, all), nil
}

func directories(f *pe.File) []pe.DataDirectory {
	switch h := f.OptionalHeader.(type) {
	case *pe.OptionalHeader32:
		return h.DataDirectory[:min(h.NumberOfRvaAndSizes, peMaxDirectory)]
	case *pe.OptionalHeader64:
		return h.DataDirectory[:min(h.NumberOfRvaAndSizes, peMaxDirectory)]
	}
	return nil
}

// checksumPlace is where a PE has its checksum, which is the same in both kinds.
func checksumPlace(c content) (int64, error) {
	h := c.head(0x40)
	if len(h) < 0x40 {
		return 0, errors.New("no PE")
	}
	return int64(binary.LittleEndian.Uint32(h[0x3c:])) + peSignature + peFileHeader + 64, nil
}

func elfMembers(c content) (members, error) {
	f, err := elf.NewFile(c)
	if err != nil {
		return nil, err
	}
	var all []stretch
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			all = append(all, stretch{"section " + s.Name, int64(s.Offset), int64(s.FileSize)})
		}
	}
	return stretches(c, all), nil
}
