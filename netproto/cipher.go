package netproto

import (
	"crypto/rand"
	"crypto/subtle"
)

// cipherTable is the number of key bytes of one direction (docs/PROTOCOL.md).
const cipherTable = 50

// cipherBlock is the number of bytes that are XORed in one step.
const cipherBlock = 512

// keystream is the cipher of one direction. A field is XORed with the one table byte that its offset in the stream
// selects, and advances the offset by its length. The zero value does not encipher.
type keystream struct {
	table [cipherTable]byte
	pos   int // offset of the next field since the key was set, mod cipherTable
	on    bool
}

// newKeystream starts the stream of a key. Key 0 is no cipher.
func newKeystream(key uint32) keystream {
	k := keystream{on: key != 0}
	if !k.on {
		return k
	}
	for i, v := range mersenne(key) {
		k.table[i] = byte(v)
	}
	return k
}

// Apply enciphers or deciphers one whole field in place.
func (k *keystream) Apply(field []byte) {
	key := k.table[k.pos]
	k.skip(len(field))
	if key == 0 {
		return
	}
	if len(field) >= cipherBlock {
		var block [cipherBlock]byte
		for i := range block {
			block[i] = key
		}
		for len(field) >= cipherBlock {
			subtle.XORBytes(field, field[:cipherBlock], block[:])
			field = field[cipherBlock:]
		}
	}
	for i := range field {
		field[i] ^= key
	}
}

// skip passes over n bytes.
func (k *keystream) skip(n int) { k.pos = (k.pos + n) % cipherTable }

// Parameters of MT19937 (Matsumoto and Nishimura, 1998).
const (
	mtMiddle     = 397
	mtInit       = 1812433253
	mtTwist      = 0x9908b0df
	mtUpper      = 0x80000000
	mtLower      = 0x7fffffff
	mtTemperingB = 0x9d2c5680
	mtTemperingC = 0xefc60000
)

// mersenne returns the first outputs of MT19937. They depend only on the words up to cipherTable+mtMiddle of the initial
// state, and on no generated word, so only that part of the state is computed.
func mersenne(seed uint32) (out [cipherTable]uint32) {
	var state [cipherTable + mtMiddle]uint32
	state[0] = seed
	for i := 1; i < len(state); i++ {
		state[i] = mtInit*(state[i-1]^state[i-1]>>30) + uint32(i)
	}
	for i := range out {
		y := state[i]&mtUpper | state[i+1]&mtLower
		v := state[i+mtMiddle] ^ y>>1
		if y&1 != 0 {
			v ^= mtTwist
		}
		out[i] = temper(v)
	}
	return out
}

func temper(v uint32) uint32 {
	v ^= v >> 11
	v ^= v << 7 & mtTemperingB
	v ^= v << 15 & mtTemperingC
	return v ^ v>>18
}

// NewKey draws a key as the engine does: four random bytes, none of them 0.
func NewKey() uint32 {
	var key uint32
	for range 4 {
		key = key<<8 | uint32(nonzeroByte())
	}
	return key
}

// nonzeroByte draws until a byte is not 0. crypto/rand never fails.
func nonzeroByte() byte {
	var b [1]byte
	for b[0] == 0 {
		rand.Read(b[:])
	}
	return b[0]
}
