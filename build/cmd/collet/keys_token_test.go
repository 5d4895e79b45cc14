package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/testprograms"
	"collet/platform/testlevel"
)

// TestToken releases with a targets key that never leaves a token: SoftHSM, by OpenSC's pkcs11-tool.
func TestToken(t *testing.T) {
	testlevel.Lab(t)
	const module = "/usr/lib/softhsm/libsofthsm2.so"
	for _, name := range []string{"softhsm2-util", "pkcs11-tool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("NOT TESTED: there is no %s", name)
		}
	}
	dir := t.TempDir()
	settings := filepath.Join(dir, "softhsm.conf")
	writeFiles(t, dir, map[string]string{
		"softhsm.conf":       fmt.Sprintf("directories.tokendir = %s\n", filepath.Join(dir, "tokens")),
		"tokens/.keep":       "",
		"game/Resources/one": "one", "game/PlatformBinaries/Linux-x64/Lathe.so": "a module",
	})
	run := func(fails string, args ...string) {
		t.Helper()
		if args[0] == "collet" {
			args[0] = testprograms.Collet(t)
		}
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "SOFTHSM2_CONF="+settings)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (fails != "") || !strings.Contains(string(out), fails) {
			t.Fatalf("%q: %v, want the failure %q\n%s", args, err, fails, out)
		}
	}
	tool := []string{"pkcs11-tool", "--module", module, "--login", "--pin", "1234"}
	sign := append(tool[:len(tool):len(tool)], "--sign", "--mechanism", "EDDSA", "--id", "01")
	run("", "softhsm2-util", "--init-token", "--free", "--label", "collet", "--pin", "1234", "--so-pin", "1234")
	run("", append(tool, "--keypairgen", "--key-type", "EC:edwards25519", "--id", "01")...)
	run("", "pkcs11-tool", "--module", module, "--read-object", "--type", "pubkey", "--id", "01", "-o", "token.pem")
	run("", "collet", "keys", "init", "--development")
	run("", "sh", "-c", "rm keys/targets-1.*")
	run("try the command", append([]string{"collet", "keys", "add", "targets", "--public", "token.pem", "--"}, append(sign[:len(sign):len(sign)], "--id", "02")...)...)
	run("", append([]string{"collet", "keys", "add", "targets", "--public", "token.pem", "--"}, sign...)...)
	run("", "collet", "release", "init", "--keys", "keys", "--product", "lathe", "--allow-development")
	run("", "collet", "release", "publish", "game", "--allow-development")
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	run("change the signed list", "collet", "release", "rollout", "1", "50", "--allow-development") // the token is gone
}
