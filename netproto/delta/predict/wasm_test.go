package predict

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"collet/netproto/predicttest"
)

// leb is a number as LEB128 in its shortest form.
func leb(v int64, signed bool) []byte {
	for n := 1; ; n++ {
		if b := make([]byte, n); writeLEB(b, v, signed) {
			return b
		}
	}
}

// TestLEB: what is written is read again, and a number that does not fit changes nothing.
func TestLEB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		signed, v := rapid.Bool().Draw(t, "signed"), rapid.Int64Range(-1<<40, 1<<40).Draw(t, "number")
		if !signed {
			v = max(v, -v)
		}
		b := leb(v, signed)
		if got := readLEB(b, signed); got != v {
			t.Fatalf("%d became %d", v, got)
		}
		if short := bytes.Repeat([]byte{0xee}, len(b)-1); len(short) > 0 && (writeLEB(short, v, signed) || !bytes.Equal(short, bytes.Repeat([]byte{0xee}, len(b)-1))) {
			t.Fatalf("%d went into %d bytes", v, len(b)-1)
		}
	})
	if b := binary.AppendUvarint(nil, 624485); !bytes.Equal(leb(624485, false), b) {
		t.Errorf("% x", b)
	}
}

func TestSegmentHead(t *testing.T) {
	good := append(append([]byte{wasmConst32}, leb(120594, true)...), wasmEnd, 7, 1, 2, 3)
	for n := range good {
		head := readSegmentHead(good[:n+1], 0)
		if want := n >= 5; want != (head.bytes > 0) {
			t.Errorf("%d bytes: %+v", n+1, head)
		}
	}
	if head := readSegmentHead(good, 0); head != (segmentHead{bytes: 6, digits: 3, address: 120594, size: 7}) {
		t.Errorf("%+v", head)
	}
	if head := readSegmentHead(append([]byte{wasmConst32}, bytes.Repeat([]byte{0x80}, 20)...), 0); head.bytes != 0 {
		t.Errorf("an endless number: %+v", head)
	}
}

// TestInsertedFunction: a function that is inserted shifts most numbers; almost all of them are predicted.
func TestInsertedFunction(t *testing.T) {
	old, fresh := predicttest.WASM(2000, 0), predicttest.WASM(2000, 3)
	s := FindModules(old, []int64{int64(len(old))}, fresh, []int64{int64(len(fresh))})
	if s == nil || s.machine != machineWASM {
		t.Fatalf("%+v", s)
	}
	// What is before and behind the inserted functions is a match, and so are the segments.
	var matches []Match
	maskedOld, maskedNew := s.MaskOld(old), s.MaskNew(fresh)
	for i, b := range s.New {
		a := s.Old[i]
		from, to := maskedOld[a.At:a.At+a.Size], maskedNew[b.At:b.At+b.Size]
		head := uint32(len(commonPrefix(from, to)))
		matches = append(matches, Match{At: b.At, Size: head, Old: a.At})
		if tail := uint32(len(commonPrefix(reversed(from[head:]), reversed(to[head:])))); tail > 0 {
			matches = append(matches, Match{At: b.At + b.Size - tail, Size: tail, Old: a.At + a.Size - tail})
		}
	}
	wrong := func(code, segments byte) (n int) {
		modes := make([]byte, (len(fresh)-1)>>BlockBits+1)
		for i := range modes {
			if modes[i] = code; s.New[1].At <= uint32(i)<<BlockBits {
				modes[i] = segments
			}
		}
		p := NewPredictor(s, NewOffsetMap(matches, int64(len(old))), modes)
		for _, m := range matches {
			v := &mismatches{want: fresh[m.At:m.End()]}
			if err := p.Predict(bytes.Clone(old[m.Old:m.OldEnd()]), m.Old, m.At, v); err != nil {
				t.Fatal(err)
			}
			n += v.cost
		}
		return n
	}
	off, on := wrong(modeOff, modeOff), wrong(modeWASM, modeSegments)

	if off < 3000 || on*20 > off {
		t.Errorf("%d mismatches, without prediction %d", on, off)
	}
}

func commonPrefix(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func reversed(b []byte) []byte {
	r := make([]byte, len(b))
	for i, c := range b {
		r[len(b)-1-i] = c
	}
	return r
}
