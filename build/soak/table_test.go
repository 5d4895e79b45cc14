package soak

import (
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	all := series(12, func(i int, s *Sample) { s.Heap += float64(i) * megabyte })
	r := &Result{
		Counts: Counts{
			Pairs: map[string]int{"C1 over TLS": 4, "G1 over TCP": 5}, Files: 70, Bytes: 3 * megabyte, Done: map[string]int{"connected and disconnected": 6},
			Published: 7, Refused: 2, Disturbed: 1, Faults: []string{"something"}, Faulty: 9,
		},
		Options: Options{Seed: 42, Time: time.Hour, Idle: 200}, Took: 90 * time.Second, Early: true, Samples: all, CPU: 45 * time.Second,
	}
	r.Rows, r.NoRows = Judge(all)
	for _, test := range []struct {
		change func(r *Result)
		want   []string
	}{
		{func(*Result) {}, []string{
			"soak of 1m30s, seed 42, interrupted: 1h0m0s were asked for", "9 downloads checked to the last byte: 70 files, 3.0 MB; 1 more",
			"C1 over TLS: 4; G1 over TCP: 5\n", "7 publications, and 2 that", "connected and disconnected: 6\n", "0.50 of a processor", "12 quiet moments",
			"±3", "+4.00 MB", "WRONG: something\nand 8 times more\nsoak: DOES NOT HOLD\n",
		}},
		{func(r *Result) { r.Faults, r.Faulty = nil, 0 }, []string{"soak: DOES NOT HOLD\n"}},
		{func(r *Result) { r.Rows[3].Holds = true }, []string{"soak: holds\n"}},
		{func(r *Result) { r.Rows, r.NoRows = Judge(nil) }, []string{"fewer than 3 quiet moments", "soak: no verdict\n"}},
	} {
		test.change(r)
		var b strings.Builder
		if err := r.Table(&b); err != nil {
			t.Error(err)
		}
		for _, want := range test.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("nothing is said of %q:\n%s", want, b.String())
			}
		}
	}
}

func TestCountedFoldsLines(t *testing.T) {
	all := map[string]int{}
	for i := range 26 {
		all[strings.Repeat(string(rune('a'+i)), 20)] = i
	}
	lines := strings.Split(counted(all), "\n")
	for _, line := range lines {
		if len(line) > lineWidth || !strings.HasPrefix(line, "  ") {
			t.Errorf("%q", line)
		}
	}
	if len(lines) < 5 || !strings.HasSuffix(lines[len(lines)-1], "z: 25") {
		t.Errorf("%d lines", len(lines))
	}
}
