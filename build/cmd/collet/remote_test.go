package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// remotely runs the command with its things in a folder of the test.
func remotely(t *testing.T, state string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(append(append([]string{"remote"}, args...), "--state", state), &o, &e)
	return code, o.String(), e.String()
}

func TestPairCommands(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s")
	for _, step := range []struct {
		args string
		code int
		says string
	}{
		{"pair Phone 192.168.1.5", 0, `"Phone" at 192.168.1.5 may come`}, {"pair Phone nonsense", 2, "address"}, {"pair Phone 0.0.0.0", 2, "no address of a device"},
		{"devices --wait 1ms --listen 127.0.0.1:0", 0, "192.168.1.5"}, {"devices --wait 1ms --listen 127.0.0.1:0 --json", 0, `"name": "Phone"`},
		{"unpair Phone 192.168.1.6", 1, "no device"}, {"unpair Phone", 0, "may come no longer"}, {"unpair Phone", 1, "no device"},
		{"push", 2, "name the working copy"}, {"push --count x", 2, "--count"}, {"watch --dialect french", 2, "--dialect"},
		{"start . --wait 1ms --listen 127.0.0.1:0", 3, "no device came"}, {"stop --wait 1ms --listen 127.0.0.1:0 --force", 3, "no device came"},
		{"logs --listen 127.0.0.1:0", 0, "is served on"}, {"serve . --listen 192.168.1.7", 2, "--network"}, {"push . --start --game " + filepath.Join("testdata", "script", "keys.txtar"), 2, "lacks identifier"},
	} {
		code, out, errs := remotely(t, state, strings.Fields(step.args)...)
		if code != step.code || !strings.Contains(out+errs, step.says) {
			t.Errorf("collet remote %s: code %d, want %d with %q\n%s%s", step.args, code, step.code, step.says, out, errs)
		}
	}
}

func TestHelpOfRemoteCommands(t *testing.T) {
	for _, command := range []string{"", "serve", "push", "watch", "start", "stop", "logs", "devices", "pair", "unpair"} {
		var out, errs bytes.Buffer
		args := append([]string{"remote"}, strings.Fields(command)...)
		if code := run(append(args, "--help"), &out, &errs); code != 0 || out.Len() < 200 {
			t.Errorf("%s: code %d, %s%s", command, code, &out, &errs)
		}
	}
}
