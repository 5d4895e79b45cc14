package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
)

const (
	// recordFormat is the only layout of a record. Another number is a record of another program, and counts as none.
	recordFormat = 1
	// maxRecordRanges is how many ranges a record holds. A part has a hole for each request under way and for each way that
	// was dropped, so real ones stay below fifty; what is beyond is fetched again.
	maxRecordRanges = 1024
	// maxRecord is the most bytes that are read of a record: two numbers of 19 digits for each range, and the frame.
	maxRecord = 64 << 10
)

// rangeSet is what of a file has come: sorted, none empty, with a gap between any two. The zero value is nothing.
type rangeSet []Range

// add takes r into the set.
func (s *rangeSet) add(r Range) {
	if r.From >= r.To {
		return
	}
	list := *s
	lo := sort.Search(len(list), func(i int) bool { return list[i].To >= r.From })
	hi := lo
	for ; hi < len(list) && list[hi].From <= r.To; hi++ {
		r.From, r.To = min(r.From, list[hi].From), max(r.To, list[hi].To)
	}
	*s = slices.Replace(list, lo, hi, r)
}

// remove takes r out of the set.
func (s *rangeSet) remove(r Range) {
	var left rangeSet
	for _, have := range *s {
		left.add(Range{have.From, min(have.To, r.From)})
		left.add(Range{max(have.From, r.To), have.To})
	}
	*s = left
}

// missing is what [0, size) lacks.
func (s rangeSet) missing(size int64) (holes []Range) {
	at := int64(0)
	for _, have := range s {
		if have.From > at {
			holes = append(holes, Range{at, min(have.From, size)})
		}
		at = have.To
	}
	if at < size {
		holes = append(holes, Range{at, size})
	}
	return holes
}

// bytes is how many there are.
func (s rangeSet) bytes() (n int64) {
	for _, have := range s {
		n += have.Len()
	}
	return n
}

// prefix is how many bytes there are from the first one on without a gap.
func (s rangeSet) prefix() int64 {
	if len(s) == 0 || s[0].From > 0 {
		return 0
	}
	return s[0].To
}

// record is what stands in a file of ranges. Size is that of the object; below 0 it was not known.
type record struct {
	Format int        `json:"format"`
	Size   int64      `json:"size"`
	Have   [][2]int64 `json:"have"`
}

// encodeRecord writes a record. A set of too many ranges is cut.
func encodeRecord(size int64, have rangeSet) ([]byte, error) {
	r := record{Format: recordFormat, Size: max(size, -1), Have: [][2]int64{}}
	for _, h := range have[:min(len(have), maxRecordRanges)] {
		r.Have = append(r.Have, [2]int64{h.From, h.To})
	}
	return json.Marshal(r)
}

var errRecordOrder = errors.New("its ranges are not in order, or outside of the file")

// decodeRecord reads a record and believes nothing in it that does not fit together.
func decodeRecord(data []byte) (size int64, have rangeSet, err error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return -1, nil, err
	}
	if r.Format != recordFormat || r.Size < -1 || len(r.Have) > maxRecordRanges {
		return -1, nil, fmt.Errorf("format %d, size %d, %d ranges", r.Format, r.Size, len(r.Have))
	}
	last := int64(-1)
	for _, h := range r.Have {
		if h[0] <= last || h[1] <= h[0] || r.Size >= 0 && h[1] > r.Size {
			return -1, nil, errRecordOrder
		}
		have, last = append(have, Range{h[0], h[1]}), h[1]
	}
	return r.Size, have, nil
}
