package deflate

import (
	"testing"
	"time"
)

// TestMeasureRates has a clock that steps a millisecond, then one that stands still.
func TestMeasureRates(t *testing.T) {
	clock := time.Time{}
	inflated, deflated, err := MeasureRates(func() time.Time { clock = clock.Add(time.Millisecond); return clock })
	if err != nil || inflated < rateSample*1000 || inflated > (rateSample+100)*1000 || deflated != inflated {
		t.Errorf("rates %v and %v, %v", inflated, deflated, err)
	}
	if inflated, deflated, err = MeasureRates(func() time.Time { return clock }); err != nil || inflated <= 0 || deflated <= 0 {
		t.Errorf("without time: rates %v and %v, %v", inflated, deflated, err)
	}
}

func TestRecipeTime(t *testing.T) {
	for _, test := range []struct {
		list []Params
		want int64
	}{
		{nil, 0},
		{[]Params{{}, {}}, 0},
		{[]Params{usual, {}}, 1000},
		{[]Params{{Level: 9, MemLevel: 8}}, 2600},
		{[]Params{{Level: 1, MemLevel: 8}, {}, {Level: 1, MemLevel: 9}}, 400},
		{[]Params{usual, {Level: 8, MemLevel: 9}}, 1500},
	} {
		var r Recipe
		for _, p := range test.list {
			r.add(p)
		}
		if got := r.Time(1000); got != test.want {
			t.Errorf("%v take %d, want %d", test.list, got, test.want)
		}
	}
}
