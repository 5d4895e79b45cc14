package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// colletRun runs the command line.
func colletRun(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}

func TestNetUsage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.net"), []byte("exit 0\nfault melt down 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--client", dir}, "--client goes with --server or --server-settings"},
		{[]string{"--server", "127.0.0.1:1"}, "go with --client"},
		{[]string{"--server", "127.0.0.1:1", "--server-settings", "x", "--client", "y"}, "exclude each other"},
		{[]string{"--new-set", dir}, "go with --client"},
		{[]string{"--scenarios", dir}, `bad.net:2: unknown fault "melt"`},
		{[]string{"--scenarios", empty}, "files must end in .net"},
		{[]string{"--only", "no such thing"}, `no scenario has "no such thing" in its name`},
		{[]string{"--client", filepath.Join(dir, "nowhere"), "--server", "127.0.0.1:1"}, "nowhere"},
		{[]string{"--client", empty, "--address", "127.0.0.1:1"}, "want one program in the folder, found 0"},
		{[]string{"--slow=maybe"}, "--slow"},
	} {
		code, out, errs := colletRun(append([]string{"qa", "net"}, test.args...)...)
		if code != 2 || !strings.Contains(errs, test.want) || out != "" {
			t.Errorf("%v: code %d, want 2 and %s\n%s%s", test.args, code, test.want, out, errs)
		}
	}
}

// TestNetWithTheRealClient tries some of the standard scenarios and one of a person's own with real programs.
func TestNetWithTheRealClient(t *testing.T) {
	t.Parallel()
	dir, own := needs(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "own.net"), []byte("name refused twice over\nrefuse forever\nexit 20\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "net.html")
	code, out, errs := colletRun("qa", "net", "--programs", dir, "--data", "1", "--only", "refused", "--scenarios", own, "--report", page)
	if code != 0 || !strings.Contains(out, "cases 3, violations 0, skipped 0") || !strings.Contains(out, "bytes down") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	if data, err := os.ReadFile(page); err != nil || !bytes.Contains(data, []byte("refused twice over")) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
