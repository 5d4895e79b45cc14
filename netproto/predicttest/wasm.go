package predicttest

import (
	"encoding/binary"
	"math/rand/v2"
)

// WASM is a WebAssembly module like a compiler's: functions that call each other and refer to data, and segments with pointers. inserted functions
// come in the middle, and everything behind them has other numbers.
func WASM(functions, inserted int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(f int) int64 {
		if f >= functions/2 {
			f += inserted
		}
		return int64(f + 200)
	}
	address := func(f int) int64 { return 1<<16 + 24*number(f) }
	var code, data []byte
	for f := range functions {
		if f == functions/2 {
			for range inserted {
				code = append(code, 8, 0, 0x20, 0, 0x20, 1, 0x6a, 0x0b)
			}
		}
		for range 4 {
			to := r.IntN(functions)
			code = append(append(code, 0x20, byte(r.IntN(30)), 0x41), sleb(address(to))...)
			code = append(append(code, 0x6a, 0x10), binary.AppendUvarint(nil, uint64(number(to)))...)
		}
		data = append(append(append(data, 0, 0x41), sleb(address(f))...), 0x0b, 7)
		data = binary.LittleEndian.AppendUint32(data, uint32(address(r.IntN(functions))))
		data = append(data, byte(f), 0, 1)
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id   byte
		body []byte
	}{{10, code}, {11, data}} {
		b = append(binary.AppendUvarint(append(b, s.id), uint64(len(s.body))), s.body...)
	}
	return b
}

// sleb is a number as signed LEB128.
func sleb(v int64) (b []byte) {
	for ; v < -64 || v > 63; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v)&0x7f)
}
