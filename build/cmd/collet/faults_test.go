package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/netproto/release/trust"
)

// TestFaultsOfTheCommandLine: what is wrong, where, and what to do; the exit code says that it is the command line's.
func TestFaultsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	says(t, 2, "", "--public has no address of a published place: want http://HOST/PATH", "release", "verify", "--public", "nonsense")
	says(t, 2, "", "collet: -1: numbers are 0 or more here\ncollet release rollout --help", "release", "rollout", "1", "-1")
	says(t, 2, "", "collet: --percent -1: numbers are 0 or more here\ncollet release publish --help", "release", "publish", dir, "--percent", "-1")
	says(t, 1, "", "no-root.json: no such file or directory; check --trusted-root", "release", "verify", "--public", "http://127.0.0.1:9", "--trusted-root", filepath.Join(dir, "no-root.json"))
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	says(t, 1, "", "not a directory; name the folder of the keys with --keys", "keys", "init", "--development", "--keys", filepath.Join(file, "keys"))
	if _, err := (releaseApproveCommand{Against: dir}).known(console.Console{Out: io.Discard, Err: io.Discard}); err == nil || exitCode(err, "approve", io.Discard) != 2 {
		t.Errorf("a folder that is no release folder: %v", err)
	}
	_, err := keyFlags{ci: true}.keysFromEnvironment(func(string) string { return "nonsense" }, trust.RoleTargets)
	if want := "$COLLET_KEY_TARGETS: read key: this is not exactly one PEM block, from its line -----BEGIN to its line -----END; want the whole text of the key file"; err == nil || err.Error() != want {
		t.Errorf("a malformed key: %v", err)
	}
}
