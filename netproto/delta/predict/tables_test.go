package predict

import (
	"bytes"
	"encoding/binary"
	"testing"

	"collet/platform/testlevel"
)

// real is a corrector that knows the new bytes and counts what was expected wrongly.
type real struct {
	want  []byte
	wrong int
}

func (r *real) Correct(b []byte) error {
	for i := range b {
		if b[i] != r.want[i] {
			r.wrong++
		}
	}
	r.want = r.want[copy(b, r.want):]
	return nil
}

const (
	tableAt = 0x1000 // of the old and new tables, in the contents and in memory
	codeAt  = 0x2000
	codeEnd = 0x4000
)

// expected runs one mode over a table in front of code, whose second half moved by 64 bytes, and returns what was wrong.
func expected(t *testing.T, mode byte, old, fresh []byte, bases ...base) int {
	t.Helper()
	const half = (codeAt + codeEnd) / 2
	s := &Modules{bases: bases}
	s.Old = []Area{{At: tableAt, Size: 0x1000, Memory: 0x1000, Address: tableAt}, {At: codeAt, Size: codeEnd - codeAt, Memory: codeEnd - codeAt, Address: codeAt, Code: true}}
	s.New = []Area{s.Old[0], {At: codeAt, Size: codeEnd - codeAt + 64, Memory: codeEnd - codeAt + 64, Address: codeAt, Code: true}}
	links := []Match{{At: tableAt, Size: 0x1000, Old: tableAt}, {At: codeAt, Size: half - codeAt, Old: codeAt}, {At: half + 64, Size: codeEnd - half, Old: half}}
	p := NewPredictor(s, NewOffsetMap(links, codeEnd), bytes.Repeat([]byte{mode}, 8))
	c := &real{want: fresh}
	b := bytes.Clone(old)
	if err := p.Predict(b, tableAt, tableAt, c); err != nil || len(c.want) != 0 || !bytes.Equal(b, fresh) {
		t.Fatalf("mode %d: %v, %d bytes left", mode, err, len(c.want))
	}
	return c.wrong
}

// targets are places in the code, and where they went.
func targets(n int) (old, fresh []uint32) {
	for i := range n {
		at := uint32(codeAt + i*0x1ff0/n)
		old = append(old, at)
		if at >= (codeAt+codeEnd)/2 {
			at += 64
		}
		fresh = append(fresh, at)
	}
	return old, fresh
}

// TestTables: a table of each kind is predicted without a wrong byte, and one that is not of the kind still comes out right.
func TestTables(t *testing.T) {
	testlevel.Slow(t)
	old, fresh := targets(60)
	le := binary.LittleEndian
	table := func(list []uint32, entry func(b []byte, i int, v uint32) []byte) (b []byte) {
		for i, v := range list {
			b = entry(b, i, v)
		}
		return b
	}
	absolute := func(b []byte, _ int, v uint32) []byte { return le.AppendUint64(b, uint64(v)) }
	chained := func(b []byte, i int, v uint32) []byte { return le.AppendUint64(b, uint64(i)<<40|uint64(v-0x800)) }
	relative := func(b []byte, i int, v uint32) []byte { return le.AppendUint32(b, v-uint32(tableAt+4*i)) }
	based := func(b []byte, _ int, v uint32) []byte { return le.AppendUint32(b, v-0x800) }
	record := func(b []byte, i int, v uint32) []byte {
		at := uint32(tableAt + len(b))
		b = le.AppendUint32(b, 20)
		b = le.AppendUint32(b, at+4-tableAt)
		b = le.AppendUint32(b, v-at-8)
		b = le.AppendUint32(b, 0x40)
		b = append(b, 4)
		b = le.AppendUint32(b, v-at-17)
		return append(b, 0, 0, 0)
	}
	for name, c := range map[string]struct {
		mode  byte
		entry func(b []byte, i int, v uint32) []byte
		bases []base
	}{
		"addresses": {modeAbs8, absolute, nil}, "chained": {modeLow36, chained, []base{{0x800, 0x800}}},
		"own place": {modeRel4, relative, nil}, "base": {modeBase, based, []base{{0x800, 0x800}}},
		"unwind": {modeUnwind, record, nil},
	} {
		a, b := table(old, c.entry), table(fresh, c.entry)
		if bytes.Equal(a, b) {
			t.Errorf("%s: the tables are equal, so this shows nothing", name)
		}
		if wrong := expected(t, c.mode, a, b, c.bases...); wrong != 0 {
			t.Errorf("%s: %d bytes are expected wrongly", name, wrong)
		}
		for mode := range 64 {
			expected(t, byte(mode), a, noiseBytes(uint64(mode), len(a)), c.bases...)
		}
	}
}

// TestSteps: numbers that all change alike in each column are wrong once.
func TestSteps(t *testing.T) {
	var a, b []byte
	for i := range uint32(200) {
		a = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(a, 1000+i*77), 5_000_000-i*3)
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 1000+i*77+0x1234), 5_000_000-i*3-9)
	}
	if wrong := expected(t, modeStep+1, a, b); wrong > 8 {
		t.Errorf("%d bytes are expected wrongly in two columns", wrong)
	}
	if wrong := expected(t, modeStep, a, b); wrong < 100 {
		t.Errorf("only %d bytes are wrong with the wrong stride", wrong)
	}
}

// TestRecordedCorrections: a target that the matches map wrongly is mispredicted only the first time.
func TestRecordedCorrections(t *testing.T) {
	var a, b []byte
	for range 50 {
		a = binary.LittleEndian.AppendUint64(a, codeAt+0x10)
		b = binary.LittleEndian.AppendUint64(b, codeAt+0x777)
	}
	if wrong := expected(t, modeAbs8, a, b); wrong == 0 || wrong > 8 {
		t.Errorf("%d bytes are wrong, want those of one address", wrong)
	}
}

// pe is a module of two sections with headers as Windows has them.
func pe() []byte {
	b := make([]byte, 0x800)
	le := binary.LittleEndian
	copy(b, "MZ")
	le.PutUint32(b[60:], 0x80)
	copy(b[0x80:], "PE\x00\x00")
	le.PutUint16(b[0x84:], 0x8664)
	le.PutUint16(b[0x86:], 2)
	le.PutUint16(b[0x94:], 240)
	le.PutUint16(b[0x98:], 0x20b)
	le.PutUint64(b[0x98+24:], 0x140000000)
	le.PutUint32(b[0x98+60:], 0x400)
	section := func(at int, name string, virtual, size, offset, flags uint32) {
		copy(b[at:], name)
		le.PutUint32(b[at+8:], size)
		le.PutUint32(b[at+12:], virtual)
		le.PutUint32(b[at+16:], 0x200)
		le.PutUint32(b[at+20:], offset)
		le.PutUint32(b[at+36:], flags)
	}
	section(0x188, ".text", 0x1000, 0x1f0, 0x400, 0x60000020)
	section(0x188+40, ".pdata", 0x2000, 0x900, 0x600, 0x40000040)
	return b
}

// macho is a module of one segment with one section for arm64.
func macho() []byte {
	b := make([]byte, 0x400)
	le := binary.LittleEndian
	copy(b, "\xcf\xfa\xed\xfe")
	le.PutUint32(b[4:], 0x0100000c)
	le.PutUint32(b[16:], 1)
	le.PutUint32(b[32:], 0x19)
	le.PutUint32(b[36:], 72+80)
	copy(b[40:], "__TEXT")
	le.PutUint64(b[56:], 0x100000000)
	le.PutUint64(b[64:], 0x4000)
	le.PutUint64(b[80:], 0x400)
	le.PutUint32(b[92:], 5)
	le.PutUint32(b[96:], 1)
	copy(b[104:], "__eh_frame")
	le.PutUint64(b[136:], 0x100000200)
	le.PutUint64(b[144:], 0x100)
	le.PutUint32(b[152:], 0x200)
	return b
}

func TestImages(t *testing.T) {
	im := parseImage(pe())
	if im == nil || im.machine != machineX86 || len(im.areas) != 3 || im.bases[imageBase] != 0x140000000 {
		t.Fatalf("PE: %+v", im)
	}
	if a := im.areas[1]; !a.Code || a.At != 0x400 || a.Address != 0x140001000 || a.Size != 0x1f0 {
		t.Errorf("PE Code: %+v", a)
	}
	if a := im.tables[".pdata"]; a.At != 0x600 || a.Size != 0x200 || a.Address != 0x140002000 || im.areas[2].Memory != 0x900 {
		t.Errorf("PE functions: %+v, %+v", a, im.areas[2])
	}
	im = parseImage(macho())
	if im == nil || im.machine != machineARM || len(im.areas) != 1 || !im.areas[0].Code || im.bases[imageBase] != 0x100000000 {
		t.Fatalf("Mach-O: %+v", im)
	}
	if a := im.tables[".eh_frame"]; a.At != 0x200 || a.Size != 0x100 || a.Address != 0x100000200 {
		t.Errorf("Mach-O unwinding: %+v", a)
	}
	for _, b := range [][]byte{nil, []byte("MZ"), bytes.Repeat([]byte("MZ"), 100), []byte("\x7fELF\x02\x01"), bytes.Repeat([]byte("plain words "), 80)} {
		if im := parseImage(b); im != nil {
			t.Errorf("%.8q is a module: %+v", b, im)
		}
	}
	for n := range len(pe()) {
		parseImage(pe()[:n])
		parseImage(macho()[:min(n, len(macho()))])
	}
}
