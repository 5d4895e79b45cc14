package predict

import "encoding/binary"

// armLook is how many instructions after an ADRP are searched for its partner.
const armLook = 6

// armBranch returns the number of distance bits in a branch, 0 for other instructions, and their position.
func armBranch(w uint32) (bits, at uint) {
	switch {
	case w&0x7c000000 == 0x14000000: // B, BL
		return 26, 0
	case w&0xff000010 == 0x54000000, w&0x7e000000 == 0x34000000: // B.cond, CBZ, CBNZ
		return 19, 5
	}
	return 0, 0
}

// armDistance is the signed distance of a branch, in bytes.
func armDistance(w uint32, bits, at uint) int64 {
	return int64(w>>at) << (64 - bits) >> (64 - bits) * 4
}

// armWithField replaces a field of an instruction.
func armWithField(w uint32, bits, at uint, v uint32) uint32 {
	mask := uint32(1)<<bits - 1
	return w&^(mask<<at) | v&mask<<at
}

// armPage is the signed distance of an ADRP in pages; ok is false for other instructions.
func armPage(w uint32) (pages int64, ok bool) {
	v := w>>5&0x7ffff<<2 | w>>29&3
	return int64(int32(v<<11) >> 11), w&0x9f000000 == 0x90000000
}

func armWithPage(w uint32, pages uint32) uint32 {
	return armWithField(armWithField(w, 19, 5, pages>>2), 2, 29, pages)
}

// armLow reads the lower 12 bits of an address from an ADD, a load or a store that uses the register, and their scale;
// ok is false for other instructions.
func armLow(w, register uint32) (low uint64, shift uint, ok bool) {
	if w>>5&31 != register {
		return 0, 0, false
	}
	switch {
	case w&0xffc00000 == 0x91000000: // ADD
	case w&0x3b000000 == 0x39000000: // load or store with an unsigned offset
		if shift = uint(w >> 30); w&0x04800000 == 0x04800000 {
			shift += 4 // a vector of 16 bytes
		}
	default:
		return 0, 0, false
	}
	return uint64(w >> 10 & 0xfff << shift), shift, shift <= 4
}

// armPartner finds the instruction that completes an ADRP at b[i].
func armPartner(b []byte, i int) (j int, low uint64, shift uint, ok bool) {
	register := binary.LittleEndian.Uint32(b[i:]) & 31
	for j = i + 4; j <= i+4*armLook && j+4 <= len(b); j += 4 {
		if low, shift, ok = armLow(binary.LittleEndian.Uint32(b[j:]), register); ok {
			return j, low, shift, true
		}
	}
	return 0, 0, 0, false
}

// armPair is an ADRP whose partner has not been reached.
type armPair struct {
	at       int
	from     uint64 // old target
	page     uint64 // new page of the ADRP
	adrp     int    // its index
	expected uint64
}

// predictARM predicts the references of arm64 code.
func (w *predictionWalk) predictARM(end int, oldAt, newAt uint64) error {
	if (oldAt^newAt)&3 != 0 {
		return nil
	}
	var pair armPair
	for i := w.aligned(w.done, 4); i < end && i+4 <= len(w.b); i += 4 {
		f := w.b[i : i+4]
		op := binary.LittleEndian.Uint32(f)
		if bits, at := armBranch(op); bits > 0 {
			if err := w.predictARMBranch(i, op, bits, at, oldAt, newAt); err != nil {
				return err
			}
			continue
		}
		if pair.at == i && i > 0 {
			if err := w.recordARMPair(pair, newAt); err != nil {
				return err
			}
		}
		pages, ok := armPage(op)
		if !ok {
			continue
		}
		j, low, shift, ok := armPartner(w.b, i)
		if !ok {
			continue
		}
		old := (oldAt+uint64(i))&^0xfff + uint64(pages<<12) + low
		target, ok := w.p.newAddress(old)
		if !ok || target&(1<<shift-1) != 0 {
			continue
		}
		page := (newAt + uint64(i)) &^ 0xfff
		binary.LittleEndian.PutUint32(f, armWithPage(op, uint32((target&^0xfff-page)>>12)))
		g := w.b[j : j+4]
		binary.LittleEndian.PutUint32(g, armWithField(binary.LittleEndian.Uint32(g), 12, 10, uint32(target&0xfff>>shift)))
		pair = armPair{at: j, from: old, page: page, adrp: i, expected: target}
	}
	return nil
}

// predictARMBranch predicts one branch.
func (w *predictionWalk) predictARMBranch(i int, op uint32, bits, at uint, oldAt, newAt uint64) error {
	old := oldAt + uint64(i) + uint64(armDistance(op, bits, at))
	if a, ok := w.p.old.find(old); !ok || !a.Code {
		return nil
	}
	target, ok := w.p.newAddress(old)
	if !ok {
		return nil
	}
	f := w.b[i : i+4]
	expected := armWithField(op, bits, at, uint32((target-newAt-uint64(i))>>2))
	binary.LittleEndian.PutUint32(f, expected)
	if err := w.correctTo(i + 4); err != nil {
		return err
	}
	if real := binary.LittleEndian.Uint32(f); real != expected {
		if b, a := armBranch(real); b == bits && a == at {
			w.p.corrections.record(old, newAt+uint64(i)+uint64(armDistance(real, bits, at)))
		}
	}
	return nil
}

// recordARMPair compares the real target of an ADRP and its partner with the expected one.
func (w *predictionWalk) recordARMPair(pair armPair, newAt uint64) error {
	if err := w.correctTo(pair.at + 4); err != nil {
		return err
	}
	op := binary.LittleEndian.Uint32(w.b[pair.adrp:])
	pages, ok := armPage(op)
	low, _, is := armLow(binary.LittleEndian.Uint32(w.b[pair.at:]), op&31)
	if real := pair.page + uint64(pages<<12) + low; ok && is && real != pair.expected {
		w.p.corrections.record(pair.from, real)
	}
	return nil
}
