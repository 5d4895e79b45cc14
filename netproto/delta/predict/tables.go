package predict

import "encoding/binary"

// predictAbsolute predicts 8-byte addresses. If low is set, only the low bits are an address, relative to base 0, as in
// Mach-O's chained fixups; the rest is unchanged.
func (w *predictionWalk) predictAbsolute(end int, low uint) error {
	mask, from := ^uint64(0), base{}
	if low > 0 {
		mask, from = 1<<low-1, w.p.bases[0]
	}
	for i := w.aligned(w.done, 8); i < end && i+8 <= len(w.b); i += 8 {
		f := w.b[i : i+8]
		v := binary.LittleEndian.Uint64(f)
		old := v&mask + from.old
		target, ok := w.p.newAddress(old)
		if !ok {
			continue
		}
		expected := v&^mask | (target-from.new)&mask
		binary.LittleEndian.PutUint64(f, expected)
		if err := w.correctTo(i + 8); err != nil {
			return err
		}
		if real := binary.LittleEndian.Uint64(f); real != expected {
			w.p.corrections.record(old, real&mask+from.new)
		}
	}
	return nil
}

func (w *predictionWalk) predictRelative(end int, oldAt, newAt uint64) error {
	for i := w.aligned(w.done, 4); i < end && i+4 <= len(w.b); i += 4 {
		if _, err := w.predictField(i, oldAt+uint64(i), newAt+uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

func (w *predictionWalk) predictBased(end int, b base) error {
	for i := w.aligned(w.done, 4); i < end && i+4 <= len(w.b); i += 4 {
		if _, err := w.predictField(i, b.old, b.new); err != nil {
			return err
		}
	}
	return nil
}

// predictSteps expects each number to have changed like the one a stride before it.
func (w *predictionWalk) predictSteps(end, stride int) error {
	var history [512]uint32 // changes by place, modulo the stride
	for i := w.aligned(w.done, 4); i < end && i+4 <= len(w.b); i += 4 {
		f := w.b[i : i+4]
		h := &history[(int(w.at)+i)%stride]
		old := binary.LittleEndian.Uint32(f)
		binary.LittleEndian.PutUint32(f, old+*h)
		if err := w.correctTo(i + 4); err != nil {
			return err
		}
		*h = binary.LittleEndian.Uint32(f) - old
	}
	return nil
}

// unwindHead is how many bytes of an .eh_frame record are parsed: its size, the distance back to its common part, the
// distance to the function, the function's size, and the beginning of the language's data.
const unwindHead = 24

// largestRecord bounds the plausible size of a record, in bytes.
const largestRecord = 1 << 16

// unwindRecord parses the head of a record: its size in the file, or 0 if it is no record; whether it belongs to a function;
// and whether a reference of the language is at byte 17. before is how many preceding bytes may contain its common part.
func unwindRecord(b []byte, before uint64) (n int, owner, extra bool) {
	size := binary.LittleEndian.Uint32(b)
	if size < 8 || size > largestRecord || size&3 != 0 {
		return 0, false, false
	}
	back := uint64(binary.LittleEndian.Uint32(b[4:]))
	owner = back != 0 && back <= before+4 && size >= 16
	return int(size) + 4, owner, owner && b[16] == 4 && size >= 20
}

// predictUnwind predicts the references of .eh_frame's records. A record is recognised if its size, the distance to its common
// part and a function in code are consistent.
func (w *predictionWalk) predictUnwind(end int, oldAt, newAt uint64) error {
	a, ok := w.p.old.find(oldAt + uint64(w.done))
	if !ok {
		return nil
	}
	for i := w.aligned(w.done, 4); i < end && i+unwindHead <= len(w.b); {
		n, owner, extra := unwindRecord(w.b[i:], oldAt+uint64(i)-a.Address)
		if !owner || !w.p.old.reached(w.b[i+8:], oldAt+uint64(i)+8, true) {
			i += 4
			continue
		}
		if err := w.predictBackward(i+4, oldAt, newAt); err != nil {
			return err
		}
		if _, err := w.predictField(i+8, oldAt+uint64(i)+8, newAt+uint64(i)+8); err != nil {
			return err
		}
		if extra {
			if _, err := w.predictField(i+17, oldAt+uint64(i)+17, newAt+uint64(i)+17); err != nil {
				return err
			}
		}
		i += n
	}
	return nil
}

// predictBackward predicts the number at b[i] as a backward distance from its own address.
func (w *predictionWalk) predictBackward(i int, oldAt, newAt uint64) error {
	f := w.b[i : i+4]
	old := oldAt + uint64(i) - uint64(binary.LittleEndian.Uint32(f))
	target, ok := w.p.newAddress(old)
	if !ok {
		return nil
	}
	expected := uint32(newAt + uint64(i) - target)
	binary.LittleEndian.PutUint32(f, expected)
	if err := w.correctTo(i + 4); err != nil {
		return err
	}
	if real := binary.LittleEndian.Uint32(f); real != expected {
		w.p.corrections.record(old, newAt+uint64(i)-uint64(real))
	}
	return nil
}
