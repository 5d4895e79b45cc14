package download

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"collet/platform/span"
)

// ranges makes ranges of their starts and ends.
func ranges(borders ...int64) (list []Range) {
	for i := 0; i < len(borders); i += 2 {
		list = append(list, span.Of(borders[i], borders[i+1]))
	}
	return list
}

func checkSet(t *testing.T, s span.Set[int64]) {
	t.Helper()
	last := int64(-1)
	for _, r := range s {
		if r.Start <= last || r.End <= r.Start {
			t.Fatalf("%v is not in order", s)
		}
		last = r.End
	}
}

// goldenRecord is the layout; changing it needs another number of the format.
const goldenRecord = `{"format":1,"size":300,"have":[[0,100],[200,300]]}`

func TestRecord(t *testing.T) {
	data, err := encodeRecord(300, ranges(0, 100, 200, 300))
	if err != nil || string(data) != goldenRecord {
		t.Errorf("%s, %v", data, err)
	}
	size, have, err := decodeRecord([]byte(goldenRecord))
	if err != nil || size != 300 || !reflect.DeepEqual([]Range(have), ranges(0, 100, 200, 300)) {
		t.Errorf("%d %v %v", size, have, err)
	}
	for _, bad := range []string{
		"", "null", "{}", "[]", `{"format":2,"size":300,"have":[]}`, `{"format":1,"size":-2,"have":[]}`,
		`{"format":1,"size":300,"have":[[100,0]]}`, `{"format":1,"size":300,"have":[[0,0]]}`, `{"format":1,"size":300,"have":[[0,301]]}`,
		`{"format":1,"size":300,"have":[[0,10],[10,20]]}`, `{"format":1,"size":300,"have":[[20,30],[0,10]]}`, `{"format":1,"size":300,"have":[[-1,10]]}`,
		`{"format":1,"size":-1,"have":[` + strings.Repeat("[0,1],", maxRecordRanges) + `[0,1]]}`, goldenRecord[:20], goldenRecord + "x",
	} {
		if size, have, err := decodeRecord([]byte(bad)); err == nil || have != nil || size >= 0 {
			t.Errorf("%.60s gives %d %v %v", bad, size, have, err)
		}
	}
	var many span.Set[int64]
	for i := range int64(2 * maxRecordRanges) {
		many.Add(span.Of(1e15+3*i, 1e15+3*i+1))
	}
	data, err = encodeRecord(-1, many)
	if err != nil || len(data) > maxRecord {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if size, have, err = decodeRecord(data); err != nil || size != -1 || len(have) != maxRecordRanges {
		t.Errorf("%d, %d ranges, %v", size, len(have), err)
	}
}

// FuzzRecord decodes any bytes: accepted records are in order, and encode to the same record.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(goldenRecord))
	f.Add([]byte(`{"format":1,"size":-1,"have":[[5,9223372036854775807]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		size, have, err := decodeRecord(data)
		if err != nil {
			return
		}
		checkSet(t, have)
		again, err := encodeRecord(size, have)
		if err != nil {
			t.Fatal(err)
		}
		size2, have2, err := decodeRecord(again)
		if err != nil || size2 != size || !reflect.DeepEqual(have, have2) {
			t.Errorf("%s became %d %v %v", data, size2, have2, err)
		}
	})
}

// TestCoalesce has examples and a property: exactly the wanted bytes are left.
func TestCoalesce(t *testing.T) {
	for _, test := range []struct{ have, want []Range }{
		{nil, nil},
		{ranges(0, 0, 5, 5), nil},
		{ranges(0, 10, 10, 20), ranges(0, 20)},
		{ranges(0, 10, 11, 20), ranges(0, 10, 11, 20)},
		{ranges(0, 10, 12, 12, 12, 20, 20, 30), ranges(0, 10, 12, 30)},
	} {
		if got := coalesce(test.have); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v gives %v", test.have, got)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		var list []Range
		at, wanted := int64(0), span.Set[int64](nil)
		for range r.IntN(40) {
			at += r.Int64N(3) * r.Int64N(3000)
			one := span.Of(at, at+r.Int64N(5000))
			list, at = append(list, one), one.End
			wanted.Add(one)
		}
		spans := span.Set[int64](coalesce(list))
		for _, one := range wanted {
			if left := spans.Gaps(one); left != nil {
				t.Fatalf("%v of %v is lost in %v", left, list, spans)
			}
		}
		if span.Total(spans) != span.Total(wanted) {
			t.Fatalf("%d bytes, %d are wanted", span.Total(spans), span.Total(wanted))
		}
		checkSet(t, spans)
	}
}
