package main

import (
	"strings"
	"testing"
)

func TestReadRequests(t *testing.T) {
	for log, want := range map[string][2]int64{"": {0, 0}, "12\n": {1, 12}, "1\n0\n500\n": {3, 501}} {
		count, sum, err := readRequests(log)
		if err != nil || [2]int64{int64(count), sum} != want {
			t.Errorf("%q: %d requests, %d bytes, %v", log, count, sum, err)
		}
	}
	if _, _, err := readRequests("12\n-\n"); err == nil {
		t.Error("a line without a number was counted")
	}
}

// TestInstallIsJudged holds rows against each bound, and deflated packs against their twins over the same link.
func TestInstallIsJudged(t *testing.T) {
	row := func(change func(*firstInstall)) *firstInstall {
		r := &firstInstall{step: "loose-a-1.0.1", link: "20ms", packed: 1000, ours: []float64{1.1, 2.2, 9}, theirs: []float64{1, 2, 3}, fetched: 1020, requests: 40, peak: 160}
		change(r)
		return r
	}
	for _, test := range []struct {
		verdict string
		change  func(*firstInstall)
	}{
		{"holds", func(*firstInstall) {}},
		{"DOES NOT HOLD: time", func(r *firstInstall) { r.ours = []float64{1.2, 2.4, 3} }},
		{"DOES NOT HOLD: bytes", func(r *firstInstall) { r.fetched = 1021 }},
		{"DOES NOT HOLD: requests", func(r *firstInstall) { r.requests = 41 }},
		{"DOES NOT HOLD: bytes, MB at the peak", func(r *firstInstall) { r.fetched, r.peak = 2000, 161 }},
	} {
		var out strings.Builder
		b := &bench{out: &out}
		r := row(test.change)
		b.judgeInstall(r)
		if r.verdict != test.verdict || b.failed != (test.verdict != "holds") {
			t.Errorf("%s, want %s; broken: %q", r.verdict, test.verdict, b.broken)
		}
		if len(b.ratios) != 3 { // the peak has a unit
			t.Errorf("ratios: %q", b.ratios)
		}
		if err := b.printInstalls([]*firstInstall{r}); err != nil || !strings.Contains(out.String(), test.verdict) {
			t.Errorf("%v, no verdict in\n%s", err, &out)
		}
	}
	var out strings.Builder
	b := &bench{out: &out}
	b.judgeInstallTwins([]*firstInstall{
		{step: "zips-a-1", link: "20ms", fetched: 100}, {step: "zips-a-1", link: "100ms", fetched: 50},
		{step: "zipz-a-1", link: "20ms", fetched: 110}, {step: "zip7-a-1", link: "100ms", fetched: 60},
		{step: "zip9-b-1", link: "20ms", fetched: 999}, {step: "loose-a-1", link: "20ms", fetched: 999},
	})
	if len(b.broken) != 1 || !strings.Contains(b.broken[0], "zip7-a-1") || strings.Count(out.String(), "twin") != 2 {
		t.Errorf("broken: %q\n%s", b.broken, &out)
	}
}
