package deflate

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// Codes of RFC 1951.
const (
	literals      = 256
	endOfBlock    = 256
	lengthCodes   = 29
	literalCodes  = literals + 1 + lengthCodes
	distanceCodes = 30
	bitCodes      = 19
	maxBits       = 15
	maxBitBits    = 7 // of the codes of code lengths

	repeat3to6    = 16
	zeros3to10    = 17
	zeros11to138  = 18
	storedBlock   = 0
	fixedBlock    = 1
	dynamicBlock  = 2
	blockTypeBits = 3
)

// flushFrom is how many bytes of output are written at once.
const flushFrom = 16 << 10

// huffman is the code of one alphabet in one block. The last element of each slice is a guard.
type huffman struct {
	count   []uint16 // of each symbol; the nodes of the tree are behind the symbols
	parent  []uint16
	size    []uint16 // in bits
	code    []uint16 // with its bits reversed
	symbols int
	limit   int // bits of the longest code
	extra   func(symbol int) int
	fixed   []uint16 // sizes of the fixed code; nil without one
	last    int      // the highest symbol in use
}

func newHuffman(symbols, limit int, extra func(int) int, fixed []uint16) *huffman {
	n := 2*symbols + 2
	return &huffman{make([]uint16, n), make([]uint16, n), make([]uint16, n), make([]uint16, n), symbols, limit, extra, fixed, 0}
}

// codeTables are constant tables of RFC 1951.
type codeTables struct {
	lengthCode   [maxMatch - minMatch + 1]uint8 // of a length less minMatch
	lengthBase   [lengthCodes]uint16
	lengthExtra  [lengthCodes]uint8
	distBase     [distanceCodes]uint16
	distExtra    [distanceCodes]uint8
	fixedLiteral huffman
	fixedDist    huffman
}

// blockCoder codes the symbols of one block after the other, as zlib does. newBlockCoder makes it.
type blockCoder struct {
	tables   *codeTables
	out      io.Writer
	buffer   []byte
	bits     uint64
	bitCount uint

	lengths   []uint8 // of each symbol: the literal, or a length less minMatch
	distances []uint16
	capacity  int // symbols of a block

	literal, dist, bit  *huffman
	optimal, fixedTotal int // bits of the block
	heap                [2*literalCodes + 1]uint16
	heapSize, heapTop   int
	depth               [2*literalCodes + 1]uint8
}

func newCodeTables() *codeTables {
	t := &codeTables{}
	length := 0
	for code := range lengthCodes - 1 {
		extra := max(code/4-1, 0)
		t.lengthBase[code], t.lengthExtra[code] = uint16(length), uint8(extra)
		for range 1 << extra {
			if length < len(t.lengthCode) {
				t.lengthCode[length] = uint8(code)
			}
			length++
		}
	}
	t.lengthCode[maxMatch-minMatch], t.lengthBase[lengthCodes-1] = lengthCodes-1, maxMatch-minMatch
	dist := 0
	for code := range distanceCodes {
		extra := max(code/2-1, 0)
		t.distBase[code], t.distExtra[code] = uint16(dist), uint8(extra)
		dist += 1 << extra
	}
	fixed := make([]uint16, literalCodes+2)
	for i := range fixed {
		switch {
		case i < 144:
			fixed[i] = 8
		case i < 256:
			fixed[i] = 9
		case i < 280:
			fixed[i] = 7
		default:
			fixed[i] = 8
		}
	}
	t.fixedLiteral = huffman{size: fixed, code: make([]uint16, literalCodes+2), symbols: literalCodes + 2, limit: maxBits, last: literalCodes + 1}
	t.fixedLiteral.makeCodes()
	fixed = make([]uint16, distanceCodes)
	for i := range fixed {
		fixed[i] = 5
	}
	t.fixedDist = huffman{size: fixed, code: make([]uint16, distanceCodes), symbols: distanceCodes, limit: maxBits, last: distanceCodes - 1}
	t.fixedDist.makeCodes()
	return t
}

func newBlockCoder() blockCoder {
	t := newCodeTables()
	lengthExtra := func(symbol int) int {
		if symbol <= literals {
			return 0
		}
		return int(t.lengthExtra[symbol-literals-1])
	}
	bitExtra := func(symbol int) int {
		return [bitCodes]int{repeat3to6: 2, zeros3to10: 3, zeros11to138: 7}[symbol]
	}
	return blockCoder{
		tables:  t,
		literal: newHuffman(literalCodes, maxBits, lengthExtra, t.fixedLiteral.size),
		dist:    newHuffman(distanceCodes, maxBits, func(symbol int) int { return int(t.distExtra[symbol]) }, t.fixedDist.size),
		bit:     newHuffman(bitCodes, maxBitBits, bitExtra, nil),
	}
}

// reset begins a stream whose blocks have at most so many symbols.
func (c *blockCoder) reset(out io.Writer, capacity int) {
	c.out, c.buffer, c.bits, c.bitCount, c.capacity = out, c.buffer[:0], 0, 0, capacity
	c.beginBlock()
}

func (c *blockCoder) beginBlock() {
	clear(c.literal.count[:literalCodes])
	clear(c.dist.count[:distanceCodes])
	clear(c.bit.count[:bitCodes])
	c.literal.count[endOfBlock] = 1
	c.optimal, c.fixedTotal, c.lengths, c.distances = 0, 0, c.lengths[:0], c.distances[:0]
}

// addLiteral adds a byte and reports whether the block is full.
func (c *blockCoder) addLiteral(b byte) bool {
	c.lengths, c.distances = append(c.lengths, b), append(c.distances, 0)
	c.literal.count[b]++
	return len(c.lengths) == c.capacity
}

// addMatch adds a match and reports whether the block is full.
func (c *blockCoder) addMatch(distance, size int) bool {
	c.lengths, c.distances = append(c.lengths, uint8(size-minMatch)), append(c.distances, uint16(distance))
	c.literal.count[int(c.tables.lengthCode[size-minMatch])+literals+1]++
	c.dist.count[distanceCode(distance-1)]++
	return len(c.lengths) == c.capacity
}

// distanceCode is the code of a distance less 1.
func distanceCode(d int) int {
	if d < 4 {
		return d
	}
	n := bits.Len(uint(d)) - 2
	return 2*n + d>>n
}

// codeBlock codes all symbols as a block of the smallest kind. stored are its size bytes, if they are at hand.
func (c *blockCoder) codeBlock(stored []byte, atHand bool, size int, last bool) {
	c.buildTree(c.literal)
	c.buildTree(c.dist)
	c.scanTree(c.literal)
	c.scanTree(c.dist)
	c.buildTree(c.bit)
	lengths := bitCodes
	for lengths > 4 && c.bit.size[bitOrder(lengths-1)] == 0 {
		lengths--
	}
	c.optimal += 3*lengths + 5 + 5 + 4
	best, fixed := (c.optimal+blockTypeBits+7)/8, (c.fixedTotal+blockTypeBits+7)/8
	best = min(best, fixed)
	final := uint64(0)
	if last {
		final = 1
	}
	switch {
	case size+4 <= best && atHand:
		c.put(storedBlock<<1|final, blockTypeBits)
		c.align()
		c.buffer = binary.LittleEndian.AppendUint16(c.buffer, uint16(size))
		c.buffer = binary.LittleEndian.AppendUint16(c.buffer, ^uint16(size))
		c.buffer = append(c.buffer, stored...)
	case fixed == best:
		c.put(fixedBlock<<1|final, blockTypeBits)
		c.putSymbols(&c.tables.fixedLiteral, &c.tables.fixedDist)
	default:
		c.put(dynamicBlock<<1|final, blockTypeBits)
		c.put(uint64(c.literal.last+1-literals-1), 5)
		c.put(uint64(c.dist.last), 5)
		c.put(uint64(lengths-4), 4)
		for i := range lengths {
			c.put(uint64(c.bit.size[bitOrder(i)]), 3)
		}
		c.putTree(c.literal)
		c.putTree(c.dist)
		c.putSymbols(c.literal, c.dist)
	}
	if last {
		c.align()
	}
	c.beginBlock()
}

// bitOrder is the order of the sizes of the codes of code lengths.
func bitOrder(i int) int {
	return int([bitCodes]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}[i])
}

func (c *blockCoder) put(value uint64, n uint) {
	c.bits |= value << c.bitCount
	if c.bitCount += n; c.bitCount >= 32 {
		c.buffer = binary.LittleEndian.AppendUint32(c.buffer, uint32(c.bits))
		c.bits >>= 32
		c.bitCount -= 32
	}
}

// align fills the last byte with zeros.
func (c *blockCoder) align() {
	for ; c.bitCount > 0; c.bitCount -= min(8, c.bitCount) {
		c.buffer = append(c.buffer, byte(c.bits))
		c.bits >>= 8
	}
	c.bits = 0
}

func (c *blockCoder) flush() error {
	_, err := c.out.Write(c.buffer)
	c.buffer = c.buffer[:0]
	return err
}

// flushFull writes the output if there is enough of it.
func (c *blockCoder) flushFull() error {
	if len(c.buffer) < flushFrom {
		return nil
	}
	return c.flush()
}

func (c *blockCoder) putSymbols(literal, dist *huffman) {
	for i, n := range c.lengths {
		d := c.distances[i]
		if d == 0 {
			c.put(uint64(literal.code[n]), uint(literal.size[n]))
			continue
		}
		code := c.tables.lengthCode[n]
		c.put(uint64(literal.code[int(code)+literals+1]), uint(literal.size[int(code)+literals+1]))
		if extra := c.tables.lengthExtra[code]; extra > 0 {
			c.put(uint64(n)-uint64(c.tables.lengthBase[code]), uint(extra))
		}
		at := distanceCode(int(d) - 1)
		c.put(uint64(dist.code[at]), uint(dist.size[at]))
		if extra := c.tables.distExtra[at]; extra > 0 {
			c.put(uint64(d)-1-uint64(c.tables.distBase[at]), uint(extra))
		}
	}
	c.put(uint64(literal.code[endOfBlock]), uint(literal.size[endOfBlock]))
}

// runs calls each for every run of equal sizes, cut as RFC 1951 can state it.
func (h *huffman) runs(each func(size, before, count int)) {
	before, next, count, most, least := -1, int(h.size[0]), 0, 7, 4
	if next == 0 {
		most, least = 138, 3
	}
	for n := 0; n <= h.last; n++ {
		size := next
		next = -1
		if n < h.last {
			next = int(h.size[n+1])
		}
		if count++; count < most && size == next {
			continue
		}
		if count < least {
			for range count {
				each(size, size, 1)
			}
		} else {
			each(size, before, count)
		}
		before, count = size, 0
		switch {
		case next == 0:
			most, least = 138, 3
		case size == next:
			most, least = 6, 3
		default:
			most, least = 7, 4
		}
	}
}

// scanTree counts the codes of code lengths that a tree needs.
func (c *blockCoder) scanTree(h *huffman) {
	h.runs(func(size, before, count int) {
		switch {
		case count == 1:
			c.bit.count[size]++
		case size != 0:
			if size != before {
				c.bit.count[size]++
			}
			c.bit.count[repeat3to6]++
		case count <= 10:
			c.bit.count[zeros3to10]++
		default:
			c.bit.count[zeros11to138]++
		}
	})
}

func (c *blockCoder) putTree(h *huffman) {
	code := func(symbol int) { c.put(uint64(c.bit.code[symbol]), uint(c.bit.size[symbol])) }
	h.runs(func(size, before, count int) {
		switch {
		case count == 1:
			code(size)
		case size != 0:
			if size != before {
				code(size)
				count--
			}
			code(repeat3to6)
			c.put(uint64(count-3), 2)
		case count <= 10:
			code(zeros3to10)
			c.put(uint64(count-3), 3)
		default:
			code(zeros11to138)
			c.put(uint64(count-11), 7)
		}
	})
}

// buildTree makes the code of an alphabet from the counts, and adds up the bits of the block.
func (c *blockCoder) buildTree(h *huffman) {
	c.heapSize, c.heapTop, h.last = 0, len(c.heap), -1
	push := func(n int) {
		c.heapSize++
		c.heap[c.heapSize], c.depth[n] = uint16(n), 0
	}
	for n := range h.symbols {
		if h.count[n] != 0 {
			push(n)
			h.last = n
		} else {
			h.size[n] = 0
		}
	}
	for c.heapSize < 2 { // a code has at least two symbols
		n := 0
		if h.last < 2 {
			h.last++
			n = h.last
		}
		h.count[n] = 1
		push(n)
		c.optimal--
		if h.fixed != nil {
			c.fixedTotal -= int(h.fixed[n])
		}
	}
	for n := c.heapSize / 2; n >= 1; n-- {
		c.sink(h, n)
	}
	node := h.symbols
	for {
		n := c.heap[1]
		c.heap[1] = c.heap[c.heapSize]
		c.heapSize--
		c.sink(h, 1)
		m := c.heap[1]
		c.heapTop -= 2
		c.heap[c.heapTop+1], c.heap[c.heapTop] = n, m
		h.count[node] = h.count[n] + h.count[m]
		c.depth[node] = max(c.depth[n], c.depth[m]) + 1
		h.parent[n], h.parent[m] = uint16(node), uint16(node)
		c.heap[1] = uint16(node)
		node++
		c.sink(h, 1)
		if c.heapSize < 2 {
			break
		}
	}
	c.heapTop--
	c.heap[c.heapTop] = c.heap[1]
	c.limitSizes(h)
	h.makeCodes()
}

// sink moves the element at k down to its place in the heap.
func (c *blockCoder) sink(h *huffman, k int) {
	smaller := func(n, m uint16) bool {
		return h.count[n] < h.count[m] || h.count[n] == h.count[m] && c.depth[n] <= c.depth[m]
	}
	v := c.heap[k]
	for j := 2 * k; j <= c.heapSize; j *= 2 {
		if j < c.heapSize && smaller(c.heap[j+1], c.heap[j]) {
			j++
		}
		if smaller(v, c.heap[j]) {
			break
		}
		c.heap[k] = c.heap[j]
		k = j
	}
	c.heap[k] = v
}

// limitSizes computes the sizes of the codes. Those over the limit are shortened, and others get longer in their place.
func (c *blockCoder) limitSizes(h *huffman) {
	var counts [maxBits + 1]int
	over := 0
	h.size[c.heap[c.heapTop]] = 0
	at := c.heapTop + 1
	for ; at < len(c.heap); at++ {
		n := int(c.heap[at])
		size := int(h.size[h.parent[n]]) + 1
		if size > h.limit {
			size = h.limit
			over++
		}
		h.size[n] = uint16(size)
		if n > h.last {
			continue
		}
		counts[size]++
		extra := h.extra(n)
		c.optimal += int(h.count[n]) * (size + extra)
		if h.fixed != nil {
			c.fixedTotal += int(h.count[n]) * (int(h.fixed[n]) + extra)
		}
	}
	if over == 0 {
		return
	}
	for ; over > 0; over -= 2 {
		size := h.limit - 1
		for counts[size] == 0 {
			size--
		}
		counts[size]--
		counts[size+1] += 2
		counts[h.limit]--
	}
	for size := h.limit; size > 0; size-- {
		for n := counts[size]; n > 0; {
			at--
			m := int(c.heap[at])
			if m > h.last {
				continue
			}
			c.optimal += (size - int(h.size[m])) * int(h.count[m])
			h.size[m] = uint16(size)
			n--
		}
	}
}

// makeCodes makes the codes from their sizes.
func (h *huffman) makeCodes() {
	var counts, next [maxBits + 2]uint16
	for n := 0; n <= h.last; n++ {
		counts[h.size[n]]++
	}
	counts[0] = 0
	for size := 1; size <= maxBits; size++ {
		next[size] = (next[size-1] + counts[size-1]) << 1
	}
	for n := 0; n <= h.last; n++ {
		if size := h.size[n]; size > 0 {
			h.code[n] = bits.Reverse16(next[size]) >> (16 - size)
			next[size]++
		}
	}
}
