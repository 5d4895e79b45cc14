package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWiresAreChosenByName(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  int
		bad   bool
	}{{nil, len(netLinks), false}, {[]string{"loopback"}, 1, false}, {[]string{"100ms-1%"}, 1, false}, {[]string{"20ms", "100ms"}, 2, false}, {[]string{"3ms"}, 0, true}} {
		got, err := chooseWires(test.names, netLinks)
		if (err != nil) != test.bad || !test.bad && len(got) != test.want {
			t.Errorf("%v: %v, %v", test.names, got, err)
		}
	}
	if w := wires()[4]; w.delay != 50*time.Millisecond || w.loss != 0.01 {
		t.Errorf("%+v: the last is the worst", w)
	}
}

// TestRaceIsJudgedPairByPair holds our times against those of the same round, each with its own bound.
func TestRaceIsJudgedPairByPair(t *testing.T) {
	var out strings.Builder
	b := &bench{out: &out}
	f := &fair{shop: &shop{step: step{name: "loose-a-1.0.1"}, cost: estimate{Patch: 10}}}
	all := []*runner{
		{name: "ours", took: []float64{1, 2, 3}},
		{name: "curl", took: []float64{0.9, 1.8, 2.7}}, // 1.11 each
		{name: "slow", peer: true, took: []float64{2}},
		{name: "fast", peer: true, took: []float64{0.5, 1, 1.5}},
	}
	b.printRace(f, wires()[1], all)
	if len(b.broken) != 1 || !strings.Contains(b.broken[0], "fast: 2.000, bound 1") {
		t.Errorf("broken: %q\n%s", b.broken, &out)
	}
	if !strings.Contains(out.String(), "curl 1.800 s (1.11, bound 1.15: holds)") {
		t.Error(out.String())
	}
}

func TestServersGetTheirSettings(t *testing.T) {
	dir := t.TempDir()
	if _, err := rsyncServer(dir, "127.0.0.1:99", "folder of files"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "rsyncd.conf"))
	if err != nil || !strings.Contains(string(text), "port = 99\naddress = 127.0.0.1\n") || !strings.Contains(string(text), "path = folder of files\n") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := rsyncServer(dir, "no port", "x"); err == nil {
		t.Error("an address without a port was taken")
	}
}

func TestOnlyAWholeSetIsCurrent(t *testing.T) {
	if err := isCurrent(ran{out: []byte(`{"outcome":"ResourcesReady","exit":0}`)}); err != nil {
		t.Error(err)
	}
	if err := isCurrent(ran{out: []byte(`{"outcome":"Failed","exit":20}`)}); err == nil || !strings.Contains(err.Error(), "Failed") {
		t.Error(err)
	}
}

func TestRunProgramTellsWhatWasPrinted(t *testing.T) {
	_, err := runProgram(t.Context(), "go", "no-such-command")
	if err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runProgram(ctx, os.Args[0], "-test.run=^$"); err == nil {
		t.Error("it ran although it was not requested")
	}
}

func TestWalks(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a/b", "1")
	if took, err := walks(dir); err != nil || took <= 0 {
		t.Error(took, err)
	}
	if _, err := walks(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was walked")
	}
}

func TestParseMeans(t *testing.T) {
	for text, want := range map[string]string{
		`{"release":2,"bytes_by_means":{"patch":11427952},"bytes_fetched":214968,"bytes_saved":1}`: "patch, 214968 bytes fetched",
		`{"bytes_by_means":{"copy":5,"whole":7},"bytes_fetched":9}`:                                "copy+whole, 9 bytes fetched",
		`{"release":2,"bytes_fetched":469}`:                                                        "nothing",
	} {
		if got := parseMeans("noise\n" + text + "\n"); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
