package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/build/qa/report"
)

// kit runs qaFlags with some work and gives the exit code and what was printed.
func kit(ctx context.Context, f qaFlags, work func(context.Context, *qaRun) error) (code int, out, errs string) {
	var o, e bytes.Buffer
	err := f.runKit(ctx, console.Console{Out: &o, Err: &e, Args: []string{"qa", "test", "it's", "--x=1"}}, "A test", work)
	return exitCode(err, "collet qa", &e), o.String(), e.String()
}

// one is work that finds one case.
func one(s report.State) func(context.Context, *qaRun) error {
	return func(_ context.Context, r *qaRun) error {
		r.product("Lathe")
		r.columns("x")
		r.comment("Said %d.", 7)
		r.addCase(report.Case{Suite: "test", Name: "one", Params: []report.Param{{Name: "x", Value: "1"}}, State: s, Detail: "what was seen"})
		r.progress(1, 1, "one")
		return nil
	}
}

func TestKitsEndWithTheirCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for _, test := range []struct {
		name       string
		ctx        context.Context
		flags      qaFlags
		work       func(context.Context, *qaRun) error
		code       int
		out, errs  string // what must be printed there
		unreported bool
	}{
		{"all well", t.Context(), qaFlags{}, one(report.OK), 0, "cases 1, violations 0, skipped 0", "", false},
		{"a violation", t.Context(), qaFlags{}, one(report.Violation), 1, "cases 1, violations 1, skipped 0", "", false},
		{"a skip", t.Context(), qaFlags{}, one(report.Skipped), 0, "skipped 1: what was seen", "", false},
		{"nothing", t.Context(), qaFlags{}, func(context.Context, *qaRun) error { return nil }, 1, "Not complete: there was nothing to try.", "nothing to try", false},
		{"a fault of ours", t.Context(), qaFlags{}, func(context.Context, *qaRun) error { return fs.ErrNotExist }, 1, "Not complete: file does not exist", "collet: file does not exist", false},
		{"wrong usage", t.Context(), qaFlags{}, func(context.Context, *qaRun) error { return console.Usage(errors.New("no way")) }, 2, "", "collet: no way\ncollet qa --help tells more", true},
		{"interrupted", interrupted, qaFlags{}, one(report.OK), 1, "Not complete: interrupted", "interrupted", false},
		{"interrupted and a violation", interrupted, qaFlags{}, one(report.Violation), 1, "violations 1", "interrupted", false},
		{"too few jobs", t.Context(), qaFlags{Jobs: -1}, one(report.OK), 2, "", "--jobs -1", true},
		{"no place for the report", t.Context(), qaFlags{Report: filepath.Join(dir, "no", "r.html")}, one(report.OK), 2, "", "can't be written", true},
		{"a folder for a report", t.Context(), qaFlags{JUnit: dir}, one(report.OK), 2, "", "is a folder", true},
	} {
		code, out, errs := kit(test.ctx, test.flags, test.work)
		if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(errs, test.errs) || test.errs == "" && errs != "" {
			t.Errorf("%s: code %d, want %d\n%s%s", test.name, code, test.code, out, errs)
		}
		if test.unreported && out != "" {
			t.Errorf("%s: reported all the same:\n%s", test.name, out)
		}
	}
}

func TestKitsWriteReports(t *testing.T) {
	page, xml := filepath.Join(t.TempDir(), "r.html"), filepath.Join(t.TempDir(), "r.xml")
	if code, out, errs := kit(t.Context(), qaFlags{Report: page, JUnit: xml}, one(report.Violation)); code != 1 {
		t.Fatal(code, out, errs)
	}
	for _, path := range []string{page, xml} {
		data, err := os.ReadFile(path)
		for _, want := range []string{"A test", "Lathe", "what was seen", "qa test"} {
			if err != nil || !bytes.Contains(data, []byte(want)) {
				t.Errorf("%s does not hold %q, %v", filepath.Base(path), want, err)
			}
		}
	}
}

func TestCommandLineCanBeTypedAgain(t *testing.T) {
	got := commandLine([]string{"qa", "net", "--only=a b", "it's", "", "$HOME", "plain/path"})
	if want := `collet qa net '--only=a b' 'it'\''s' '' '$HOME' plain/path`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
