package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// says runs the command and wants its code and what it prints.
func says(t *testing.T, code int, out, errs string, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	got := run(args, &stdout, &stderr)
	if got != code || !strings.Contains(stdout.String(), out) || !strings.Contains(stderr.String(), errs) {
		t.Errorf("collet %s: code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &stdout, &stderr)
	}
}

func TestDoctorCommand(t *testing.T) {
	dir := t.TempDir()
	says(t, 0, "Changes nothing", "", "--help")
	says(t, 0, "--hash", "", "doctor", "--help")
	says(t, 2, "", "<dir>", "doctor")
	says(t, 2, "", "--name", "doctor", dir)
	says(t, 2, "", "nowhere", "doctor", filepath.Join(dir, "nowhere"))
	says(t, 2, "", "report", "doctor", dir, "--report", filepath.Join(dir, "no", "folder.txt"))
	says(t, 1, "nothing is installed here", "", "doctor", dir, "--name", "Lathe")
	says(t, 2, "", "other", "doctor", dir, "--name", "Lathe", "--base", filepath.Join(dir, "other"))
	if err := os.WriteFile(filepath.Join(dir, "Lathe.so"), []byte("module"), 0o755); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	says(t, 0, "unmanaged: no update has taken place here", "", "doctor", dir, "--hash", "--report", report)
	says(t, 0, "note: no start has compared these files with a release", "", "doctor", dir)
	data, err := os.ReadFile(report)
	if err != nil || !bytes.Contains(data, []byte(`"host": "Lathe"`)) {
		t.Errorf("report: %v, %s", err, data)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v now, %v", entries, err)
	}
}

func TestScenariosCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "examples")
	says(t, 2, "", "--write-examples", "qa", "scenarios", t.TempDir())
	says(t, 0, "play them with", "", "qa", "scenarios", "--write-examples", dir)
	says(t, 1, "", "exist", "qa", "scenarios", "--write-examples", dir)
	one, err := os.ReadFile(filepath.Join(dir, "swap-two-names.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	mine := t.TempDir()
	write := func(header string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(mine, "mine.txtar"), append([]byte(header), one...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	page, xml := filepath.Join(t.TempDir(), "a.html"), filepath.Join(t.TempDir(), "a.xml")
	says(t, 0, "cases 6, violations 0", "", "qa", "scenarios", mine, "--report", page, "--junit", xml)
	for _, file := range []string{page, xml} {
		if data, err := os.ReadFile(file); err != nil || !bytes.Contains(data, []byte("mine")) {
			t.Errorf("%s: %v", file, err)
		}
	}
	says(t, 0, "cases 2, violations 0", "", "qa", "scenarios", mine, "--real", "--scratch", t.TempDir())
	write("expect: old\n")
	says(t, 1, "the new set is there, want the old one", "", "qa", "scenarios", mine, "--jobs", "1")
	write("# fine\nexpect: everything\n")
	says(t, 2, "", "mine.txtar:2: expect", "qa", "scenarios", mine)
}
