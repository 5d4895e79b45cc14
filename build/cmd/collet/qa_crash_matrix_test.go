package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/platform/testlevel"
)

// twoReleases writes releases as a person has them, and gives the flags that name them.
func twoReleases(t *testing.T) []string {
	t.Helper()
	var flags []string
	for _, mark := range []string{"old", "new"} {
		dir := filepath.Join(t.TempDir(), mark)
		if err := os.MkdirAll(filepath.Join(dir, "Resources"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Lathe.so", "Resources/Core.zip", "Resources/" + mark + ".zip"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(mark+name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		flags = append(flags, "--"+mark, dir)
	}
	return flags
}

// TestQACrashMatrix plays a person's own releases in memory: an honest build, a broken one, and one violation of that
// alone, by the line that the report gives.
func TestQACrashMatrix(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	flags := twoReleases(t)
	qaCrash := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = run(append(append([]string{"qa", "crash"}, flags...), args...), &o, &e)
		return code, o.String(), e.String()
	}
	code, out, errs := qaCrash("--story", "update*")
	if code != 0 || !strings.Contains(lastLine(out), "violations 0, skipped 0") || !strings.Contains(out, "stops in the starts that recover") {
		t.Errorf("code %d\n%s%s", code, errs, out)
	}
	junit := filepath.Join(t.TempDir(), "crash.xml")
	code, out, errs = qaCrash("--story", "update", "--depth", "1", "--mutant", "journal-unsynced", "--junit", junit)
	if code != 1 || !strings.Contains(out, "broken on purpose") {
		t.Errorf("code %d\n%s%s", code, errs, out)
	}
	xml, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(xml), "--story update --only ")
	point, _, cut := strings.Cut(line, " --mutant journal-unsynced")
	if !found || !cut || !strings.Contains(string(xml), "--old "+flags[1]) {
		t.Fatalf("no line to repeat a violation in\n%.2000s", xml)
	}
	code, out, errs = qaCrash("--story", "update", "--only", point, "--mutant", "journal-unsynced")
	if code != 1 || !strings.HasPrefix(lastLine(out), "cases 1, violations 1, skipped 0") {
		t.Errorf("%s: code %d\n%s%s", point, code, errs, out)
	}
}

// TestQACrashDemo takes the demo's releases.
func TestQACrashDemo(t *testing.T) {
	t.Parallel()
	folder := programs(t)
	var out, errs bytes.Buffer
	code := run([]string{"qa", "crash", "--programs", folder, "--story", "drop", "--depth", "1", "--seeds", "1"}, &out, &errs)
	if code != 0 || !strings.Contains(lastLine(out.String()), "violations 0, skipped 0") || !strings.Contains(out.String(), "files were cut") {
		t.Errorf("code %d\n%s%s", code, errs.String(), out.String())
	}
}

// TestQACrashLists names what can be played.
func TestQACrashLists(t *testing.T) {
	for flag, want := range map[string]string{"--story": "shapesback ", "--mutant": "parts-unsynced "} {
		var out bytes.Buffer
		if code := run([]string{"qa", "crash", flag, "list"}, &out, io.Discard); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: code %d\n%s", flag, code, out.String())
		}
	}
}

// TestQACrashUsage wants a command line that makes no sense to be told before any work.
func TestQACrashUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--client", "x", "--install", "y", "--server", "z:1"}, "need --real"},
		{[]string{"--old", "x"}, "--old and --new go together"},
		{[]string{"--only", "1:before:0:0"}, "--only needs --story"},
		{[]string{"--seeds", "0"}, "--seeds 0"},
		{[]string{"--real", "--story", "back"}, "not about --real"},
		{append(twoReleases(t), "--story", "update", "--only", "1"), "op:when:kept:seed"},
		{append(twoReleases(t), "--mutant", "nobody"), "no mutant"},
	} {
		var errs bytes.Buffer
		if code := run(append([]string{"qa", "crash"}, test.args...), io.Discard, &errs); code != console.ExitUsage || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%v: code %d, %s", test.args, code, errs.String())
		}
	}
}
