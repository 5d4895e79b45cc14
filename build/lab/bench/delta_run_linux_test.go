package main

import "testing"

// TestPeakIsTheChildsOwn: what this process once had does not count for a program that it starts.
func TestPeakIsTheChildsOwn(t *testing.T) {
	const once = 96 // MB, far above what a small program has
	for had := make([]byte, once<<20); len(had) > 0; had = had[min(len(had), 4<<10):] {
		had[0] = 1
	}
	r, err := runProgram(t.Context(), "true")
	if err != nil {
		t.Fatal(err)
	}
	if r.peak == 0 {
		t.Skip("this system does not forget a peak")
	}
	if r.peak > once/2 {
		t.Errorf("a small program had %.0f MB at its peak", r.peak)
	}
}
