package deflate

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Params are the settings with which an encoder makes a stream again. With the zero value the stream stays compressed.
type Params struct {
	Level    uint8 // 1 to 9
	MemLevel uint8 // of zlib: 8 or 9. 0: the encoder of Info-ZIP and gzip, from which zlib is derived
	Filtered bool  // zlib's strategy for small random values
}

// Bits of coded parameters. Formats hold them.
const (
	levelBits   = 0x0f
	memLevelBit = 0x10
	filteredBit = 0x20
	infoZIPBit  = 0x40
)

func (p Params) code() byte {
	if p.Level == 0 {
		return 0
	}
	code := p.Level
	switch p.MemLevel {
	case 0:
		code |= infoZIPBit
	case 9:
		code |= memLevelBit
	}
	if p.Filtered {
		code |= filteredBit
	}
	return code
}

func paramsOf(code byte) (p Params, known bool) {
	if code == 0 {
		return p, true
	}
	p = Params{Level: code & levelBits, MemLevel: 8, Filtered: code&filteredBit != 0}
	switch {
	case code&infoZIPBit != 0:
		p.MemLevel = 0
	case code&memLevelBit != 0:
		p.MemLevel = 9
	}
	return p, p.code() == code && p.Level >= 1 && p.Level <= 9 && !(p.MemLevel == 0 && p.Filtered)
}

// Recipe says which streams of a file are inflated in its form, and how each is compressed again. Streams are counted in the order in which
// the file has them. It is a value and is only read.
type Recipe struct {
	runs []run
	next []int // the first stream behind each run
}

// run is a number of consecutive streams with the same parameters.
type run struct {
	streams int
	params  Params
}

// add appends the next stream.
func (r *Recipe) add(p Params) { r.addRun(run{1, p}) }

func (r *Recipe) addRun(n run) {
	last := len(r.runs) - 1
	if last < 0 {
		r.runs, r.next = append(r.runs, n), append(r.next, n.streams)
		return
	}
	if r.runs[last].params == n.params {
		r.runs[last].streams += n.streams
		r.next[last] += n.streams
		return
	}
	r.runs, r.next = append(r.runs, n), append(r.next, r.next[last]+n.streams)
}

// Streams is the number of streams.
func (r Recipe) Streams() int {
	if len(r.next) == 0 {
		return 0
	}
	return r.next[len(r.next)-1]
}

// Expands reports whether any stream is inflated.
func (r Recipe) Expands() bool {
	for _, n := range r.runs {
		if n.params != (Params{}) {
			return true
		}
	}
	return false
}

// params lists the parameters of all streams.
func (r Recipe) params() []Params {
	list := make([]Params, 0, r.Streams())
	for _, n := range r.runs {
		for range n.streams {
			list = append(list, n.params)
		}
	}
	return list
}

// Append appends the coded recipe: the number of runs, then the length and the parameters of each.
func (r Recipe) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.runs)))
	for _, n := range r.runs {
		b = append(binary.AppendUvarint(b, uint64(n.streams)), n.params.code())
	}
	return b
}

var errCutOff = errors.New("it is cut off")

// ReadRecipe reads a coded recipe, which is untrusted, and returns the bytes behind it. Its memory is in proportion to the bytes read.
func ReadRecipe(b []byte) (r Recipe, rest []byte, err error) {
	count, b, err := readNumber(b, maxStreams)
	for range count {
		var streams uint64
		if streams, b, err = readNumber(b, uint64(maxStreams-r.Streams())); err != nil {
			return r, nil, err
		}
		if len(b) == 0 {
			return r, nil, errCutOff
		}
		p, known := paramsOf(b[0])
		if !known || streams == 0 {
			return r, nil, fmt.Errorf("a run of %d streams has parameters %#x, which this version does not know", streams, b[0])
		}
		r.addRun(run{int(streams), p})
		b = b[1:]
	}
	return r, b, err
}

// readNumber reads an unsigned LEB128 number up to a cap.
func readNumber(b []byte, most uint64) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, errCutOff
	}
	if n > most {
		return 0, nil, fmt.Errorf("a number is %d, the most is %d", n, most)
	}
	return n, b[size:], nil
}
