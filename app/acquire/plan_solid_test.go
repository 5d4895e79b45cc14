package acquire

import (
	"testing"
	"time"
)

// TestChooseSolid: a group is used for all contents that it saves time for, or for none.
func TestChooseSolid(t *testing.T) {
	t.Parallel()
	link := Link{Rate: 6e6, RoundTrip: 100 * time.Millisecond, InFlight: 8}
	blobs := func(n int, b Blob) (list []Blob) {
		for range n {
			list = append(list, b)
		}
		return list
	}
	small := Blob{Size: 10_000, Lacks: 10_000, Whole: 4000, Packed: true, Chunks: Unknown, Group: 1}
	group := SolidGroup{Size: 10_000_000, Packed: 2_000_000, Bytes: 2_000_000, Requests: 2}
	// A pack of 20 MB whose form has 100: its whole object is as large as the pack.
	packed := Blob{Size: 20_000_000, Lacks: 20_000_000, Whole: Unknown, Chunks: Unknown, Group: 1, Form: 100_000_000}
	formed := SolidGroup{Size: 100_000_000, Packed: 8_000_000, Bytes: 8_000_000, Requests: 4, Deflated: 100_000_000}
	quick := Link{Rate: 20e6, RoundTrip: 10 * time.Millisecond, InFlight: 8}
	with := func(b Blob, change func(*Blob)) Blob { change(&b); return b }
	for _, test := range []struct {
		name string
		s    Situation
		want Strategy
	}{
		{"many small files", Situation{Blobs: blobs(1000, small), Groups: []SolidGroup{group}}, Solid},
		{"a few of them", Situation{Blobs: blobs(8, small), Groups: []SolidGroup{group}}, Entire},
		{"most of its parts are here", Situation{Blobs: blobs(8, small), Groups: []SolidGroup{{Size: 1_000_000, Packed: 2_000_000, Bytes: 10_000, Requests: 1}}}, Solid},
		{"a deflated pack", Situation{Blobs: blobs(1, packed), Groups: []SolidGroup{formed}}, Solid},
		{"a deflated pack on a fast line", Situation{Link: quick, Blobs: blobs(1, packed), Groups: []SolidGroup{formed}}, Entire},
		{"a deflated pack on a fast line and machine", Situation{Link: quick, Rates: Rates{1e10, 1e10}, Blobs: blobs(1, packed), Groups: []SolidGroup{formed}}, Solid},
		{"no room", Situation{Blobs: blobs(1000, small), Groups: []SolidGroup{{Size: 10_000_000, Packed: 1, Bytes: 1, Requests: 1, Unusable: true}}}, Entire},
		{"it failed twice", Situation{Blobs: blobs(1000, with(small, func(b *Blob) { b.Failed = map[Strategy]int{Solid: 2} })), Groups: []SolidGroup{group}}, Entire},
		{"all others failed", Situation{Blobs: blobs(1, with(small, func(b *Blob) { b.Failed = map[Strategy]int{Entire: 2} })), Groups: []SolidGroup{group}}, Solid},
		{"a smaller patch", Situation{Patch: 1000, Blobs: blobs(1000, with(small, func(b *Blob) { b.InPatch = true })), Groups: []SolidGroup{group}}, Patched},
		{"copies", Situation{Blobs: blobs(1000, with(small, func(b *Blob) { b.Local = true })), Groups: []SolidGroup{group}}, Copied},
		{"older versions", Situation{Link: Link{Rate: 1e6, RoundTrip: 100 * time.Millisecond, InFlight: 8}, Blobs: blobs(40, Blob{Size: 100_000, Lacks: 100_000, Whole: 50_000, Packed: true, Chunks: Unknown, Older: true, Group: 1}), Groups: []SolidGroup{{Size: 4_000_000, Packed: 1_900_000, Bytes: 1_900_000, Requests: 2}}}, Entire},
		{"too many requests on a quick line", Situation{Link: Link{Rate: 1e9, RoundTrip: time.Millisecond, InFlight: 8}, Blobs: blobs(MaxAlone+1, small), Groups: []SolidGroup{group}}, Solid},
		{"twice the bytes on a quick line", Situation{Link: Link{Rate: 1e9, RoundTrip: time.Millisecond, InFlight: 8}, Blobs: blobs(100, small), Groups: []SolidGroup{group}}, Entire},
		{"many small files over loopback", Situation{Link: Link{Rate: 1e9, RoundTrip: 100 * time.Microsecond, InFlight: 8}, Blobs: blobs(1500, small), Groups: []SolidGroup{{Size: 100_000_000, Packed: 8_000_000, Bytes: 5_000_000, Requests: 8}}}, Solid},
		{"no list of sources for one", Situation{Sources: 100_000, Blobs: blobs(1, with(small, func(b *Blob) { b.Whole = Unknown })), Groups: []SolidGroup{{Size: 10_000, Packed: 4100, Bytes: 4100, Requests: 1}}}, Solid},
	} {
		if test.s.Link == (Link{}) {
			test.s.Link = link
		}
		if test.s.Patch == 0 {
			test.s.Patch = Unknown
		}
		plan := Choose(test.s)
		if n := plan.Uses(test.want); n != len(test.s.Blobs) {
			t.Errorf("%s: %d of %d by %s, the first by %q", test.name, n, len(test.s.Blobs), test.want, plan.Strategy[0])
		}
		if test.want == Solid && (plan.Cost.Bytes != test.s.Groups[0].Bytes || plan.Cost.Requests != test.s.Groups[0].Requests) {
			t.Errorf("%s: costs %+v", test.name, plan.Cost)
		}
	}
	if WorthSolid(0, 0, 0) || WorthSolid(3, 10, 1000) || !WorthSolid(3, 130, 1000) || WorthSolid(MaxAlone, 10, 1000) || !WorthSolid(MaxAlone+1, 10, 1000) || !WorthSolid(1, 100<<20, 10<<30) {
		t.Error("WorthSolid")
	}
}
