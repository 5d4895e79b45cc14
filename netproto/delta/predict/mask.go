package predict

import (
	"bytes"
	"encoding/binary"
)

// mask rewrites a native module for the match search: each reference becomes a hash of its target's content. So moved
// code and tables compare equal, and tables of references stay distinguishable. It only steers the search; its errors
// cost bytes, not correctness.
type mask struct {
	b       []byte // the original module
	bare    []byte // with references blanked: the input of the hashes
	out     []byte
	m       addresses
	machine int
	refs    []bool // offsets that code refers to, in words of 4 bytes
}

const hashed = 16 // bytes at a reference's target that are hashed

func newMask(b []byte, areas []Area, machine int) *mask {
	return &mask{machine: machine, b: b, bare: bytes.Clone(b), out: bytes.Clone(b), m: newAddresses(areas), refs: make([]bool, len(b)/4+1)}
}

// maskAll masks the whole module.
func (k *mask) maskAll(modules []tables) []byte {
	for _, a := range k.m.byPlace {
		if a.Code {
			k.clearCode(a)
		} else {
			k.clearPointers(a)
		}
	}
	for _, t := range modules {
		k.eachRecord(t.named[".eh_frame"], func(at int) { clear(k.bare[at : at+4]) })
	}
	for _, a := range k.m.byPlace {
		if a.Code {
			k.maskCode(a)
		}
	}
	for _, a := range k.m.byPlace {
		if !a.Code {
			k.maskPointers(a)
			k.maskJumps(a)
		}
	}
	for _, t := range modules {
		k.maskUnwindIndex(t.named[".eh_frame_hdr"])
		k.maskUnwind(t.named[".eh_frame"])
		k.maskFunctions(t.named[".pdata"], t.base)
	}
	return k.out
}

// eachReference calls do for each reference in an area of code, with its offset and target.
func (k *mask) eachReference(a Area, do func(at int, target uint64, load bool)) {
	b, start := k.b[a.At:a.At+a.Size], int(a.At)
	for i := 0; i < len(b); i++ {
		at, branch := x86Site(b, i)
		if at == 0 || at+4 > len(b) || !k.m.reached(b[at:], a.Address+uint64(at)+4, branch) {
			continue
		}
		do(start+at, a.Address+uint64(at)+4+uint64(int64(int32(binary.LittleEndian.Uint32(b[at:])))), !branch && b[at-2] == 0x8d)
		i = at + 3
	}
}

// eachARMReference is sites for arm64. A reference is the instruction; for an ADRP also the instruction that completes it.
func (k *mask) eachARMReference(a Area, do func(at, partner int, target uint64)) {
	b := k.b[a.At : a.At+a.Size]
	for i := 0; i+4 <= len(b); i += 4 {
		op, here := binary.LittleEndian.Uint32(b[i:]), a.Address+uint64(i)
		if bits, at := armBranch(op); bits == 26 {
			if target := here + uint64(armDistance(op, bits, at)); k.inModule(target) {
				do(int(a.At)+i, 0, target)
			}
		} else if pages, ok := armPage(op); ok {
			if j, low, _, ok := armPartner(b, i); ok {
				if target := here&^0xfff + uint64(pages<<12) + low; k.inModule(target) {
					do(int(a.At)+i, int(a.At)+j, target)
				}
			}
		}
	}
}

func (k *mask) inModule(address uint64) bool {
	_, ok := k.m.find(address)
	return ok
}

// armReplace replaces a reference by v.
func armReplace(b []byte, at, partner int, v uint16) {
	op := binary.LittleEndian.Uint32(b[at:])
	if partner == 0 {
		binary.LittleEndian.PutUint32(b[at:], armWithField(op, 26, 0, uint32(v&0xff)))
		return
	}
	binary.LittleEndian.PutUint32(b[at:], armWithPage(op, 0))
	binary.LittleEndian.PutUint32(b[partner:], armWithField(binary.LittleEndian.Uint32(b[partner:]), 12, 10, uint32(v&0x3f)))
}

func (k *mask) clearCode(a Area) {
	switch k.machine {
	case machineWASM:
		return // its references are numbers, which are not hashed
	case machineARM:
		k.eachARMReference(a, func(at, partner int, target uint64) {
			armReplace(k.bare, at, partner, 0)
			if to, ok := k.offsetOf(target); ok && partner > 0 && to&3 == 0 {
				k.refs[to>>2] = true
			}
		})
		return
	}
	k.eachReference(a, func(at int, target uint64, load bool) {
		clear(k.bare[at : at+4])
		if load {
			if to, ok := k.offsetOf(target); ok && to&3 == 0 {
				k.refs[to>>2] = true
			}
		}
	})
}

func (k *mask) maskCode(a Area) {
	switch k.machine {
	case machineWASM:
		k.maskNumbers(a)
		return
	case machineARM:
		k.eachARMReference(a, func(at, partner int, target uint64) { armReplace(k.out, at, partner, k.hash(target)) })
		return
	}
	k.eachReference(a, func(at int, target uint64, _ bool) {
		clear(k.out[at : at+4])
		k.out[at] = byte(k.hash(target))
	})
}

// maskNumbers blanks the numbers in WebAssembly code; their lengths stay.
func (k *mask) maskNumbers(a Area) {
	b, out := k.b[a.At:a.At+a.Size], k.out[a.At:a.At+a.Size]
	for i := 0; i < len(b); i++ {
		if at, n := wasmReference(b, i); n > 0 {
			for j := at; j < at+n; j++ {
				out[j] &= 0x80
			}
			i = at + n - 1
		}
	}
}

// offsetOf is the file offset of an address.
func (k *mask) offsetOf(address uint64) (int, bool) {
	a, ok := k.m.find(address)
	if !ok || address-a.Address >= uint64(a.Size) {
		return 0, false
	}
	return int(a.At) + int(address-a.Address), true
}

// hash is the hash of the bytes at an address.
func (k *mask) hash(address uint64) uint16 {
	at, ok := k.offsetOf(address)
	if !ok {
		return 1
	}
	h := uint64(0)
	for _, c := range k.bare[at:min(at+hashed, len(k.bare))] {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return uint16(h >> 40)
}

// lowest is the smallest 8-byte number that counts as an address: smaller ones are counts and sizes.
const lowest = 1 << 12

func (k *mask) eachPointer(a Area, do func(at int, target uint64)) {
	for at := (int(a.At) + 7) &^ 7; at+8 <= int(a.At+a.Size); at += 8 {
		if v := binary.LittleEndian.Uint64(k.b[at:]); v >= lowest {
			if _, ok := k.m.find(v); ok {
				do(at, v)
			}
		}
	}
}

func (k *mask) clearPointers(a Area) {
	k.eachPointer(a, func(at int, _ uint64) { clear(k.bare[at : at+8]) })
}

func (k *mask) maskPointers(a Area) {
	k.eachPointer(a, func(at int, target uint64) {
		binary.LittleEndian.PutUint64(k.out[at:], uint64(k.hash(target)))
	})
}

// maskWord masks a 4-byte reference.
func (k *mask) maskWord(at int, target uint64) {
	binary.LittleEndian.PutUint32(k.out[at:], uint32(k.hash(target)))
}

// maskJumps masks jump tables, as switches have them: distances from the start of the table to code. They begin where code refers to.
func (k *mask) maskJumps(a Area) {
	begin := uint64(0)
	for at := (int(a.At) + 3) &^ 3; at+4 <= int(a.At+a.Size); at += 4 {
		here := a.Address + uint64(at-int(a.At))
		if k.refs[at>>2] {
			begin = here
		}
		if begin == 0 {
			continue
		}
		target := begin + uint64(int64(int32(binary.LittleEndian.Uint32(k.b[at:]))))
		if to, ok := k.m.find(target); ok && to.Code {
			k.maskWord(at, target)
		} else {
			begin = 0
		}
	}
}

// maskUnwindIndex masks the sorted table of .eh_frame_hdr: pairs of distances from its start.
func (k *mask) maskUnwindIndex(t Area) {
	for at := int(t.At) + 12; at+4 <= int(t.At+t.Size); at += 4 {
		k.maskWord(at, t.Address+uint64(int64(int32(binary.LittleEndian.Uint32(k.b[at:])))))
	}
}

// maskUnwind masks the references of .eh_frame's records.
func (k *mask) maskUnwind(t Area) {
	k.eachRecord(t, func(at int) { k.maskRelative(at, t) })
}

// eachRecord calls do for each reference in the records of .eh_frame.
func (k *mask) eachRecord(t Area, do func(at int)) {
	b := k.b[t.At : t.At+t.Size]
	for i := 0; i+unwindHead <= len(b); {
		n, owner, extra := unwindRecord(b[i:], uint64(i))
		if n == 0 {
			return
		}
		if owner {
			at := int(t.At) + i
			clear(k.out[at+4 : at+8])
			clear(k.bare[at+4 : at+8])
			do(at + 8)
			if extra {
				do(at + 17)
			}
		}
		i += n
	}
}

// maskRelative masks a distance from its own address.
func (k *mask) maskRelative(at int, t Area) {
	k.maskWord(at, t.Address+uint64(at)-uint64(t.At)+uint64(int64(int32(binary.LittleEndian.Uint32(k.b[at:])))))
}

// maskFunctions masks the function table of a PE module: distances from the image's start.
func (k *mask) maskFunctions(t Area, base uint64) {
	for at := int(t.At); at+4 <= int(t.At+t.Size); at += 4 {
		k.maskWord(at, base+uint64(binary.LittleEndian.Uint32(k.b[at:])))
	}
}
