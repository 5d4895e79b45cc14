package span_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"collet/platform/span"
)

type (
	one = span.Span[uint64]
	set = span.Set[uint64]
)

func TestAddAndRemove(t *testing.T) {
	var s set
	for _, step := range []struct {
		do   func(*set, one)
		span one
		want set
	}{
		{(*set).Add, one{10, 20}, set{{10, 20}}},
		{(*set).Add, one{5, 5}, set{{10, 20}}},
		{(*set).Add, one{9, 5}, set{{10, 20}}},
		{(*set).Add, one{20, 30}, set{{10, 30}}},
		{(*set).Add, one{40, 50}, set{{10, 30}, {40, 50}}},
		{(*set).Add, one{0, 2}, set{{0, 2}, {10, 30}, {40, 50}}},
		{(*set).Add, one{12, 13}, set{{0, 2}, {10, 30}, {40, 50}}},
		{(*set).Add, one{2, 41}, set{{0, 50}}},
		{(*set).Remove, one{10, 20}, set{{0, 10}, {20, 50}}},
		{(*set).Remove, one{12, 18}, set{{0, 10}, {20, 50}}},
		{(*set).Remove, one{30, 25}, set{{0, 10}, {20, 50}}},
		{(*set).Remove, one{0, 10}, set{{20, 50}}},
		{(*set).Remove, one{50, 60}, set{{20, 50}}},
		{(*set).Add, one{60, math.MaxUint64}, set{{20, 50}, {60, math.MaxUint64}}},
		{(*set).Remove, one{45, 70}, set{{20, 45}, {70, math.MaxUint64}}},
		{(*set).Remove, one{0, math.MaxUint64}, set{}},
	} {
		if step.do(&s, step.span); !slices.Equal(s, step.want) {
			t.Errorf("after %v the set is %v, want %v", step.span, s, step.want)
		}
	}
}

func TestAddLimited(t *testing.T) {
	var s set
	for i := range uint64(10) {
		if ok := s.AddLimited(one{2 * i, 2*i + 1}, 5); ok != (i < 5) {
			t.Errorf("span %d: %v", i, ok)
		}
	}
	if len(s) != 5 {
		t.Errorf("%d spans", len(s))
	}
	if !s.AddLimited(one{3, 3}, 5) || !s.AddLimited(one{1, 8}, 5) || !slices.Equal(s, set{{0, 9}}) {
		t.Errorf("joined to %v", s)
	}
}

func TestQuestions(t *testing.T) {
	s := set{{0, 10}, {20, 30}}
	for _, test := range []struct {
		within   one
		contains bool
		gaps     set
	}{
		{one{0, 10}, true, nil},
		{one{21, 29}, true, nil},
		{one{9, 10}, true, nil},
		{one{9, 11}, false, set{{10, 11}}},
		{one{10, 20}, false, set{{10, 20}}},
		{one{5, 25}, false, set{{10, 20}}},
		{one{0, 40}, false, set{{10, 20}, {30, 40}}},
		{one{35, 40}, false, set{{35, 40}}},
		{one{15, 15}, true, nil},
		{one{25, 5}, true, nil},
	} {
		if got := s.Contains(test.within); got != test.contains {
			t.Errorf("%v contains %v: %v", s, test.within, got)
		}
		if gaps := s.Gaps(test.within); !slices.Equal(gaps, test.gaps) {
			t.Errorf("gaps of %v in %v are %v, want %v", s, test.within, gaps, test.gaps)
		}
	}
	if span.Total(s) != 20 || s.Prefix() != 10 || s[1:].Prefix() != 0 || (set{}).Prefix() != 0 {
		t.Errorf("size %d, prefixes %d and %d", span.Total(s), s.Prefix(), s[1:].Prefix())
	}
}

// TestModel compares a set with one bool for each number.
func TestModel(t *testing.T) {
	const numbers = 64
	rapid.Check(t, func(t *rapid.T) {
		var s set
		var model [numbers]bool
		number := rapid.Uint64Range(0, numbers)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			step, add := one{number.Draw(t, "start"), number.Draw(t, "end")}, rapid.Bool().Draw(t, "add")
			if add {
				s.Add(step)
			} else {
				s.Remove(step)
			}
			for i := step.Start; i < step.End; i++ {
				model[i] = add
			}
		}
		within := one{number.Draw(t, "within"), number.Draw(t, "to")}
		gaps := s.Gaps(within)
		size, missing, prefix := uint64(0), uint64(0), uint64(numbers)
		for i := range uint64(numbers) {
			inside := within.Start <= i && i < within.End
			if s.Contains(one{i, i + 1}) != model[i] || gaps.Contains(one{i, i + 1}) != (inside && !model[i]) {
				t.Fatalf("%d: set %v, gaps in %v %v", i, s, within, gaps)
			}
			if model[i] {
				size++
			} else {
				prefix = min(prefix, i)
			}
			if inside && !model[i] {
				missing++
			}
		}
		if span.Total(s) != size || s.Prefix() != prefix || span.Total(gaps) != missing || s.Contains(within) != (missing == 0) {
			t.Fatalf("%v has size %d and prefix %d, want %d and %d; gaps in %v are %v", s, span.Total(s), s.Prefix(), size, prefix, within, gaps)
		}
		inOrder(t, s)
		inOrder(t, gaps)
	})
}

func inOrder(t *rapid.T, s set) {
	for i, one := range s {
		if one.Start >= one.End || i > 0 && one.Start <= s[i-1].End {
			t.Fatalf("%v is not in order", s)
		}
	}
}
