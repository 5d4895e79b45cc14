package deflate

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// Sizes of the algorithm of zlib 1.2.11, with a window of 32 KiB. They determine the output.
const (
	windowSize   = 1 << 15
	windowMask   = windowSize - 1
	placeMask    = 2*windowSize - 1
	minMatch     = 3
	maxMatch     = 258
	minLookahead = maxMatch + minMatch + 1
	maxDistance  = windowSize - minLookahead
	// tooFar is the distance from which a match of 3 bytes is not worth it.
	tooFar = 4096
	// filteredMatch is the longest match that the filtered strategy drops.
	filteredMatch = 5
)

// effort is how hard a level searches, as in zlib.
type effort struct {
	good, lazy, nice, chain int
	fast                    bool // without lazy evaluation
}

// effortOf is the effort of a level from 1 to 9.
func effortOf(level uint8) effort {
	return [...]effort{
		{4, 4, 8, 4, true}, {4, 5, 16, 8, true}, {4, 6, 32, 32, true},
		{4, 4, 16, 16, false}, {8, 16, 32, 32, false}, {8, 16, 128, 128, false},
		{8, 32, 128, 256, false}, {32, 128, 258, 1024, false}, {32, 258, 258, 4096, false},
	}[level-1]
}

// Sizes of the encoder of Info-ZIP and gzip, in place of a memory level.
const (
	infoZIPHashBits = 15
	infoZIPSymbols  = 1<<15 - 1
	// infoZIPCheck is after how many symbols it considers to end a block early.
	infoZIPCheck = 1 << 12
)

// encoder compresses streams exactly as zlib 1.2.11, or as Info-ZIP. It has some 350 KiB of tables, which it reuses. It belongs to one goroutine.
type encoder struct {
	params    Params
	effort    effort
	hashShift uint
	hashMask  uint32

	in     io.Reader
	ended  bool // in has ended
	window [2*windowSize + maxMatch + 8]byte
	head   [1 << 16]uint16
	prev   [windowSize]uint16

	start      int // the next byte to be coded, in the window
	lookahead  int // bytes behind it
	blockStart int // of the current block; negative: not in the window any more

	matchStart int
	blockCoder
}

// Encode compresses in as the encoder of p does. Errors are those of in and out.
func Encode(out io.Writer, in io.Reader, p Params) error { return newEncoder().encode(p, in, out) }

func newEncoder() *encoder { return &encoder{blockCoder: newBlockCoder()} }

// encode compresses all of in. Errors are those of in and out.
func (e *encoder) encode(p Params, in io.Reader, out io.Writer) error {
	e.params, e.effort, e.in, e.ended = p, effortOf(p.Level), in, false
	hashBits, symbols := uint(p.MemLevel)+7, 1<<(p.MemLevel+6)-1
	if p.MemLevel == 0 {
		hashBits, symbols = infoZIPHashBits, infoZIPSymbols
	}
	e.hashMask, e.hashShift = 1<<hashBits-1, (hashBits+minMatch-1)/minMatch
	clear(e.head[:])
	e.start, e.lookahead, e.blockStart, e.matchStart = 0, 0, 0, 0
	e.blockCoder.reset(out, symbols)
	coded := e.encodeLazily
	if e.effort.fast {
		coded = e.encodeFast
	}
	if err := coded(); err != nil {
		return err
	}
	e.endBlock(true)
	return e.flush()
}

// endBlock codes the symbols so far as one block.
func (e *encoder) endBlock(last bool) {
	var stored []byte
	if e.blockStart >= 0 {
		stored = e.window[e.blockStart:e.start]
	}
	e.codeBlock(stored, e.blockStart >= 0, e.start-e.blockStart, last)
	e.blockStart = e.start
}

// endsEarly reports whether Info-ZIP ends the block here: it compresses well, and other codes may do better from now on.
func (e *encoder) endsEarly() bool {
	if e.params.MemLevel != 0 || len(e.lengths)%infoZIPCheck != 0 || e.params.Level <= 2 {
		return false
	}
	coded, matches := 8*len(e.lengths), 0
	for code, n := range e.dist.count[:distanceCodes] {
		coded += int(n) * (5 + int(e.tables.distExtra[code]))
		matches += int(n)
	}
	return matches < len(e.lengths)/2 && coded/8 < (e.start-e.blockStart)/2
}

// fill reads more input, and moves the window first if its upper half is used up.
func (e *encoder) fill() error {
	for e.lookahead < minLookahead {
		if e.start >= windowSize+maxDistance {
			copy(e.window[:windowSize], e.window[windowSize:2*windowSize])
			e.matchStart -= windowSize
			e.start -= windowSize
			e.blockStart -= windowSize
			slide(e.head[:e.hashMask+1])
			slide(e.prev[:])
		}
		if e.ended {
			return nil
		}
		end := e.start + e.lookahead
		n, err := io.ReadFull(e.in, e.window[end:2*windowSize])
		e.lookahead += n
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			e.ended, err = true, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// slide moves places with the window. Those that leave it become 0, which is no place.
func slide(places []uint16) {
	for i, p := range places {
		places[i] = max(p, windowSize) - windowSize
	}
}

// insert enters the string at a place and returns the last place with its hash, 0 for none.
func (e *encoder) insert(at int) int {
	w := e.window[at : at+3 : at+3]
	h := (uint32(w[0])<<(2*e.hashShift) ^ uint32(w[1])<<e.hashShift ^ uint32(w[2])) & e.hashMask
	before := e.head[uint16(h)]
	e.prev[at&windowMask] = before
	e.head[uint16(h)] = uint16(at)
	return int(before)
}

// encodeFast is the algorithm of levels 1 to 3: every match is taken.
func (e *encoder) encodeFast() error {
	for {
		if e.lookahead < minLookahead {
			if err := e.fill(); err != nil {
				return err
			}
			if e.lookahead == 0 {
				return nil
			}
		}
		before, size := 0, 0
		if e.lookahead >= minMatch {
			before = e.insert(e.start)
		}
		if before != 0 && e.start-before <= maxDistance {
			size = e.longestMatch(before, minMatch-1)
		}
		var full bool
		if size >= minMatch {
			full = e.addMatch(e.start-e.matchStart, size) || e.endsEarly()
			e.lookahead -= size
			if size <= e.effort.lazy && e.lookahead >= minMatch {
				for at := e.start + 1; at < e.start+size; at++ {
					e.insert(at)
				}
			}
			e.start += size
		} else {
			full = e.addLiteral(e.window[e.start]) || e.endsEarly()
			e.start++
			e.lookahead--
		}
		if full {
			e.endBlock(false)
			if err := e.flushFull(); err != nil {
				return err
			}
		}
	}
}

// encodeLazily is the algorithm of levels 4 to 9: a match is taken if the next byte has no longer one.
func (e *encoder) encodeLazily() error {
	size, pending := minMatch-1, false // of the match at the byte before; that byte is not coded yet
	for {
		if e.lookahead < minLookahead {
			if err := e.fill(); err != nil {
				return err
			}
			if e.lookahead == 0 {
				break
			}
		}
		before := 0
		if e.lookahead >= minMatch {
			before = e.insert(e.start)
		}
		sizeBefore, matchBefore := size, e.matchStart
		size = minMatch - 1
		if before != 0 && sizeBefore < e.effort.lazy && e.start-before <= maxDistance {
			size = e.longestMatch(before, sizeBefore)
			if size <= filteredMatch && (e.params.Filtered || size == minMatch && e.start-e.matchStart > tooFar) {
				size = minMatch - 1
			}
		}
		switch {
		case sizeBefore >= minMatch && size <= sizeBefore:
			last := e.start + e.lookahead - minMatch
			full := e.addMatch(e.start-1-matchBefore, sizeBefore) || e.endsEarly()
			e.lookahead -= sizeBefore - 1
			for at := e.start + 1; at < e.start+sizeBefore-1 && at <= last; at++ {
				e.insert(at)
			}
			e.start += sizeBefore - 1
			size, pending = minMatch-1, false
			if full {
				e.endBlock(false)
			}
		case pending:
			if e.addLiteral(e.window[e.start-1]) || e.endsEarly() {
				e.endBlock(false)
			}
			e.start++
			e.lookahead--
		default:
			pending = true
			e.start++
			e.lookahead--
		}
		if err := e.flushFull(); err != nil {
			return err
		}
	}
	if pending {
		e.addLiteral(e.window[e.start-1])
	}
	return nil
}

// longestMatch finds the longest match at the start that is longer than best, among the places with its hash from at on.
func (e *encoder) longestMatch(at, best int) int {
	chain, nice, limit := e.effort.chain, min(e.effort.nice, e.lookahead), max(e.start-maxDistance, 0)
	if best >= e.effort.good {
		chain >>= 2
	}
	window, prev := &e.window, &e.prev
	scan := window[e.start&placeMask : e.start&placeMask+maxMatch+8]
	tail, mask, back := tailOf(scan, best)
	for {
		if (binary.LittleEndian.Uint32(window[(at+back)&placeMask:(at+back)&placeMask+4])^tail)&mask == 0 {
			size := sameBytes(scan, window[at&placeMask:at&placeMask+maxMatch+8])
			if size > best {
				e.matchStart, best = at, size
				if size >= nice {
					break
				}
				tail, mask, back = tailOf(scan, best)
			}
		}
		at = int(prev[at&windowMask])
		if chain--; at <= limit || chain == 0 {
			break
		}
	}
	return min(best, e.lookahead)
}

// tailOf is the last 4 of the first best+1 bytes of scan, which may be 3, with their mask and their place. Only a match with these is
// longer than best.
func tailOf(scan []byte, best int) (tail, mask uint32, back int) {
	if best < 3 {
		return binary.LittleEndian.Uint32(scan), 1<<24 - 1, 0
	}
	return binary.LittleEndian.Uint32(scan[best-3:]), 1<<32 - 1, best - 3
}

// sameBytes is how many bytes both slices share at their start, at most maxMatch.
func sameBytes(a, b []byte) int {
	for n := 0; n < maxMatch; n += 8 {
		if d := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); d != 0 {
			return min(n+bits.TrailingZeros64(d)/8, maxMatch)
		}
	}
	return maxMatch
}
