package compat_test

import (
	"testing"
	"time"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// mostEvaluating is how long a judgement may take: on a processor of its own it takes less than a microsecond.
const mostEvaluating = 3 * time.Microsecond

// TestEvaluateIsQuick holds a judgement to mostEvaluating, also where it has to look at all that settings can hold. The quickest of many
// short series counts: what a busy machine takes for others is none of Evaluate's.
func TestEvaluateIsQuick(t *testing.T) {
	testlevel.Lab(t) // a time, which other tests make longer
	s, h := production(), player(7, "Windows-win64")
	engine := compat.Hello{Target: "Windows-win64", Build: compat.Build{Compatibility: compat.Derived(7, 0x77)}}
	hard, old := hardest()
	for _, e := range []struct {
		name string
		s    *compat.Snapshot
		h    *compat.Hello
		want compat.Verdict
	}{{"accept", s, &h, compat.Accept}, {"engine", s, &engine, compat.Accept}, {"hardest", hard, &old, compat.UpdateBinaries}} {
		const series, calls = 2000, 100
		best := time.Hour
		for range series {
			began := time.Now()
			for range calls {
				if j := compat.Evaluate(e.s, e.h); j.Verdict != e.want {
					t.Fatalf("%s: %s, want %s", e.name, j.Verdict, e.want)
				}
			}
			best = min(best, time.Since(began)/calls)
		}
		if t.Logf("%s: %v", e.name, best); best > mostEvaluating {
			t.Errorf("%s takes %v, at most %v is wanted", e.name, best, mostEvaluating)
		}
	}
}
