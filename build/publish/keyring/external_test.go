package keyring_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/publish/keyring"
	"collet/netproto/release/trust"
	"collet/platform/testlevel"
)

// TestMain is also the device of the tests: `sign SEED FORM` signs standard input.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "sign" {
		os.Exit(device(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func device(seed, form string) int {
	message, err := io.ReadAll(os.Stdin)
	if err != nil || form == "refuse" {
		fmt.Fprintln(os.Stderr, "no card in the reader")
		return 3
	}
	made := ed25519.Sign(ed25519.NewKeyFromSeed([]byte(seed)), message)
	switch form {
	case "base64":
		fmt.Println(base64.StdEncoding.EncodeToString(made))
	case "words":
		fmt.Println("signed")
	default:
		os.Stdout.Write(made)
	}
	return 0
}

// TestExternalKeys: keys of devices are added by their public half, sign by their command, and are refused if both don't fit.
func TestExternalKeys(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	exe, err := os.Executable()
	must(t, err)
	seed := func(c string) string { return strings.Repeat(c, ed25519.SeedSize) }
	der, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed([]byte(seed("a"))).Public())
	must(t, err)
	public, err := trust.ParsePublicKey(der)
	must(t, err)
	if other, err := trust.ParsePublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})); err != nil || other != public {
		t.Fatalf("PEM and DER differ: %v, %v", other, err)
	}
	dir := t.TempDir()
	ring := keyring.Open(openDir(t, dir), keyring.Ask{})
	for want, command := range map[string][]string{
		"not one of key":              {exe, "sign", seed("b"), "raw"},
		"which are no signature":      {exe, "sign", seed("a"), "words"},
		"exit status 3":               {exe, "sign", seed("a"), "refuse"},
		"nothing was added":           {filepath.Join(dir, "nowhere")},
		"name the program":            {},
		"without line breaks":         {exe, "sign\n", seed("a"), "raw"},
		"it has more than 4096 bytes": {exe, strings.Repeat("x", 5000)},
	} {
		if _, err := ring.AddExternal(trust.RoleTargets, public, command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", command, err, want)
		}
	}
	if list, err := ring.List(); err != nil || len(list) > 0 {
		t.Fatalf("refused keys were added: %v, %v", list, err)
	}
	f, err := ring.AddExternal(trust.RoleTargets, public, []string{exe, "sign", seed("a"), "base64"})
	if err != nil || f.Name != "targets-1" || !f.Private {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := ring.AddExternal(trust.RoleTargets, public, []string{exe, "sign", seed("a"), "raw"}); err == nil || !strings.Contains(err.Error(), "targets-1 is that key already") {
		t.Errorf("twice: %v", err)
	}
	keys, err := ring.Open(trust.RoleTargets)
	if err != nil || len(keys) != 1 || keys[0].Public() != public {
		t.Fatalf("%v, %v", keys, err)
	}
	if _, err := keys[0].Sign([]byte("a list")); err != nil {
		t.Error(err)
	}
	if next, err := ring.Add(trust.RoleTargets, true); err != nil || next.Name != "targets-2" {
		t.Errorf("%+v, %v", next, err)
	}
}
