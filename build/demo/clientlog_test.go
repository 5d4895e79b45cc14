package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFollowerGivesWholeLinesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Lathe.log")
	f := follower{path: path}
	if lines, err := f.nextLines(); err != nil || len(lines) != 0 {
		t.Fatalf("no file yet: %v, %v", lines, err)
	}
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, step := range []struct {
		written string
		want    []string
	}{
		{`{"message":"one"}` + "\n" + `{"mess`, []string{"one"}},
		{"", nil},
		{`age":"two"}`, nil},
		{"\n", []string{"two"}},
		{"what the game prints\n" + `{"message":["wrong shape"]}` + "\n\n" + `{"message":"three"}` + "\n", []string{"three"}},
	} {
		if _, err := log.WriteString(step.written); err != nil {
			t.Fatal(err)
		}
		lines, err := f.nextLines()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lines {
			got = append(got, l.Message)
		}
		if strings.Join(got, "|") != strings.Join(step.want, "|") {
			t.Errorf("after %q: %q, want %q", step.written, got, step.want)
		}
	}
}

// story is a client's log as a whole update writes it, in short.
const updateLog = `{"level":"info","pid":77,"time":"2026-01-02T03:04:05Z","message":"collet-client starts"}
{"level":"info","role":"runtime","runtime":"Lathe","build":"b1","compat":"one","message":"runtime loaded"}
{"level":"info","phase":"connecting","mode":"undecided","message":"phase"}
{"level":"info","phase":"fetching","mode":"binaries","message":"phase"}
{"level":"info","phase":"fetching","mode":"binaries","message":"phase"}
{"level":"info","message":"module swapped"}
{"level":"info","role":"runtime","runtime":"Lathe","build":"b2","compat":"two","message":"runtime loaded"}
{"level":"info","phase":"fetching","mode":"resources","message":"phase"}
{"level":"warn","error":"it hurts","message":"close the connection"}
{"level":"info","message":"runtime ready"}
`

// read takes a log into facts and returns what would be told.
func read(t *testing.T, text string) (f facts, told []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Lathe.log")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := (&follower{path: path}).nextLines()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if text, worth := f.readLine(l); worth {
			told = append(told, text)
		}
	}
	return f, told
}

func TestFactsOfAnUpdate(t *testing.T) {
	f, told := read(t, updateLog)
	if err := f.oneHost(77); err != nil {
		t.Error(err)
	}
	if err := f.oneSwap("one", "two"); err != nil {
		t.Error(err)
	}
	if !f.ready || !f.fetching() {
		t.Errorf("ready %v, fetching %v", f.ready, f.fetching())
	}
	want := []string{
		"the host is up, process 77", "runtime module loaded: Lathe, build b1, compatibility one", "connecting", "fetching binaries",
		"new module swapped in", "runtime module loaded: Lathe, build b2, compatibility two", "fetching resources",
		"close the connection it hurts", "the game says that its first frame is on the screen",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

// Each of these logs is of something that must not pass for an update under one host.
func TestFactsThatMustNotPass(t *testing.T) {
	second := `{"pid":78,"message":"collet-client starts"}` + "\n"
	for name, text := range map[string]string{
		"the host was started again": updateLog + second,
		"another host":               strings.Replace(updateLog, `"pid":77`, `"pid":76`, 1),
		"no host":                    "",
		"never swapped":              strings.Replace(updateLog, "module swapped", "something else", 1),
		"built-in client first":      strings.Replace(updateLog, `"role":"runtime","runtime":"Lathe","build":"b1"`, `"role":"embedded","runtime":"Lathe","build":"b1"`, 1),
		"old module again":           strings.Replace(updateLog, `"compat":"two"`, `"compat":"one"`, 1),
		"a third module":             updateLog + `{"runtime":"Lathe","role":"runtime","compat":"two","message":"runtime loaded"}` + "\n",
	} {
		f, _ := read(t, text)
		if f.oneHost(77) == nil && f.oneSwap("one", "two") == nil {
			t.Errorf("%s: passed", name)
		}
	}
}

func TestReadyIsOfTheLastModule(t *testing.T) {
	f, _ := read(t, `{"runtime":"Lathe","message":"runtime loaded"}
{"message":"runtime ready"}
{"runtime":"Lathe","message":"runtime loaded"}
`)
	if f.ready {
		t.Error("the second module counts as ready because the first one was")
	}
}
