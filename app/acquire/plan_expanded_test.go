package acquire

import (
	"testing"
	"time"

	"collet/netproto/deflate"
)

// TestChooseExpanded: the expanded set patch costs fewer bytes and more processor time, so a fast link and few cores take the other one.
func TestChooseExpanded(t *testing.T) {
	const mb = 1 << 20
	pack := Blob{Size: 20 * mb, Lacks: 20 * mb, InPatch: true, Expands: true, Rebuilt: deflate.Rebuilt{Form: 100 * mb, Deflated: 100 * mb}, Whole: 19 * mb, Packed: true, Chunks: Unknown}
	alone := pack
	alone.InPatch = false
	tried := pack
	tried.Failed = failed(Expanded, maxFailures)
	little := pack
	little.Rebuilt.Deflated = 2 * mb
	fast := Link{Rate: 100e6, RoundTrip: time.Millisecond, InFlight: 8}
	for _, test := range []struct {
		name  string
		link  Link
		cores float64
		patch int64
		blob  Blob
		want  Strategy
		bytes int64
	}{
		{"a slow link", slow, 2, 14 * mb, pack, Expanded, mb},
		{"a usual link", Link{}, 2, 14 * mb, pack, Expanded, mb},
		{"a fast link", fast, 2, 14 * mb, pack, Patched, 14 * mb},
		{"a fast link, and few changed streams", fast, 2, 14 * mb, little, Expanded, mb},
		{"a faster link than the cores", near, 1, 14 * mb, pack, Patched, 14 * mb},
		{"many cores", near, 16, 14 * mb, pack, Expanded, mb},
		{"no set patch", near, 0, Unknown, alone, Expanded, mb},
		{"it has failed", slow, 4, 14 * mb, tried, Patched, 14 * mb},
	} {
		plan := Choose(Situation{Link: test.link, Patch: test.patch, Expanded: mb, Inflated: test.blob.Rebuilt.Deflated, Rates: Rates{200e6 * test.cores, 36e6 * test.cores}, Blobs: []Blob{test.blob}})
		if plan.Strategy[0] != test.want || plan.Cost.Bytes != test.bytes {
			t.Errorf("%s: %q with %d bytes, %v", test.name, plan.Strategy, plan.Cost.Bytes, plan.Cost.Time(test.link))
		}
	}
}
