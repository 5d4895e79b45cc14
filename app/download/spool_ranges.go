package download

import (
	"encoding/json"
	"errors"
	"fmt"

	"collet/platform/span"
)

const (
	// recordFormat is the only layout of a record. Another number is a record of another program, and counts as none.
	recordFormat = 1
	// maxRecordRanges is how many ranges a record holds. A part has a hole for each request under way and for each mirror that
	// was dropped, so real ones stay below fifty; what is beyond is fetched again.
	maxRecordRanges = 1024
	// maxRecord is the most bytes that are read of a record: two numbers of 19 digits for each range, and the frame.
	maxRecord = 64 << 10
)

// record is what stands in a file of ranges. Size is that of the object; below 0 it was not known.
type record struct {
	Format int        `json:"format"`
	Size   int64      `json:"size"`
	Have   [][2]int64 `json:"have"`
}

// encodeRecord writes a record. A set of too many ranges is cut.
func encodeRecord(size int64, have span.Set[int64]) ([]byte, error) {
	r := record{Format: recordFormat, Size: max(size, -1), Have: [][2]int64{}}
	for _, h := range have[:min(len(have), maxRecordRanges)] {
		r.Have = append(r.Have, [2]int64{h.Start, h.End})
	}
	return json.Marshal(r)
}

var errRecordOrder = errors.New("its ranges are not in order, or outside of the file")

// decodeRecord reads a record and believes nothing in it that does not fit together.
func decodeRecord(data []byte) (size int64, have span.Set[int64], err error) {
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
		have, last = append(have, span.Of(h[0], h[1])), h[1]
	}
	return r.Size, have, nil
}
