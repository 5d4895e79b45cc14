package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	for _, test := range []struct {
		stat string
		want time.Duration
		bad  bool
	}{
		{"7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 120 30 0 0 20", 1500 * time.Millisecond, false},
		{"7 (nginx) R 1 2 3 4 5 6 7 8 9 10 0 0 0", 0, false},
		{"7 (nginx) R 1 2 3", 0, true},
		{"7 (nginx) R 1 2 3 4 5 6 7 8 9 10 x 0 0", 0, true},
		{"", 0, true},
	} {
		if got, err := parseCPU(test.stat); got != test.want || (err != nil) != test.bad {
			t.Errorf("%q: %v, %v", test.stat, got, err)
		}
	}
}

func TestRatiosArePairwise(t *testing.T) {
	ours := []spent{{wall: 1 * time.Second}, {wall: 4 * time.Second}, {wall: 2 * time.Second}}
	theirs := []spent{{wall: 2 * time.Second}, {wall: 2 * time.Second}, {wall: 2 * time.Second}}
	if got := middle(ratios(theirs, ours)); got != 1 {
		t.Errorf("median ratio %v, want 1: pairs of 2, 0.5 and 1", got)
	}
	if got := middle([]float64{4, 1}); got != 2.5 {
		t.Errorf("median of two %v", got)
	}
}

func TestPerGB(t *testing.T) {
	all := []spent{{cpu: 300 * time.Millisecond}, {cpu: 100 * time.Millisecond}}
	if got := perGB(500_000_000, all); got != 0.4 {
		t.Errorf("%v s, want 0.4 for 1 GB in two transfers", got)
	}
}

func TestAtLeastTurnsIntoTheExitCode(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out}
	if b.atLeast("fine", 0.85, 0.85); b.failed {
		t.Error("at the bound it fails")
	}
	if b.atLeast("slow", 0.84, 0.85); !b.failed || !strings.Contains(out.String(), "DOES NOT HOLD") {
		t.Errorf("below the bound: failed %v\n%s", b.failed, out.String())
	}
}

func TestNoiseIsAsLongAsAskedForAndTheSame(t *testing.T) {
	var files [2][]byte
	for i := range files {
		name := filepath.Join(t.TempDir(), "noise")
		if err := writeNoise(name, 1<<20+7); err != nil {
			t.Fatal(err)
		}
		files[i], _ = os.ReadFile(name)
	}
	if len(files[0]) != 1<<20+7 || !bytes.Equal(files[0], files[1]) {
		t.Errorf("%d and %d bytes", len(files[0]), len(files[1]))
	}
}

func TestSharesAreTheWhole(t *testing.T) {
	for _, n := range []int{1, 3, 8} {
		var at int64
		for i, s := range shares(1_000_003, n) {
			if s.offset != at || s.size <= 0 {
				t.Errorf("part %d of %d: %+v, want offset %d", i, n, s, at)
			}
			at += s.size
		}
		if at != 1_000_003 {
			t.Errorf("%d parts are %d bytes", n, at)
		}
	}
}
