package qa

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/qa/fileset"
	"collet/build/qa/report"
)

// TestPromise judges sets of files.
func TestPromise(t *testing.T) {
	player := fileset.Set{}
	for name := range playerFiles() {
		player[name] = "sha256:" + name
	}
	p := promise{Promise: fileset.Promise{Old: fileset.Set{"m": "1", "a": "1"}, New: fileset.Set{"m": "2", "b": "1"}}, player: player}
	with := func(s fileset.Set, change func(fileset.Set)) fileset.Set {
		all := fileset.Set{}
		for name, content := range s {
			all[name] = content
		}
		for name, content := range player {
			all[name] = content
		}
		if change != nil {
			change(all)
		}
		return all
	}
	const notes = "Resources/my-notes.txt"
	for _, test := range []struct {
		name  string
		files fileset.Set
		which string
		told  []string // parts of the problem; none: no problem
	}{
		{"old", with(p.Old, nil), "old", nil},
		{"new", with(p.New, nil), "new", nil},
		{"half", with(fileset.Set{"m": "2", "a": "1"}, nil), "neither", []string{"m: is 2, want 1", "a: should not be there", "b: missing"}},
		{"empty", with(nil, nil), "neither", []string{"m: missing"}},
		{"old with a stranger", with(p.Old, func(s fileset.Set) { s["x"] = "1" }), "neither", []string{"x: should not be there"}},
		{"file of the player lost", with(p.New, func(s fileset.Set) { delete(s, notes) }), "new", []string{"the player's files:\n  " + notes + ": missing"}},
		{"file of the player changed", with(p.Old, func(s fileset.Set) { s[notes] = "3" }), "old", []string{notes + ": is 3"}},
	} {
		which, problem := p.compareSets(test.files)
		if which != test.which || (problem == "") != (test.told == nil) {
			t.Errorf("%s: %s, %q", test.name, which, problem)
		}
		for _, told := range test.told {
			if !strings.Contains(problem, told) {
				t.Errorf("%s: %q does not tell %q", test.name, problem, told)
			}
		}
	}
}

// TestDiskProblems judges the ends of clients on faulty disks.
func TestDiskProblems(t *testing.T) {
	ended := func(code int, text string, phases ...string) clientEnd {
		return clientEnd{code: code, phases: phases, last: clientLine{Text: text}}
	}
	for _, test := range []struct {
		judge func(clientEnd) string
		end   clientEnd
		want  string
	}{
		{full, ended(22, "Free 12 MB in /m/install and try again."), ""},
		{full, ended(22, "Free 1,5 GiB on /m."), ""},
		{full, ended(22, "Free 300 bytes on /m"), ""},
		{full, ended(22, "Free some space on /m1"), "how much"},
		{full, ended(22, "Free 12 MB."), "where"},
		{full, ended(28, "Free 12 MB on /m"), "want exit code 22"},
		{full, ended(-1, ""), "ended by a signal"},
		{readOnly, ended(23, "can't write to /m/install", "connecting"), ""},
		{readOnly, ended(23, "can't write to /m/install", "connecting", "fetching"), "began to fetch"},
		{readOnly, ended(23, "can't write"), "does not name the folder"},
		{readOnly, ended(0, ""), "want exit code 23"},
	} {
		if got := test.judge(test.end); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%v %q: %q, want %q", test.end, test.end.last.Text, got, test.want)
		}
	}
}

func full(e clientEnd) string     { return fullProblem(e, "/m", "/m/install") }
func readOnly(e clientEnd) string { return readOnlyProblem(e, "/m") }

// TestPlayCases checks that panics, skips and errors become cases.
func TestPlayCases(t *testing.T) {
	gives := func(state report.State, detail string, err error) try {
		return try{name: detail, do: func(context.Context) (report.State, string, error) { return state, detail, err }}
	}
	tries := []try{
		gives(report.OK, "fine", nil), gives(report.Violation, "broken", nil), gives("", "", &skipError{"no rights"}),
		gives("", "", errors.Join(errors.New("mount lost"), os.ErrPermission)),
		{name: "panics", do: func(context.Context) (report.State, string, error) { panic("a hole") }},
	}
	want := []struct {
		state  report.State
		detail string
	}{
		{report.OK, "fine"}, {report.Violation, "broken"}, {report.Skipped, "no rights"},
		{report.Violation, "could not be tried: mount lost"}, {report.Violation, "internal error of this kit: a hole"},
	}
	var got []report.Case
	if err := playCases(t.Context(), "suite", tries, 2, func(_, _ int, c report.Case) { got = append(got, c) }); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if c := got[i]; c.State != w.state || !strings.HasPrefix(c.Detail, w.detail) || c.Suite != "suite" {
			t.Errorf("%d: %s %s %q, want %s %q", i, c.Suite, c.State, c.Detail, w.state, w.detail)
		}
	}
}

// TestOutputParser parses output that arrives in pieces.
func TestOutputParser(t *testing.T) {
	var end clientEnd
	var phases []string
	l := &outputParser{end: &end, on: func(said clientLine) { phases = append(phases, said.Phase) }}
	for _, piece := range []string{"noise\n{\"phase\":\"fet", "ching\",\"bytes\":7}\n{\"phase\":\"fetching\"}\n", "{\"outcome\":\"Failed\",\"exit\":22,\"text\":\"t\"}\n", "{\"exit\":1"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(end.phases) != 1 || end.phases[0] != "fetching" || end.bytes != 7 || *end.last.Exit != 22 || len(phases) != 3 {
		t.Errorf("%+v, told %q", end, phases)
	}
	l.Write([]byte(strings.Repeat("x", 3*maxOutput)))
	if len(end.output) != maxOutput || len(l.rest) > maxOutput || len(end.tail()) != maxShown {
		t.Errorf("kept %d and %d bytes", len(end.output), len(l.rest))
	}
}

// TestDiskUsage counts pages.
func TestDiskUsage(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"empty": 0, "one": 1, "page": pageSize, "more": pageSize + 1} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if size, err := diskUsage(dir); err != nil || size != (1+0+1+1+2)*pageSize {
		t.Errorf("%d, %v", size, err)
	}
	if _, err := diskUsage(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
