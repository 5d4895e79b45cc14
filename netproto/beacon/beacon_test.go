package beacon_test

import (
	"os"
	"strings"
	"testing"

	"collet/netproto/beacon"
)

// TestVectors: testdata/vectors has a beacon a line as it is sent, and what is refused after an exclamation mark.
func TestVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	good, bad := 0, 0
	for line := range strings.Lines(string(data)) {
		query, wrong := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "!")
		b, err := beacon.Parse(query)
		if wrong != (err != nil) {
			t.Errorf("%q: %+v, %v", query, b, err)
		}
		if wrong {
			bad++
			continue
		}
		good++
		if again, err := b.Encode(); err != nil || again != query {
			t.Errorf("%q became %q, %v", query, again, err)
		}
	}
	if good < 5 || bad < 10 {
		t.Errorf("%d good and %d bad vectors", good, bad)
	}
}

// TestExample: the example of the package comment and of docs/PRIVACY.md, field by field.
func TestExample(t *testing.T) {
	t.Parallel()
	const example = "1,update,12,11,ready,Linux-x64,stable,patch,1200000,8"
	sent, err := beacon.Beacon{Kind: beacon.Update, Release: 12, From: 11, Outcome: "ready", Target: "Linux-x64", Channel: "stable",
		Strategy: "patch", Bytes: 1_234_567, Seconds: 8}.Encode()
	if err != nil || sent != example {
		t.Errorf("%q, %v", sent, err)
	}
	page, err := os.ReadFile("../../docs/PRIVACY.md")
	if err != nil || !strings.Contains(string(page), "GET /beacon?"+example+" HTTP/1.1\n") {
		t.Errorf("docs/PRIVACY.md does not have it: %v", err)
	}
}

// TestSize: the longest values of each field fit into MaxSize, with the question mark.
func TestSize(t *testing.T) {
	t.Parallel()
	longest := 0
	for _, kind := range []beacon.Kind{beacon.Update, beacon.First, beacon.Start} {
		for _, outcome := range beacon.Outcomes(kind) {
			for _, strategy := range beacon.Strategies() {
				for _, size := range []int{beacon.MaxName, beacon.MaxName + 1} {
					name := strings.Repeat("x", size)
					query, err := beacon.Beacon{Kind: kind, Release: beacon.MaxNumber, From: beacon.MaxNumber, Outcome: outcome, Target: name, Channel: name,
						Strategy: strategy, Bytes: 1<<63 - 1, Seconds: 1<<63 - 1}.Encode()
					if err != nil {
						t.Fatal(err)
					}
					if _, err := beacon.Parse(query); err != nil {
						t.Errorf("%s: %v", query, err)
					}
					longest = max(longest, len("?"+query))
				}
			}
		}
	}
	if longest > beacon.MaxSize || longest < beacon.MaxSize-1 {
		t.Errorf("the longest has %d bytes, MaxSize is %d", longest, beacon.MaxSize)
	}
}

// FuzzParse: what is parsed is written as it was, within the limits of each field.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/vectors")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f.Add(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "!"))
	}
	f.Fuzz(func(t *testing.T, query string) {
		b, err := beacon.Parse(query)
		if err != nil {
			return
		}
		if again, err := b.Encode(); err != nil || again != query || len(query) >= beacon.MaxSize {
			t.Errorf("%q became %q, %v", query, again, err)
		}
		if b.Release > beacon.MaxNumber || b.From > beacon.MaxNumber || b.Bytes < 0 || b.Bytes > beacon.MaxBytes || b.Seconds < 0 || b.Seconds > beacon.MaxSeconds ||
			len(b.Target) > beacon.MaxName || len(b.Channel) > beacon.MaxName {
			t.Errorf("%+v is out of range", b)
		}
	})
}
