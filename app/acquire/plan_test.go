package acquire

import (
	"slices"
	"testing"
	"time"
)

// near and far are lines of 50 Mbit/s with 20 and 100 ms, slow one of 1 Mbit/s, disk one within a machine.
var (
	near = Link{Rate: 6.25e6, RoundTrip: 20 * time.Millisecond, InFlight: 8}
	far  = Link{Rate: 6.25e6, RoundTrip: 100 * time.Millisecond, InFlight: 8}
	slow = Link{Rate: 125e3, RoundTrip: 60 * time.Millisecond, InFlight: 8}
	disk = Link{Rate: 1e9, RoundTrip: 100 * time.Microsecond, InFlight: 8}
)

func failed(m Strategy, n int) map[Strategy]int { return map[Strategy]int{m: n} }

func TestChoose(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct {
		name  string
		s     Situation
		want  []Strategy
		bytes int64
	}{
		{"nothing at all", Situation{Link: near, Patch: Unknown}, nil, 0},
		{"all there", Situation{Link: near, Patch: 5000, Sources: 900, Blobs: []Blob{{Size: mb, Whole: Unknown, Chunks: Unknown}}}, []Strategy{Unneeded}, 0},
		{"elsewhere in the install", Situation{Link: near, Patch: 5000, Sources: 900, Blobs: []Blob{
			{Size: mb, Lacks: mb, Local: true, InPatch: true, Whole: Unknown, Chunks: Unknown},
		}}, []Strategy{Copied}, 0},
		{"a patch", Situation{Link: near, Patch: 50_000, Sources: 900, Blobs: []Blob{
			{Size: 10 * mb, Lacks: 10 * mb, InPatch: true, Whole: Unknown, Chunks: Unknown},
			{Size: mb, Lacks: mb, InPatch: true, Whole: Unknown, Chunks: Unknown},
		}}, []Strategy{Patched, Patched}, 50_000},
		{"a patch, most of which is here already", Situation{Link: near, Patch: 200, Sources: 900, Blobs: []Blob{
			{Size: 10 * mb, Lacks: 10 * mb, InPatch: true, Whole: Unknown, Chunks: Unknown},
		}}, []Strategy{Patched}, 200},
		{"a patch and something that it lacks", Situation{Link: near, Patch: 50_000, Sources: 900, Blobs: []Blob{
			{Size: 10 * mb, Lacks: 10 * mb, InPatch: true, Whole: Unknown, Chunks: Unknown},
			{Size: 1000, Lacks: 1000, Whole: Unknown, Chunks: Unknown},
		}}, []Strategy{Patched, Entire}, 50_000 + 900 + 500},
		{"one small file of a large patch", Situation{Link: near, Patch: 30 * mb, Sources: 900, Blobs: []Blob{
			{Size: 100_000, Lacks: 100_000, InPatch: true, Whole: Unknown, Chunks: Unknown},
			{Size: 90 * mb, Whole: Unknown, Chunks: Unknown},
		}}, []Strategy{Entire, Unneeded}, 50_900},
		{"no patch", Situation{Link: near, Patch: Unknown, Sources: 900, Blobs: []Blob{
			{Size: mb, Lacks: mb, InPatch: true, Whole: Unknown, Chunks: Unknown},
		}}, []Strategy{Entire}, 900 + mb/2},
		{"a patch that failed twice", Situation{Link: near, Patch: 50_000, Blobs: []Blob{
			{Size: mb, Lacks: mb, InPatch: true, Whole: 400_000, Packed: true, Chunks: Unknown, Failed: failed(Patched, 2)},
		}}, []Strategy{Entire}, 400_000},
		{"a patch that failed once", Situation{Link: near, Patch: 50_000, Blobs: []Blob{
			{Size: mb, Lacks: mb, InPatch: true, Whole: 400_000, Packed: true, Chunks: Unknown, Failed: failed(Patched, 1)},
		}}, []Strategy{Patched}, 50_000},
		{"a patch on a line as fast as the disk", Situation{Link: disk, Patch: 212_000, Blobs: []Blob{
			{Size: 11 * mb, Lacks: 11 * mb, InPatch: true, Whole: 3_700_000, Packed: true, Chunks: Unknown},
		}}, []Strategy{Patched}, 212_000},
		{"a large module on such a line", Situation{Link: disk, Patch: 212_000, Blobs: []Blob{
			{Size: 300 * mb, Lacks: 300 * mb, InPatch: true, Whole: 100 * mb, Packed: true, Chunks: Unknown},
		}}, []Strategy{Entire}, 100 * mb},
		{"a patch with more bytes that is hardly slower", Situation{Link: disk, Patch: 2 * mb, Blobs: []Blob{
			{Size: 11 * mb, Lacks: 11 * mb, InPatch: true, Whole: mb, Packed: true, Chunks: Unknown},
		}}, []Strategy{Entire}, mb},
		{"few chunks", Situation{Link: near, Patch: Unknown, Blobs: []Blob{
			{Size: 50 * mb, Lacks: 50 * mb, Whole: 30 * mb, Packed: true, Chunks: mb, Runs: 20},
		}}, []Strategy{Chunked}, mb},
		{"chunks all over a small file, far away", Situation{Link: far, Patch: Unknown, Blobs: []Blob{
			{Size: mb, Lacks: mb, Whole: 500_000, Packed: true, Chunks: 400_000, Runs: 60},
		}}, []Strategy{Entire}, 500_000},
		{"the same on a line where each byte counts", Situation{Link: slow, Patch: Unknown, Blobs: []Blob{
			{Size: mb, Lacks: mb, Whole: 500_000, Packed: true, Chunks: 400_000, Runs: 60},
		}}, []Strategy{Chunked}, 400_000},
		{"chunks against a patch that is hardly smaller than all", Situation{Link: near, Patch: 25 * mb, Blobs: []Blob{
			{Size: 50 * mb, Lacks: 50 * mb, InPatch: true, Whole: 30 * mb, Packed: true, Chunks: mb, Runs: 20},
		}}, []Strategy{Chunked}, mb},
		{"a stored file of which little is missing", Situation{Link: near, Patch: Unknown, Blobs: []Blob{
			{Size: 50 * mb, Lacks: mb, Whole: 50 * mb, Chunks: 2 * mb, Runs: 2},
		}}, []Strategy{Entire}, mb},
		{"whole objects don't come", Situation{Link: near, Patch: Unknown, Blobs: []Blob{
			{Size: mb, Lacks: mb, Whole: mb / 2, Packed: true, Chunks: Unknown, Indexed: true, Failed: failed(Entire, 2)},
		}}, []Strategy{Chunked}, mb / 2},
		{"nothing comes", Situation{Link: near, Patch: Unknown, Blobs: []Blob{
			{Size: mb, Lacks: mb, Whole: mb / 2, Packed: true, Chunks: Unknown, Failed: failed(Entire, 2)},
			{Size: mb, Lacks: mb, Whole: mb / 2, Packed: true, Chunks: Unknown},
		}}, []Strategy{Stuck, Entire}, mb / 2},
		{"only the patch has it", Situation{Link: near, Patch: 30 * mb, Blobs: []Blob{
			{Size: 1000, Lacks: 1000, InPatch: true, Whole: 500, Packed: true, Chunks: Unknown, Failed: failed(Entire, 2)},
		}}, []Strategy{Patched}, 30 * mb},
	} {
		plan := Choose(test.s)
		if !slices.Equal(plan.Strategy, test.want) || plan.Cost.Bytes != test.bytes {
			t.Errorf("%s: %q, %d bytes, want %q, %d", test.name, plan.Strategy, plan.Cost.Bytes, test.want, test.bytes)
		}
		if plan.Saved() < 0 || plan.Uses(Stuck) == 0 && plan.Full > 0 && plan.Saved() != max(plan.Full-plan.Cost.Bytes, 0) {
			t.Errorf("%s: saves %d of %d", test.name, plan.Saved(), plan.Full)
		}
	}
}

func TestCostTime(t *testing.T) {
	for _, test := range []struct {
		cost Cost
		link Link
		want time.Duration
	}{
		{Cost{}, near, 0},
		{Cost{Bytes: 6_250_000}, near, time.Second},
		{Cost{RoundTrips: 2}, far, 200 * time.Millisecond},
		{Cost{Requests: 9}, far, 200*time.Millisecond + 864*time.Microsecond},
		{Cost{CPU: 0.5}, near, 500 * time.Millisecond},
		{Cost{Bytes: 2_500_000, RoundTrips: 1}, Link{}, time.Second + 50*time.Millisecond},
	} {
		if got := test.cost.Time(test.link); got.Round(time.Microsecond) != test.want {
			t.Errorf("%+v on %+v: %v, want %v", test.cost, test.link, got, test.want)
		}
	}
}

func TestWorthIndex(t *testing.T) {
	large := Blob{Size: 100 << 20, Lacks: 100 << 20, Whole: 50 << 20, Packed: true, Chunks: Unknown, Indexed: true}
	small := Blob{Size: 20_000, Lacks: 20_000, Whole: 9000, Packed: true, Chunks: Unknown, Indexed: true}
	lost := small
	lost.Failed = failed(Entire, 2)
	tried := large
	tried.Failed = failed(Chunked, 2)
	for _, test := range []struct {
		name  string
		alike []Blob
		index int64
		want  bool
	}{
		{"nothing like it is here", nil, 100_000, false},
		{"a large file", []Blob{large}, 100_000, true},
		{"a small file in a large set of indexes", []Blob{small}, 400_000, false},
		{"a small file that does not come whole", []Blob{lost}, 400_000, true},
		{"a large file whose chunks did not come", []Blob{tried}, 100_000, false},
	} {
		if got := WorthIndex(test.alike, test.index, near); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
