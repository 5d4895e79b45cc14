package download

import (
	"encoding/json"
	"errors"
	"fmt"

	"collet/platform/span"
)

const (
	// recordFormat is the only format of a record. A record of another format is ignored.
	recordFormat = 1
	// maxRecordRanges is how many ranges a record has at most. A part has a gap for each request in flight and for each dropped
	// mirror, so real ones stay below fifty. Further ranges are fetched again.
	maxRecordRanges = 1024
	// maxRecord is the largest record in bytes: two numbers of 19 digits for each range, and the frame.
	maxRecord = 64 << 10
)

// record is the content of a record file. Size is the object's; below 0 is unknown.
type record struct {
	Format int        `json:"format"`
	Size   int64      `json:"size"`
	Have   [][2]int64 `json:"have"`
}

// encodeRecord encodes a record with at most maxRecordRanges ranges.
func encodeRecord(size int64, have span.Set[int64]) ([]byte, error) {
	r := record{Format: recordFormat, Size: max(size, -1), Have: [][2]int64{}}
	for _, h := range have[:min(len(have), maxRecordRanges)] {
		r.Have = append(r.Have, [2]int64{h.Start, h.End})
	}
	return json.Marshal(r)
}

var errRecordOrder = errors.New("its ranges are not in order, or outside of the file")

// decodeRecord decodes a record and rejects an inconsistent one.
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
