// Package predicttest builds small native modules for tests.
package predicttest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// ELF is a small module for x86-64: one segment of code, one of data.
type ELF struct {
	Code, Data []byte
	CodeAt     uint64 // address
	DataAt     uint64
}

// ELFHead is how many bytes are before the code.
const ELFHead = 64 + 2*56

// Bytes lays the module out.
func (e *ELF) Bytes() []byte {
	b := make([]byte, ELFHead)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 3)
	le.PutUint16(b[18:], 62)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	segment := func(at int, flags uint32, off, address uint64, size int) {
		le.PutUint32(b[at:], 1)
		le.PutUint32(b[at+4:], flags)
		le.PutUint64(b[at+8:], off)
		le.PutUint64(b[at+16:], address)
		le.PutUint64(b[at+32:], uint64(size))
		le.PutUint64(b[at+40:], uint64(size)+64)
	}
	segment(64, 5, ELFHead, e.CodeAt, len(e.Code))
	segment(64+56, 6, uint64(ELFHead+len(e.Code)), e.DataAt, len(e.Data))
	return append(append(b, e.Code...), e.Data...)
}

// Module is a module of several functions that call each other and load data, with a table of pointers. Padding in front
// of the third function moves everything behind it, as an edit would.
func Module(padding int) []byte {
	r := rand.New(rand.NewPCG(5, 5))
	const functions, body = 40, 120
	e := &ELF{CodeAt: 0x401000, DataAt: 0x500000 + uint64(padding)}
	starts := make([]uint64, functions)
	for i := range starts {
		starts[i] = e.CodeAt + uint64(i*body)
		if i > 2 {
			starts[i] += uint64(padding)
		}
	}
	for i := range functions {
		if i == 3 {
			e.Code = append(e.Code, bytes.Repeat([]byte{0x90}, padding)...)
		}
		for n := 0; n < body; {
			here := e.CodeAt + uint64(len(e.Code))
			kind, callee, slot := r.IntN(4), r.IntN(functions), r.IntN(functions)
			var op []byte
			switch kind {
			case 0: // call
				op = binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(starts[callee]-here-5))
			case 1: // conditional jump
				op = binary.LittleEndian.AppendUint32([]byte{0x0f, 0x84}, uint32(starts[callee]-here-6))
			case 2: // load through the instruction pointer
				op = binary.LittleEndian.AppendUint32([]byte{0x48, 0x8b, 0x05}, uint32(e.DataAt+uint64(8*slot)-here-7))
			default:
				op = []byte{0x48, 0x83, 0xc0, byte(callee)}
			}
			if n+len(op) > body {
				op = bytes.Repeat([]byte{0x90}, body-n)
			}
			e.Code = append(e.Code, op...)
			n += len(op)
		}
	}
	for range 8 {
		for i := range starts {
			e.Data = binary.LittleEndian.AppendUint64(e.Data, starts[(i*7)%functions])
		}
	}
	return e.Bytes()
}

// ARMModule is Module for arm64: calls, and addresses that are loaded by pairs.
func ARMModule(padding int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	const functions, body = 60, 160
	e := &ELF{CodeAt: 0x401000, DataAt: 0x500000 + uint64(padding)}
	start := func(i int) uint64 {
		if i > 2 {
			return e.CodeAt + uint64(i*body+padding)
		}
		return e.CodeAt + uint64(i*body)
	}
	word := func(w uint32) { e.Code = binary.LittleEndian.AppendUint32(e.Code, w) }
	for i := range functions {
		if i == 3 {
			e.Code = append(e.Code, bytes.Repeat([]byte{0x1f, 0x20, 0x03, 0xd5}, padding/4)...)
		}
		for n := 0; n < body; n += 16 {
			here := e.CodeAt + uint64(len(e.Code))
			callee, slot := r.IntN(functions), r.IntN(functions)
			target := e.DataAt + uint64(8*slot)
			word(0x94000000 | uint32(int64(start(callee)-here)>>2)&(1<<26-1))
			pages := uint32((target&^0xfff - (here+4)&^0xfff) >> 12)
			word(0x90000001 | pages>>2&(1<<19-1)<<5 | pages&3<<29)
			word(0xaa0003e0 | uint32(slot)<<16)
			word(0x91000021 | uint32(target&0xfff)<<10)
		}
	}
	for i := range functions * 4 {
		e.Data = binary.LittleEndian.AppendUint64(e.Data, start(i*7%functions))
	}
	b := e.Bytes()
	binary.LittleEndian.PutUint16(b[18:], 183)
	return b
}

// Bodies are functions that differ from each other in their first bytes.
func Bodies(n int) (b []byte) {
	for i := range n {
		b = append(b, 0x48, 0xc7, 0xc0, byte(i), byte(i*7), 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xcc, 0xc3)
	}
	return b
}
