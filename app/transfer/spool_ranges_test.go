package transfer

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestRangeSetAgainstBits compares a set with one bit for each byte.
func TestRangeSetAgainstBits(t *testing.T) {
	const size = 60
	r := rand.New(rand.NewPCG(1, 1))
	var set rangeSet
	var bits [size]bool
	for step := range 20_000 {
		a, b, add := r.Int64N(size+1), r.Int64N(size+1), r.IntN(2) == 0
		if add {
			set.add(Range{a, b})
		} else {
			set.remove(Range{a, max(a, b)})
		}
		for i := a; i < b; i++ {
			bits[i] = add
		}
		count, prefix := int64(0), int64(-1)
		for i, is := range bits {
			if is != contains(set, int64(i)) {
				t.Fatalf("step %d: byte %d of %v", step, i, set)
			}
			if is {
				count++
			} else if prefix < 0 {
				prefix = int64(i)
			}
		}
		if prefix < 0 {
			prefix = size
		}
		if set.bytes() != count || set.prefix() != prefix {
			t.Fatalf("step %d: %v has %d bytes and a prefix of %d, want %d and %d", step, set, set.bytes(), set.prefix(), count, prefix)
		}
		checkSet(t, set)
		holes := rangeSet(set.missing(size))
		if holes.bytes() != size-count {
			t.Fatalf("step %d: %v lacks %v", step, set, holes)
		}
		checkSet(t, holes)
	}
}

// TestRangeSetAddsAndRemoves has the exact results.
func TestRangeSetAddsAndRemoves(t *testing.T) {
	var s rangeSet
	for _, step := range []struct {
		add  bool
		r    Range
		want rangeSet
	}{
		{true, Range{10, 20}, rangeSet{{10, 20}}},
		{true, Range{5, 5}, rangeSet{{10, 20}}},
		{true, Range{20, 30}, rangeSet{{10, 30}}},
		{true, Range{40, 50}, rangeSet{{10, 30}, {40, 50}}},
		{true, Range{0, 2}, rangeSet{{0, 2}, {10, 30}, {40, 50}}},
		{true, Range{2, 41}, rangeSet{{0, 50}}},
		{false, Range{10, 20}, rangeSet{{0, 10}, {20, 50}}},
		{false, Range{0, 10}, rangeSet{{20, 50}}},
		{false, Range{50, 60}, rangeSet{{20, 50}}},
		{false, Range{0, 100}, nil},
	} {
		if step.add {
			s.add(step.r)
		} else {
			s.remove(step.r)
		}
		if !reflect.DeepEqual(s, step.want) {
			t.Errorf("%+v gives %v", step, s)
		}
	}
}

func contains(s rangeSet, i int64) bool {
	for _, r := range s {
		if r.From <= i && i < r.To {
			return true
		}
	}
	return false
}

func checkSet(t *testing.T, s rangeSet) {
	t.Helper()
	last := int64(-1)
	for _, r := range s {
		if r.From <= last || r.To <= r.From {
			t.Fatalf("%v is not in order", s)
		}
		last = r.To
	}
}

// goldenRecord is the layout; changing it needs another number of the format.
const goldenRecord = `{"format":1,"size":300,"have":[[0,100],[200,300]]}`

func TestRecord(t *testing.T) {
	data, err := encodeRecord(300, rangeSet{{0, 100}, {200, 300}})
	if err != nil || string(data) != goldenRecord {
		t.Errorf("%s, %v", data, err)
	}
	size, have, err := decodeRecord([]byte(goldenRecord))
	if err != nil || size != 300 || !reflect.DeepEqual(have, rangeSet{{0, 100}, {200, 300}}) {
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
	var many rangeSet
	for i := range int64(2 * maxRecordRanges) {
		many = append(many, Range{1e15 + 3*i, 1e15 + 3*i + 1})
	}
	data, err = encodeRecord(-1, many)
	if err != nil || len(data) > maxRecord {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if size, have, err = decodeRecord(data); err != nil || size != -1 || len(have) != maxRecordRanges {
		t.Errorf("%d, %d ranges, %v", size, len(have), err)
	}
}

// FuzzRecord reads anything: what is taken is in order, and comes out again as it went in.
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

// TestCoalesce has examples and a property: nothing that is wanted is lost, and no more than a share is fetched in vain.
func TestCoalesce(t *testing.T) {
	for _, test := range []struct {
		gap        int64
		have, want []Range
	}{
		{100, nil, nil},
		{100, []Range{{0, 0}, {5, 5}}, nil},
		{0, []Range{{0, 10}, {10, 20}}, []Range{{0, 20}}},
		{0, []Range{{0, 10}, {11, 20}}, []Range{{0, 10}, {11, 20}}},
		{100, []Range{{0, 800}, {900, 1000}}, []Range{{0, 1000}}},
		{99, []Range{{0, 800}, {900, 1000}}, []Range{{0, 800}, {900, 1000}}},
		{100, []Range{{0, 500}, {600, 700}}, []Range{{0, 500}, {600, 700}}}, // an eighth of 600 is less than 100
		{100, []Range{{0, 8000}, {8100, 8200}, {8200, 8200}, {8300, 8400}}, []Range{{0, 8400}}},
	} {
		if got := coalesce(test.have, test.gap); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v with gaps of %d gives %v", test.have, test.gap, got)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		var ranges []Range
		at, wanted := int64(0), rangeSet(nil)
		for range r.IntN(40) {
			at += r.Int64N(3000)
			one := Range{at, at + r.Int64N(5000)}
			ranges, at = append(ranges, one), one.To
			wanted.add(one)
		}
		spans := rangeSet(coalesce(ranges, r.Int64N(4000)))
		for _, one := range wanted {
			left := rangeSet{one}
			for _, s := range spans {
				left.remove(s)
			}
			if left != nil {
				t.Fatalf("%v of %v is lost in %v", left, ranges, spans)
			}
		}
		if vain := spans.bytes() - wanted.bytes(); vain*gapShare > wanted.bytes() {
			t.Fatalf("%d bytes in vain for %d", vain, wanted.bytes())
		}
		checkSet(t, spans)
	}
}
